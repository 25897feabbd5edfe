import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant } from './instant.ts';
import { Invitation } from './invitation.ts';
import { User } from './user.ts';

export const MAIL_KINDS = ['invitation', 'password-setup'] as const;

/**
 * A mail that is owed. Written in the transaction of what causes it, so that neither exists without the other.
 * It names what it is about rather than holding a text: links and their secrets are made when it is sent.
 */
export const OutboxMailSchema = defineEntity({
  name: 'OutboxMail',
  tableName: 'outbox_mails',
  indexes: [
    {
      name: 'outbox_mails_unsent',
      expression: 'create index outbox_mails_unsent on outbox_mails (id) where sent_at is null',
    },
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    kind: p.enum(MAIL_KINDS),
    recipient: p.string().length(254),
    client: () => p.manyToOne(Client).nullable().index().deleteRule('cascade').updateRule('no action'),
    invitation: () =>
      p.manyToOne(Invitation).nullable().index().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).nullable().index().deleteRule('cascade').updateRule('no action'),
    createdAt: instant(),
    sentAt: instant().nullable(),
  },
});

export class OutboxMail extends OutboxMailSchema.class {}
OutboxMailSchema.setClass(OutboxMail);
