import { sql } from 'kysely';
import type { MailRow } from './mail-context.ts';

/**
 * `queued`: not attempted yet. `retrying`: an attempt failed, another follows. `sent`: accepted by the mail server.
 * `failed`: rejected, too old or obsolete; not retried.
 */
export const MAIL_STATUSES = ['queued', 'retrying', 'sent', 'failed'] as const;

export type MailStatus = (typeof MAIL_STATUSES)[number];

type DeliveryState = Pick<MailRow, 'sent_at' | 'failed_at' | 'attempts' | 'last_error'>;

export const mailStatusOf = ({ sent_at, failed_at, attempts, last_error }: DeliveryState): MailStatus => {
  if (sent_at) return 'sent';
  if (failed_at) return 'failed';
  return attempts > 1 || last_error !== null ? 'retrying' : 'queued';
};

/** The same as SQL, over the alias `mail`. */
export const hasMailStatus = (status: MailStatus) => {
  if (status === 'sent') return sql<boolean>`mail.sent_at is not null`;
  if (status === 'failed') return sql<boolean>`(mail.sent_at is null and mail.failed_at is not null)`;
  const hasFailed = sql`(mail.attempts > 1 or mail.last_error is not null)`;
  return sql<boolean>`(mail.sent_at is null and mail.failed_at is null and
    ${hasFailed} = ${status === 'retrying'})`;
};
