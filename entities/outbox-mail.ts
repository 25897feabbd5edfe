import { defineEntity, p } from '@mikro-orm/core';
import { AccessRequestSchema } from './access-request.ts';
import { Client } from './client.ts';
import { index, instant, uniqueIndex } from './columns.ts';
import { ApiToken, PasswordLink } from './credentials.ts';
import { Invitation } from './invitation.ts';
import { EmailChange, User } from './user.ts';
import { ViewAs } from './view-as.ts';
import { WebhookSchema } from './webhook.ts';

export const MAIL_KINDS = [
  'invitation',
  'password-setup',
  'password-reset',
  'password-changed',
  'failed-logins',
  'password-expiry',
  'email-confirmation',
  'email-changed',
  'access-requested',
  'access-decided',
  'second-factor-added',
  'second-factor-removed',
  'second-factor-reset',
  'recovery-code-used',
  'failed-codes',
  'passkey-added',
  'passkey-removed',
  'second-factor-required',
  'second-factor-reminder',
  'password-renewal',
  'identity-linked',
  'webhook-disabled',
  'access-ending',
  'access-ending-report',
  'invitation-reminder',
  'inactivity-warning',
  'weekly-digest',
  'token-ending',
  'viewed-as',
  'directory-held',
] as const;
export type MailKind = (typeof MAIL_KINDS)[number];

/**
 * A mail to send (transactional outbox), enqueued in the transaction that causes it. The row refers to its subject. It holds no text until
 * the mail is sent, and never a link: links and their secrets are created when the mail is sent.
 */
export const OutboxMailSchema = defineEntity({
  name: 'OutboxMail',
  tableName: 'outbox_mails',
  indexes: [
    // Password mails come before invitations: a user is waiting for them, and a bulk of invitations must not delay them.
    index(
      'outbox_mails_due',
      `outbox_mails ((kind = 'invitation'), next_attempt_at, id) where sent_at is null and failed_at is null`,
    ),
    index('outbox_mails_failed', 'outbox_mails (id) where failed_at is not null'),
    index(
      'outbox_mails_password',
      `outbox_mails (recipient, created_at) where kind in ('password-setup', 'password-reset')`,
    ),
    { properties: ['recipient', 'id'] },
    { properties: ['client', 'id'] },
    // Partial indexes, because these columns are null in most mails.
    ...[
      ...['user_id', 'password_link_id', 'email_change_id', 'access_request_id', 'webhook_id'],
      ...['token_id', 'view_as_id'],
    ].map((column) =>
      index(`outbox_mails_${column}_index`, `outbox_mails (${column}) where ${column} is not null`),
    ),
    uniqueIndex(
      'outbox_mails_operation',
      'outbox_mails (operation_id, recipient, coalesce(invitation_id, 0)) where operation_id is not null',
    ),
  ],
  triggers: [
    {
      // Wakes the mail workers on commit. A trigger, so that it runs for every INSERT.
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
    /** Null for a password reset until the mail worker has looked up the account. */
    user: () => p.manyToOne(User).nullable().deleteRule('cascade').updateRule('no action'),
    passwordLink: () => p.manyToOne(PasswordLink).nullable().deleteRule('set null').updateRule('no action'),
    emailChange: () => p.manyToOne(EmailChange).nullable().deleteRule('set null').updateRule('no action'),
    accessRequest: () =>
      p.manyToOne(AccessRequestSchema).nullable().deleteRule('set null').updateRule('no action'),
    webhook: () => p.manyToOne(WebhookSchema).nullable().deleteRule('set null').updateRule('no action'),
    token: () => p.manyToOne(ApiToken).nullable().deleteRule('set null').updateRule('no action'),
    viewAs: () => p.manyToOne(ViewAs).nullable().deleteRule('set null').updateRule('no action'),
    /** The bulk request that caused the mail. A repeated request mails each person once. No foreign key. */
    operationId: p.uuid().nullable(),
    /** Network address of the request that caused the mail, if the mail mentions it. */
    requestAddress: p.string().length(45).nullable(),
    /** The variables of the last attempt, without links: see `mail-variables.ts`. Null before the first attempt. */
    variables: p.json<Record<string, unknown>>().columnType('jsonb').nullable(),
    /** W3C trace context of the request that caused the mail, if it was traced. */
    traceparent: p.string().length(55).nullable(),
    createdAt: instant(),
    attempts: p.integer().default(0),
    lastAttemptAt: instant().nullable(),
    /** The time of the next attempt. While a worker sends the mail, the end of its lease: afterwards, other workers retry. */
    nextAttemptAt: instant(),
    /** The last response of the mail server, or the connection error. */
    lastError: p.string().length(500).nullable(),
    sentAt: instant().nullable(),
    failedAt: instant().nullable(),
  },
});

export class OutboxMail extends OutboxMailSchema.class {
  /** The mail server has accepted the mail. */
  send(at: Date): void {
    this.sentAt = at;
    this.failedAt = null;
    this.lastError = null;
  }

  /** An attempt failed. @param nextAt when it is retried; null: never */
  fail(at: Date, reason: string, nextAt: Date | null): void {
    this.lastError = reason;
    if (nextAt) this.nextAttemptAt = nextAt;
    this.failedAt = nextAt ? null : at;
  }

  /** A worker had claimed the mail, and gives it back without an attempt. */
  release(at: Date): void {
    this.attempts -= 1;
    this.lastAttemptAt = null;
    this.variables = null;
    this.nextAttemptAt = at;
  }

  retry(at: Date): void {
    this.nextAttemptAt = at;
    this.failedAt = null;
  }
}
OutboxMailSchema.setClass(OutboxMail);
