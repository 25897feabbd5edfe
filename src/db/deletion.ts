import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../entities/index.ts';
import { condition, type Em, kysely } from './kysely.ts';

/** Rows per statement: few, so that their locks are held only briefly. */
const BATCH = 1_000n;

/** SQL: the time `ms` milliseconds before `now`. */
export const before = (now: Date, ms: number) => sql`${new Date(now.getTime() - ms)}::timestamptz`;

/**
 * Deletes the matching rows of a table, except rows that other transactions have locked. Each batch is a transaction. If another instance
 * is deleting from the table, this call stops and leaves the rest to it.
 * @param prepare runs first in each transaction
 */
export const deleteInBatches = async (
  em: Em,
  name: keyof Database,
  isDue: RawBuilder<unknown>,
  prepare?: RawBuilder<unknown>,
): Promise<void> => {
  const table = sql.table(name);
  const deletion = sql`
    delete from ${table} where ctid = any(array(
      select ctid from ${table} where ${isDue} limit ${BATCH} for update skip locked))`;
  const deleteBatch = async (tx: Em): Promise<bigint | undefined> => {
    const { isHeld } = await kysely(tx).selectNoFrom(tryLock(name).as('isHeld')).executeTakeFirstOrThrow();
    if (!isHeld) return 0n;
    await prepare?.execute(kysely(tx));
    return (await deletion.execute(kysely(tx))).numAffectedRows;
  };
  while ((await em.transactional(deleteBatch)) === BATCH);
};

/** Held by the instance that deletes from a table, until the end of its transaction. */
const tryLock = (name: string) =>
  condition`pg_try_advisory_xact_lock(hashtextextended(${`pruning of ${name}`}, 0))`;
