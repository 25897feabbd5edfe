import { setTimeout as sleep } from 'node:timers/promises';
import { IsolationLevel, type SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { tables } from '../../db/kysely.ts';
import { type RunningErasure, replaceRows, replaceStackTotals } from './erased-rows.ts';
import { searchNextPages } from './erasure-search.ts';

/** Entries of each log that one transaction replaces. */
const LOG_LIMIT = 5_000;
const RETRY_MS = 20;
/** Longer transactions are left to the next run. */
const MAX_WAIT_MS = 60_000;

/** `waiting`: for transactions that started before the erasure, or that changed the same rows. */
type Progress = 'more' | 'waiting' | 'finished';

/**
 * Does what is left of an erasure, in small transactions that any instance may continue, until it is finished, the signal is
 * aborted, or another transaction runs for too long. Returns whether it is finished.
 */
export const finishErasure = async (
  em: SqlEntityManager,
  id: number,
  now: () => Date,
  signal?: AbortSignal,
): Promise<boolean> => {
  for (let givesUpAt = performance.now() + MAX_WAIT_MS; ; ) {
    const progress = await advance(em, id, now()).catch((error: unknown): Progress => {
      const isRepeatable = problemOfDatabaseError(error)?.code === 'overloaded';
      if (isRepeatable && performance.now() < givesUpAt) return 'waiting';
      throw error;
    });
    if (progress === 'finished') return true;
    if (signal?.aborted) return false;
    if (progress === 'more') {
      givesUpAt = performance.now() + MAX_WAIT_MS;
      continue;
    }
    if (performance.now() > givesUpAt) return false;
    await sleep(RETRY_MS);
  }
};

/** Finishes the erasures that have work left: of a request that had no time left, or of an instance that was killed. */
export const resumeErasures = async (
  em: SqlEntityManager,
  now: () => Date,
  signal?: AbortSignal,
): Promise<void> => {
  const unfinished = tables(em).selectFrom('erasures').select('id').where('finished_at', 'is', null);
  for (const { id } of await unfinished.orderBy('id').execute()) await finishErasure(em, id, now, signal);
};

/**
 * One step: waits for transactions that ran at the same time as the replacement of the account and may have written the
 * address after it; then searches the texts of all tables; then replaces rows that hold the address. The last step removes
 * the address from the erasure itself.
 */
const advance = async (em: SqlEntityManager, id: number, now: Date): Promise<Progress> => {
  const isolationLevel = IsolationLevel.REPEATABLE_READ;
  const searched = await em.fork().transactional((tx) => search(tx, id), { isolationLevel });
  return searched === 'complete' ? em.fork().transactional((tx) => conclude(tx, id, now)) : searched;
};

const search = async (tx: SqlEntityManager, id: number): Promise<Progress | 'complete'> => {
  const erasure = await lockErasure(tx, id);
  if (!erasure) return 'finished';
  if (!(await isSettled(tx, erasure))) return 'waiting';
  return (await searchNextPages(tx, erasure)) ? 'more' : 'complete';
};

const conclude = async (tx: SqlEntityManager, id: number, now: Date): Promise<Progress> => {
  const erasure = await lockErasure(tx, id);
  if (!erasure) return 'finished';
  const replaced = await replaceRows(tx, erasure, { now, limit: LOG_LIMIT });
  if (Math.max(replaced.usage_entries, replaced.audit_entries) === LOG_LIMIT) return 'more';
  await replaceStackTotals(tx, erasure);
  await tables(tx)
    .updateTable('erasures')
    .set({
      address: null,
      pattern: null,
      needles: null,
      transaction_id: null,
      scanned_table: null,
      finished_at: now,
    })
    .where('id', '=', id)
    .execute();
  return 'finished';
};

/** Two instances take turns. */
const lockErasure = async (tx: SqlEntityManager, id: number): Promise<RunningErasure | undefined> => {
  const row = await tables(tx)
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  return row && row.address !== null ? { ...row, address: row.address } : undefined;
};

/**
 * Whether all transactions of this database that were running when the account was replaced have ended. Transaction ids are
 * those of the whole server. Of another database are those whose lock belongs to a session there; all others count.
 */
const isSettled = async (tx: SqlEntityManager, { transaction_id: id }: RunningErasure): Promise<boolean> => {
  const { rows } = await sql<{ isSettled: boolean }>`
    select not exists (
      select from pg_snapshot_xip(pg_current_snapshot()) as running (id)
      where running.id <= ${id}::text::xid8 and not exists (
        select from pg_locks held join pg_stat_activity session on session.pid = held.pid
        where held.locktype = 'transactionid' and held.mode = 'ExclusiveLock' and held.granted
          and held.transactionid = running.id::xid and session.datname <> current_database())
    ) as "isSettled"`.execute(tables(tx));
  return rows[0]?.isSettled === true;
};
