import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { needsLink } from './outbox-links.ts';

/** An arbitrary key for the advisory lock, the same in every instance. */
const RATE_LIMIT_LOCK = 7_305_130_502;

/** `perMinute`: delivery attempts of all instances together in any minute; 0 means no limit. */
export type ClaimTerms = { now: Date; limit: number; leaseMs: number; perMinute: number };

/**
 * Claims due mails, password mails first, for the length of a lease. If a worker dies, its mails become due again.
 * @returns their ids
 */
export const claimDue = async (tx: SqlEntityManager, terms: ClaimTerms): Promise<number[]> => {
  const { now, limit, leaseMs, perMinute } = terms;
  const db = tables(tx);
  // Under the lock, the next statement sees the claims of the other instances.
  if (perMinute > 0) await sql`select pg_advisory_xact_lock(${RATE_LIMIT_LOCK}::bigint)`.execute(db);

  const minuteAgo = new Date(now.getTime() - MINUTE_MS);
  const isRateLimited = perMinute > 0;
  // A row stores its last attempt only: two attempts within a minute would count once.
  const hasNoRecentAttempt = isRateLimited
    ? sql`(last_attempt_at is null or last_attempt_at <= ${minuteAgo}::timestamptz)`
    : sql`true`;
  const availableSlots = isRateLimited
    ? sql`(select greatest(0, least(${limit}::int, ${perMinute}::int - count(*))) from outbox_mails
        where last_attempt_at > ${minuteAgo}::timestamptz)`
    : sql`${limit}::int`;
  const { rows } = await sql<{ id: number }>`
    with due as materialized (
      select id from outbox_mails
      where sent_at is null and failed_at is null and next_attempt_at <= ${now}::timestamptz
        and not ${needsLink} and ${hasNoRecentAttempt}
      order by (kind = 'invitation'), next_attempt_at, id
      limit ${availableSlots}
      for update skip locked)
    update outbox_mails set attempts = attempts + 1, last_error = null, last_attempt_at = ${now}::timestamptz,
      next_attempt_at = ${new Date(now.getTime() + leaseMs)}::timestamptz
    from due where outbox_mails.id = due.id
    returning outbox_mails.id`.execute(db);
  return rows.map(({ id }) => id);
};

/** When the next mail can be sent, by its schedule and the rate limit; null if none is queued. */
export const nextDue = async (em: SqlEntityManager, now: Date, perMinute: number): Promise<Date | null> => {
  const queued = sql`outbox_mails where sent_at is null and failed_at is null`;
  // Each half of the index is ordered by time.
  const { rows } = await sql<{ due: Date | null }>`
    select case when due is not null then greatest(due, (
      select case when ${perMinute}::int between 1 and count(*) then min(last_attempt_at) + interval '1 minute' end
      from outbox_mails where last_attempt_at > ${new Date(now.getTime() - MINUTE_MS)}::timestamptz)) end as due
    from (select least(
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is false),
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is true)) as due) next`.execute(
    tables(em),
  );
  return rows[0]?.due ?? null;
};
