import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { needsLink } from './outbox-links.ts';

/** Any fixed number will do: it only has to be the same in every instance, and nobody else's. */
const RATE_LIMIT_LOCK = 7_305_130_502;

/** `perMinute`: mails that all instances together may try to send in any minute; 0 is no bound. */
export type ClaimTerms = { now: Date; limit: number; leaseMs: number; perMinute: number };

/**
 * Takes mails that are due, password mails first, so that nobody else does before the lease is over. Whoever dies
 * with them loses nothing: they are then due again. Answers their ids.
 */
export const claimDue = async (tx: SqlEntityManager, terms: ClaimTerms): Promise<number[]> => {
  const { now, limit, leaseMs, perMinute } = terms;
  const db = tables(tx);
  // What others have taken is counted by a statement that begins once they are through.
  if (perMinute > 0) await sql`select pg_advisory_xact_lock(${RATE_LIMIT_LOCK}::bigint)`.execute(db);

  const minuteAgo = new Date(now.getTime() - MINUTE_MS);
  const isRateLimited = perMinute > 0;
  // A row keeps its last try only: were it tried twice in a minute, it would be counted once.
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

/** When the next mail is due, not asking whether the bound on mails a minute lets it go; null when none waits. */
export const nextDue = async (em: SqlEntityManager): Promise<Date | null> => {
  // Each half of the index is in the order of time.
  const { rows } = await sql<{ due: Date | null }>`
    select least(
      (select min(next_attempt_at) from outbox_mails
        where sent_at is null and failed_at is null and (kind = 'invitation') is false),
      (select min(next_attempt_at) from outbox_mails
        where sent_at is null and failed_at is null and (kind = 'invitation') is true)) as due`.execute(
    tables(em),
  );
  return rows[0]?.due ?? null;
};

/** When there is room again under the bound on mails a minute; null when there is some now. */
export const nextSlot = async (em: SqlEntityManager, now: Date, perMinute: number): Promise<Date | null> => {
  if (perMinute === 0) return null;
  const { count, oldest } = await tables(em)
    .selectFrom('outbox_mails')
    .select([sql<number>`count(*)`.as('count'), sql<Date | null>`min(last_attempt_at)`.as('oldest')])
    .where('last_attempt_at', '>', new Date(now.getTime() - MINUTE_MS))
    .executeTakeFirstOrThrow();
  return oldest && count >= perMinute ? new Date(oldest.getTime() + MINUTE_MS) : null;
};
