import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { DAY_MS } from '../../core/clock.ts';
import { tables } from '../tables.ts';
import { SESSION_IDLE_DAYS } from './identity.ts';

/** Rows of one statement: few enough that nobody waits for their locks. */
const BATCH = 1_000;

/** Removes sessions and tokens that nobody has used for so long that they no longer let anybody in. */
export const pruneCredentials = async (
  em: SqlEntityManager,
  { now, tokenIdleDays }: { now: Date; tokenIdleDays: number },
): Promise<void> => {
  await prune(em, 'sessions', new Date(now.getTime() - SESSION_IDLE_DAYS * DAY_MS));
  if (tokenIdleDays > 0) await prune(em, 'api_tokens', new Date(now.getTime() - tokenIdleDays * DAY_MS));
};

const prune = async (em: SqlEntityManager, table: 'sessions' | 'api_tokens', before: Date): Promise<void> => {
  let pruned = BATCH;
  while (pruned === BATCH) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where id in (
        select id from ${sql.table(table)} where last_used < ${before}::timestamptz
        order by id limit ${BATCH} for update skip locked)`.execute(tables(em));
    pruned = Number(numAffectedRows);
  }
};
