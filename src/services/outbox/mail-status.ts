import { sql } from 'kysely';
import { condition } from '../../db/kysely.ts';

/**
 * `queued`: not attempted yet. `retrying`: an attempt failed, another follows. `sent`: accepted by the mail server.
 * `failed`: rejected, too old or obsolete; not retried.
 */
export const MAIL_STATUSES = ['queued', 'retrying', 'sent', 'failed'] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

/** The status of the alias `mail`. */
export const mailStatus = sql<MailStatus>`case
  when mail.sent_at is not null then 'sent'
  when mail.failed_at is not null then 'failed'
  when mail.attempts > 1 or mail.last_error is not null then 'retrying'
  else 'queued'
end`;

/**
 * SQL over an alias of `outbox_mails`: whether a mail is about the account of its user, even if a client sends it. The expiry of a password
 * and the lack of a second factor concern all clients of the person.
 */
export const isAboutAccount = (mail: string) => condition`(${sql.ref(`${mail}.client_id`)} is null
  or ${sql.ref(`${mail}.kind`)} in ('password-expiry', 'second-factor-required', 'second-factor-reminder'))`;

/** Whether a mail server is configured. */
export type MailRoute = { hasServer: boolean };
