import { sql } from 'kysely';
import { type Db, tables } from '../db/kysely.ts';
import { logMonths, monthOf } from './usage/usage-partitions.ts';

/** Of the last good backup, and the failures since; null before the first. */
const readBackups = async (em: Db, now: Date) => {
  const { rows } = await sql<{ startedAt: Date; finishedAt: Date; sizeBytes: number; failures: number }>`
    with good as (select * from backups where finished_at is not null order by started_at desc limit 1)
    select good.started_at as "startedAt", good.finished_at as "finishedAt", good.size_bytes::float8 as "sizeBytes",
      (select count(*)::int from backups where failed_at is not null
        and started_at > coalesce(good.started_at, '-infinity')) as failures
    from (select) one left join good on true`.execute(tables(em));
  const [last] = rows;
  const isKnown = last?.startedAt != null;
  return {
    backupAgeSeconds: isKnown ? (now.getTime() - last.startedAt.getTime()) / 1000 : null,
    backupDurationSeconds: isKnown ? (last.finishedAt.getTime() - last.startedAt.getTime()) / 1000 : null,
    backupSizeBytes: isKnown ? last.sizeBytes : null,
    backupFailures: last?.failures ?? 0,
  };
};

/** Reads what operators watch besides requests. Partial indexes keep it fast with any number of mails. */
export const readOperationalState = async (em: Db, now: Date) => {
  const { rows } = await sql<{ unsent: number; oldest: Date | null; erasures: number }>`
    select (select count(*)::int from outbox_mails where sent_at is null and failed_at is null) as unsent,
      (select min(created_at) from outbox_mails where sent_at is null and failed_at is null) as oldest,
      (select count(*)::int from erasures where finished_at is null) as erasures`.execute(tables(em));
  const [counts] = rows;
  const nextMonth = monthOf(now, 1);
  const months = await logMonths(em);
  return {
    unsentMails: counts?.unsent ?? 0,
    unfinishedErasures: counts?.erasures ?? 0,
    oldestUnsentMailSeconds: counts?.oldest ? (now.getTime() - counts.oldest.getTime()) / 1000 : 0,
    ...(await readBackups(em, now)),
    usageMonthsAhead: months.filter((month) => month >= nextMonth).length,
  };
};
