import type pg from 'pg';
import { systemClock } from '../lib/clock.ts';

/**
 * SQL: the present time of the database, for cases in which instances must agree to the millisecond: the order of tickets and revocations,
 * and the windows of limits. All other SQL gets `clock.now()` as a parameter.
 */
export const DATABASE_TIME = 'clock_timestamp()';

const SYNC_MS = 10_000;
/** A longer round trip makes the time too inaccurate. */
const MAX_ROUND_TRIP_MS = 2_000;

/**
 * The clock of PostgreSQL, which all instances share. Stored times are compared with it: an instance whose own clock is wrong or jumps
 * would lock accounts or delay mail for hours. A monotonic timer measures the time since the last query.
 */
export const createDatabaseClock = async (pool: pg.Pool) => {
  let known = systemClock.now().getTime();
  let knownAt = performance.now();

  const sync = async (): Promise<void> => {
    const sentAt = performance.now();
    const { rows } = await pool.query<{ ms: number }>(
      `select (extract(epoch from ${DATABASE_TIME}) * 1000)::float8 as ms`,
    );
    const receivedAt = performance.now();
    if (!rows[0] || receivedAt - sentAt > MAX_ROUND_TRIP_MS) return;
    known = rows[0].ms;
    knownAt = (sentAt + receivedAt) / 2;
  };
  await sync();
  // While the database is unavailable, only the timer advances.
  const timer = setInterval(() => sync().catch(() => {}), SYNC_MS).unref();

  return {
    now: () => new Date(known + performance.now() - knownAt),
    [Symbol.dispose]: () => clearInterval(timer),
  };
};
