import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import { isUnexpired } from './credential-lookup.ts';
import { SESSION_IDLE_DAYS } from './identity.ts';

/** Rows per statement, few enough that their locks are held only briefly. */
const BATCH = 1_000;

/** Time after the end of a window before its row is deleted. */
const WINDOW_GRACE_MS = HOUR_MS;

/** Deletes expired and idle sessions and idle tokens. */
export const pruneCredentials = async (
  em: SqlEntityManager,
  { now, tokenIdleDays }: { now: Date; tokenIdleDays: number },
): Promise<void> => {
  await prune(em, 'sessions', new Date(now.getTime() - SESSION_IDLE_DAYS * DAY_MS));
  await inBatches(
    em,
    sql`
      delete from sessions where id in (
        select id from sessions where not ${isUnexpired} order by id limit ${BATCH} for update skip locked)`,
  );
  if (tokenIdleDays > 0) await prune(em, 'api_tokens', new Date(now.getTime() - tokenIdleDays * DAY_MS));
};

/** Deletes rate-limit windows that have ended, by the database clock that they were created with. */
export const pruneCounts = async (em: SqlEntityManager): Promise<void> => {
  await inBatches(
    em,
    sql`
    delete from rate_limits where key in (
      select key from rate_limits where expire < (extract(epoch from now()) * 1000)::bigint - ${WINDOW_GRACE_MS}::bigint
      order by expire limit ${BATCH} for update skip locked)`,
  );
};

const prune = (em: SqlEntityManager, table: 'sessions' | 'api_tokens', before: Date): Promise<void> =>
  inBatches(
    em,
    sql`
      delete from ${sql.table(table)} where id in (
        select id from ${sql.table(table)} where last_used < ${before}::timestamptz
        order by id limit ${BATCH} for update skip locked)`,
  );

const inBatches = async (em: SqlEntityManager, deletion: RawBuilder<unknown>): Promise<void> => {
  let pruned = BATCH;
  while (pruned === BATCH) {
    const { numAffectedRows = 0n } = await deletion.execute(tables(em));
    pruned = Number(numAffectedRows);
  }
};
