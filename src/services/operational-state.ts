import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../db/kysely.ts';
import { logMonths, monthOf } from './usage/usage-partitions.ts';

/** Reads what operators watch besides requests. Partial indexes keep it fast with any number of mails. */
export const readOperationalState = async (em: SqlEntityManager, now: Date) => {
  const { rows } = await sql<{ unsent: number; oldest: Date | null }>`
    select (select count(*)::int from outbox_mails where sent_at is null and failed_at is null) as unsent,
      (select min(created_at) from outbox_mails where sent_at is null and failed_at is null) as oldest`.execute(
    tables(em),
  );
  const [mails] = rows;
  const nextMonth = monthOf(now, 1);
  const months = await logMonths(em);
  return {
    unsentMails: mails?.unsent ?? 0,
    oldestUnsentMailSeconds: mails?.oldest ? (now.getTime() - mails.oldest.getTime()) / 1000 : 0,
    usageMonthsAhead: months.filter((month) => month >= nextMonth).length,
  };
};
