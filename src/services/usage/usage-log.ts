import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery, sql } from 'kysely';
import { instantArray, textArray } from '../../db/binary-arrays.ts';
import { tables } from '../../db/kysely.ts';
import type { Transact } from '../../db/pipelined-transaction.ts';
import { columnsOf, type UsageColumns, type UsageEntryInput } from './usage-columns.ts';
import { ensureMonths, hasMissingMonths } from './usage-partitions.ts';
import { rollupStatement, updateRollups } from './usage-rollups.ts';
import { refreshWindow, refreshWindowStatements } from './usage-windows.ts';

/** Held while an app's entries are written: its rollups depend on each other from day to day. */
export const lockUsage = async (tx: SqlEntityManager, appId: string): Promise<void> => {
  await lockStatement(appId).execute(tables(tx));
};

const lockStatement = (appId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`usage of ${appId}`}, 0))`;

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
    const written = await updateRollups(tx, appId, insertEntries(appId, columns));
    if (written > 0) await refreshWindow(tx, appId, now);
    return written;
  });

/**
 * Does the same in one pipelined transaction. The app's lock is never held across a client round trip, so an instance that
 * freezes cannot block other writers of the app.
 */
export const writeColumnsPipelined = async (
  { em, transact }: { em: SqlEntityManager; transact: Transact },
  appId: string,
  columns: UsageColumns,
  now: Date,
): Promise<number> => {
  if (columns.times.length === 0) return 0;
  const { times } = columns;
  if (await hasMissingMonths(em, times)) await em.transactional((tx) => ensureMonths(tx, times));
  const db = tables(em);
  const [lock, write] = [lockStatement(appId), rollupStatement(appId, insertEntries(appId, columns))];
  const refresh = refreshWindowStatements(appId, now).map((statement) => statement.compile(db));
  const [, , [written]] = await transact(
    ({ sendLast }) => sendLast([TRANSACTION_TIMEOUT, lock.compile(db), write.compile(db), ...refresh]),
    { hasGenericPlans: false },
  );
  return written?.entries ?? 0;
};

/**
 * For an instance that freezes while it sends a large batch: `idle_in_transaction_session_timeout` does not run while the
 * server waits for the rest of a message. PostgreSQL has this setting since version 17.
 */
const TRANSACTION_TIMEOUT = CompiledQuery.raw(`
  select case when current_setting('server_version_num')::int >= 170000
    then set_config('transaction_timeout', '30s', true) end`);

/** Costs a tenth of the writing, which entries without a key are spared. */
const IF_NEW = sql`on conflict (app_id, entry_key, occurred_at) where entry_key is not null do nothing`;

/** The `insert`, answering what the rollups count. Columns go as arrays: the statement is the same for any number. */
const insertEntries = (appId: string, columns: UsageColumns) => sql`
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
