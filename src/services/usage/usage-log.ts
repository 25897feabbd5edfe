import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../tables.ts';
import { ensureMonths } from './usage-partitions.ts';
import { addUpRollups } from './usage-rollups.ts';
import { refreshWindow } from './usage-windows.ts';

/** An entry as the log keeps it. */
export type UsageEntryInput = {
  /** The platform's own id; null when it has none. */
  entryKey: string | null;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  stack: string | null;
  /** JSON text of one line */
  extra: string;
  occurredAt: Date;
};

/** Held while an app's entries are written: its rollups depend on each other from day to day. */
export const lockUsage = async (tx: SqlEntityManager, appId: string): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`usage of ${appId}`}, 0))`.execute(tables(tx));
};

/**
 * Adds entries to the log of an app, and to its rollups, in one statement; answers how many were new. One that is
 * there already, by key and time, is left as it is.
 */
export const writeUsage = (
  em: SqlEntityManager,
  appId: string,
  entries: readonly UsageEntryInput[],
  now: Date,
): Promise<number> =>
  em.transactional(async (tx) => {
    if (entries.length === 0) return 0;
    await ensureMonths(
      tx,
      entries.map(({ occurredAt }) => occurredAt),
    );
    await lockUsage(tx, appId);
    const written = await addUpRollups(tx, appId, writtenEntries(appId, entries));
    if (written > 0) await refreshWindow(tx, appId, now);
    return written;
  });

/** Costs a tenth of the writing, which entries without a key are spared. */
const IF_NEW = sql`on conflict (app_id, entry_key, occurred_at) where entry_key is not null do nothing`;

/**
 * The `insert`, answering what the rollups count. Columns go as arrays: the statement is the same for any number. The
 * largest goes as lines, which JSON has none of, since arrays are escaped on one side and read by character on the other.
 */
const writtenEntries = (appId: string, entries: readonly UsageEntryInput[]) => {
  const column = <T>(pick: (entry: UsageEntryInput) => T): T[] => entries.map(pick);
  return sql`
    insert into usage_entries
      (app_id, entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
    select ${appId}, entry_key, email, full_name, action, action_description, stack, extra::json, occurred_at
    from unnest(
      ${column((entry) => entry.entryKey)}::varchar[], ${column((entry) => entry.email)}::varchar[],
      ${column((entry) => entry.fullName)}::varchar[], ${column((entry) => entry.action)}::varchar[],
      ${column((entry) => entry.actionDescription)}::text[], ${column((entry) => entry.stack)}::varchar[],
      string_to_array(${column((entry) => entry.extra).join('\n')}, E'\n'),
      ${column((entry) => entry.occurredAt)}::timestamptz[])
      as given (entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
    ${entries.some(({ entryKey }) => entryKey !== null) ? IF_NEW : sql``}
    returning email, (occurred_at at time zone 'UTC')::date as day, stack`;
};
