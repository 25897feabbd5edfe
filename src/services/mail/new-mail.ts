import { type RawBuilder, sql } from 'kysely';
import { tracing } from '../../lib/tracing.ts';

/** What every new mail has. It is due at once, and its delivery belongs to the trace of the request that caused it. */
export const newMail = (now: Date) => ({
  createdAt: now,
  nextAttemptAt: now,
  traceparent: tracing.traceparent(),
});

/** SQL: the columns of `newMail`. */
export const NEW_MAIL = sql`created_at, next_attempt_at, traceparent`;

/** SQL: a wait of mails to many: one a second, or all within an hour. */
export const SPREAD = sql`(row_number() over (order by user_id) - 1)
  * least(interval '1 second', interval '1 hour' / count(*) over ())`;

/** SQL: their values. @param wait an interval until the mail is due */
export const newMailValues = (now: Date, wait: RawBuilder<unknown> = sql`interval '0'`) => sql`
  ${now}::timestamptz, ${now}::timestamptz + ${wait}, ${tracing.traceparent()}::varchar`;
