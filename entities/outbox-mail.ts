import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant } from './instant.ts';
import { Invitation } from './invitation.ts';
import { PasswordLink } from './password-link.ts';
import { User } from './user.ts';

export const MAIL_KINDS = ['invitation', 'password-setup', 'password-reset', 'password-changed'] as const;

/**
 * A mail that is owed. Written in the transaction of what causes it, so that neither exists without the other.
 * It names what it is about rather than holding a text: links and their secrets are made when it is sent.
 */
export const OutboxMailSchema = defineEntity({
  name: 'OutboxMail',
  tableName: 'outbox_mails',
  indexes: [
    {
      // Somebody waits at a screen for a password mail; it does not queue behind a bulk of invitations.
      name: 'outbox_mails_due',
      expression: `create index outbox_mails_due on outbox_mails ((kind = 'invitation'), next_attempt_at, id) where sent_at is null and failed_at is null`,
    },
    {
      name: 'outbox_mails_invited',
      expression: `create index outbox_mails_invited on outbox_mails (client_id, recipient, created_at) where kind = 'invitation'`,
    },
    { properties: ['client', 'id'] },
    { properties: ['lastAttemptAt'] },
  ],
  triggers: [
    {
      // So that nobody who owes a mail can forget to wake the workers. Delivered at commit.
      name: 'notify',
      timing: 'after',
      events: ['insert'],
      forEach: 'statement',
      body: `perform pg_notify('outbox_mails', ''); return null`,
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    kind: p.enum(MAIL_KINDS),
    recipient: p.string().length(254),
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    invitation: () =>
      p.manyToOne(Invitation).nullable().index().deleteRule('cascade').updateRule('no action'),
    /** Null as long as nobody has looked whether a forgotten password's address is a user's. */
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    passwordLink: () =>
      p.manyToOne(PasswordLink).nullable().index().deleteRule('set null').updateRule('no action'),
    /** Network address of the request that caused the mail, where the mail tells it. */
    requestAddress: p.string().length(45).nullable(),
    createdAt: instant(),
    attempts: p.integer().default(0),
    lastAttemptAt: instant().nullable(),
    /** While a worker is sending it: when others may take it to be lost with that worker. */
    nextAttemptAt: instant().defaultRaw('now()'),
    /** What the mail server last answered, or why it could not be asked. */
    lastError: p.string().length(500).nullable(),
    sentAt: instant().nullable(),
    failedAt: instant().nullable(),
  },
});

export class OutboxMail extends OutboxMailSchema.class {}
OutboxMailSchema.setClass(OutboxMail);
