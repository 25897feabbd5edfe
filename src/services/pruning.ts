import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../entities/index.ts';
import { tables } from '../db/kysely.ts';
import { DAY_MS, HOUR_MS } from '../lib/clock.ts';
import { isUnexpired, SESSION_IDLE_DAYS } from './auth/sessions.ts';
import { RETENTION_MS } from './idempotency/idempotency.ts';

/** Rows per statement, few enough that their locks are held only briefly. */
const BATCH = 1_000n;

/** Time after the end of a window before its row is deleted. */
const WINDOW_GRACE_MS = HOUR_MS;

/** Deletes expired and idle sessions and idle tokens. */
export const pruneCredentials = async (
  em: SqlEntityManager,
  { now, tokenIdleDays }: { now: Date; tokenIdleDays: number },
): Promise<void> => {
  const idleSince = (days: number) => before(now, days * DAY_MS);
  await deleteInBatches(em, 'sessions', sql`last_used < ${idleSince(SESSION_IDLE_DAYS)}`);
  await deleteInBatches(em, 'sessions', sql`not ${isUnexpired}`);
  if (tokenIdleDays > 0)
    await deleteInBatches(em, 'api_tokens', sql`last_used < ${idleSince(tokenIdleDays)}`);
};

/** Deletes rate-limit windows that have ended, by the database clock that they were created with. */
export const pruneCounts = (em: SqlEntityManager): Promise<void> =>
  deleteInBatches(
    em,
    'rate_limits',
    sql`expire < (extract(epoch from now()) * 1000)::bigint - ${WINDOW_GRACE_MS}::bigint`,
  );

/** Deletes expired responses to requests with an idempotency key. */
export const pruneResponses = (em: SqlEntityManager, now: Date): Promise<void> =>
  deleteInBatches(em, 'idempotent_responses', sql`created_at <= ${before(now, RETENTION_MS)}`);

const before = (now: Date, ms: number) => sql`${new Date(now.getTime() - ms)}::timestamptz`;

/** Deletes the matching rows of a table, except those that other transactions have locked. */
export const deleteInBatches = async (
  em: SqlEntityManager,
  name: keyof Database,
  condition: RawBuilder<unknown>,
): Promise<void> => {
  const table = sql.table(name);
  const deletion = sql`
    delete from ${table} where ctid = any(array(
      select ctid from ${table} where ${condition} limit ${BATCH} for update skip locked))`;
  while ((await deletion.execute(tables(em))).numAffectedRows === BATCH);
};
