import { sql } from 'kysely';
import { type Em, kysely } from '../db/kysely.ts';
import { latestPossible } from '../lib/clock.ts';
import { isDueTooLate } from './mail/outbox-claims.ts';
import { logMonths, monthOf } from './usage/usage-months.ts';
import { dayOf, isFutureWindow } from './usage/usage-windows.ts';

/** Of the last good backup, and the failures since; null before the first. Backups of the future do not count. */
const readBackups = async (em: Em, now: Date) => {
  const { rows } = await sql<{ startedAt: Date; finishedAt: Date; sizeBytes: number; failures: number }>`
    with good as (
      select * from backups where finished_at is not null and started_at <= ${latestPossible(now)}::timestamptz
      order by id desc limit 1
    )
    select good.started_at as "startedAt", good.finished_at as "finishedAt", good.size_bytes::float8 as "sizeBytes",
      (select count(*)::int from backups where failed_at is not null and id > coalesce(good.id, 0)) as failures
    from (select) one left join good on true`.execute(kysely(em));
  const [last] = rows;
  const isKnown = last?.startedAt != null;
  return {
    backupAgeSeconds: isKnown ? secondsSince(last.startedAt, now) : null,
    backupDurationSeconds: isKnown ? secondsSince(last.startedAt, last.finishedAt) : null,
    backupSizeBytes: isKnown ? last.sizeBytes : null,
    backupFailures: last?.failures ?? 0,
  };
};

/**
 * Counts what was stored while the clock was ahead and is not corrected yet: usage windows and unsent mails, which the hourly
 * maintenance corrects, and the last good backup, until the next one.
 */
const countFutureTimes = async (em: Em, now: Date): Promise<number> => {
  const latest = sql`${latestPossible(now)}::timestamptz`;
  const { rows } = await sql<{ count: number }>`
    select (select count(*)::int from usage_windows where ${isFutureWindow(dayOf(now))})
      + (select count(*)::int from outbox_mails where ${isDueTooLate(now)})
      + (select count(*)::int from (select started_at from backups where finished_at is not null order by id desc limit 1)
          as newest where started_at > ${latest}) as count`.execute(kysely(em));
  return rows[0]?.count ?? 0;
};

/** Reads what operators watch besides requests. Partial indexes keep it fast with any number of mails. */
export const readOperationalState = async (em: Em, now: Date) => {
  const { rows } = await sql<{ unsent: number; oldest: Date | null; erasures: number }>`
    select (select count(*)::int from outbox_mails where sent_at is null and failed_at is null) as unsent,
      (select min(created_at) from outbox_mails where sent_at is null and failed_at is null) as oldest,
      (select count(*)::int from erasures where finished_at is null) as erasures`.execute(kysely(em));
  const [counts] = rows;
  const nextMonth = monthOf(now, 1);
  const months = await logMonths(em);
  return {
    unsentMails: counts?.unsent ?? 0,
    unfinishedErasures: counts?.erasures ?? 0,
    oldestUnsentMailSeconds: counts?.oldest ? secondsSince(counts.oldest, now) : 0,
    ...(await readBackups(em, now)),
    usageMonthsAhead: months.filter((month) => month >= nextMonth).length,
    futureTimes: await countFutureTimes(em, now),
  };
};

/** Never negative: instances differ by milliseconds. */
const secondsSince = (at: Date, now: Date): number => Math.max(0, now.getTime() - at.getTime()) / 1000;
