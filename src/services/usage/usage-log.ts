import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { instantArray, textArray } from '../binary-arrays.ts';
import { tables } from '../tables.ts';
import { columnsOf, type UsageColumns, type UsageEntryInput } from './usage-columns.ts';
import { ensureMonths } from './usage-partitions.ts';
import { addUpRollups } from './usage-rollups.ts';
import { refreshWindow } from './usage-windows.ts';

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
): Promise<number> => writeColumns(em, appId, columnsOf(entries), now);

/** As `writeUsage`, of entries that have been put into columns. */
export const writeColumns = (
  em: SqlEntityManager,
  appId: string,
  columns: UsageColumns,
  now: Date,
): Promise<number> =>
  em.transactional(async (tx) => {
    if (columns.times.length === 0) return 0;
    await ensureMonths(tx, columns.times);
    await lockUsage(tx, appId);
    const written = await addUpRollups(tx, appId, writtenEntries(appId, columns));
    if (written > 0) await refreshWindow(tx, appId, now);
    return written;
  });

/** Costs a tenth of the writing, which entries without a key are spared. */
const IF_NEW = sql`on conflict (app_id, entry_key, occurred_at) where entry_key is not null do nothing`;

/** The `insert`, answering what the rollups count. Columns go as arrays: the statement is the same for any number. */
const writtenEntries = (appId: string, columns: UsageColumns) => sql`
  insert into usage_entries
    (app_id, entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
  select ${appId}, entry_key, email, full_name, action, action_description, stack, extra, occurred_at
  from unnest(
    ${textArray('varchar', columns.keys)}::varchar[], ${textArray('varchar', columns.emails)}::varchar[],
    ${textArray('varchar', columns.fullNames)}::varchar[], ${textArray('varchar', columns.actions)}::varchar[],
    ${textArray('text', columns.descriptions)}::text[], ${textArray('varchar', columns.stacks)}::varchar[],
    ${columns.extras}::json[], ${instantArray(columns.times)}::timestamptz[])
    as given (entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
  ${columns.keys.some((key) => key !== null) ? IF_NEW : sql``}
  returning email, (occurred_at at time zone 'UTC')::date as day, stack`;
