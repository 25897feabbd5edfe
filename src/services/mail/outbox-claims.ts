import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { latestPossible, MINUTE_MS } from '../../lib/clock.ts';
import { needsLink } from './mail-context.ts';

/** An arbitrary key for the advisory lock, the same in every instance. */
const RATE_LIMIT_LOCK = 7_305_130_502;

/** `perMinute`: delivery attempts of all instances together in any minute; 0 means no limit. */
type ClaimOptions = { now: Date; limit: number; leaseMs: number; perMinute: number };

/**
 * Claims due mails for the length of a lease: password mails first, then notices, then invitations. If a worker dies, its mails
 * become due again.
 * @returns their ids
 */
export const claimDue = async (tx: Em, options: ClaimOptions): Promise<number[]> => {
  // Under the lock, the next statement sees the claims of the other instances.
  if (options.perMinute > 0)
    await sql`select pg_advisory_xact_lock(${RATE_LIMIT_LOCK}::bigint)`.execute(kysely(tx));
  const urgent = await claimInOrder(tx, options, sql`(kind = 'invitation') is false and not ${isNotice}`);
  const left = options.limit - urgent.length;
  return left === 0 ? urgent : [...urgent, ...(await claimInOrder(tx, { ...options, limit: left }))];
};

/** No one waits for these mails. A change of a policy enqueues one for each member of a client. */
const isNotice = sql`(kind in ('password-expiry', 'failed-logins', 'failed-codes', 'access-requested', 'access-decided',
  'second-factor-required', 'second-factor-reminder'))`;

/** Claims due mails in the order of their index. */
const claimInOrder = async (tx: Em, options: ClaimOptions, condition = sql`true`): Promise<number[]> => {
  const { now, limit, leaseMs, perMinute } = options;
  const minuteAgo = new Date(now.getTime() - MINUTE_MS);
  const isRateLimited = perMinute > 0;
  // A row stores its last attempt only: two attempts within a minute would count once.
  const hasNoRecentAttempt = isRateLimited
    ? sql`(last_attempt_at is null or last_attempt_at <= ${minuteAgo}::timestamptz)`
    : sql`true`;
  const availableSlots = isRateLimited
    ? sql`(select greatest(0, least(${limit}::int, ${perMinute}::int - count(*))) from outbox_mails
        where ${isRecentAttempt(now)})`
    : sql`${limit}::int`;
  const { rows } = await sql<{ id: number }>`
    with due as materialized (
      select id from outbox_mails
      where sent_at is null and failed_at is null and next_attempt_at <= ${now}::timestamptz
        and not ${needsLink} and ${hasNoRecentAttempt} and ${condition}
      order by (kind = 'invitation'), next_attempt_at, id
      limit ${availableSlots}
      for update skip locked)
    update outbox_mails set attempts = attempts + 1, last_error = null, last_attempt_at = ${now}::timestamptz,
      next_attempt_at = ${new Date(now.getTime() + leaseMs)}::timestamptz
    from due where outbox_mails.id = due.id
    returning outbox_mails.id`.execute(kysely(tx));
  return rows.map(({ id }) => id);
};

/** When the next mail can be sent, by its schedule and the rate limit; null if none is queued. */
export const nextDue = async (em: Em, now: Date, perMinute: number): Promise<Date | null> => {
  const queued = sql`outbox_mails where sent_at is null and failed_at is null`;
  // Each half of the index is ordered by time.
  const { rows } = await sql<{ due: Date | null }>`
    select case when due is not null then greatest(due, (
      select case when ${perMinute}::int between 1 and count(*) then min(last_attempt_at) + interval '1 minute' end
      from outbox_mails where ${isRecentAttempt(now)})) end as due
    from (select least(
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is false),
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is true)
    ) as due) next`.execute(kysely(em));
  return rows[0]?.due ?? null;
};

/** Attempts of the future do not count: the clock was ahead. */
const isRecentAttempt = (now: Date) =>
  sql`last_attempt_at > ${new Date(now.getTime() - MINUTE_MS)}::timestamptz
    and last_attempt_at <= ${latestPossible(now)}::timestamptz`;

/** The longest pause between two attempts. */
export const MAX_BACKOFF_MS = 240 * MINUTE_MS;

/** Whether a mail waits for longer than any retry does, because the clock was ahead when it was enqueued or attempted. */
export const isDueTooLate = (now: Date) =>
  condition`sent_at is null and failed_at is null
    and next_attempt_at > ${new Date(latestPossible(now).getTime() + MAX_BACKOFF_MS)}::timestamptz`;

/** Makes mails due whose stored time is too late, because the clock was ahead. */
export const rescheduleLateMails = (em: Em, now: Date) =>
  kysely(em)
    .updateTable('outbox_mails')
    .set({ next_attempt_at: now, last_attempt_at: null })
    .where(isDueTooLate(now))
    .execute();

/** Marks obsolete mails as failed. They were not sent, so they do not count against the rate limit. */
export const failObsolete = async (tx: Em, mails: readonly { id: number; reason: string }[], now: Date) => {
  if (mails.length === 0) return;
  await sql`
    update outbox_mails set failed_at = ${now}::timestamptz, last_error = ended.reason, last_attempt_at = null
    from unnest(${mails.map(({ id }) => id)}::bigint[], ${mails.map(({ reason }) => reason)}::text[])
      as ended (id, reason)
    where outbox_mails.id = ended.id and sent_at is null and failed_at is null`.execute(kysely(tx));
};
