import type pg from 'pg';
import type { Clock } from '../lib/clock.ts';

const SYNC_MS = 10_000;
/** An answer that takes longer says too little about the moment. */
const MAX_ROUND_TRIP_MS = 2_000;

export type DatabaseClock = Clock & { stop: () => void };

/**
 * The clock of PostgreSQL, which all instances share: stored times are compared with it, and an instance whose own clock is
 * wrong, or jumps, would lock accounts or hold back mail for hours. Between two looks at it a monotonic timer goes on.
 */
export const createDatabaseClock = async (pool: pg.Pool): Promise<DatabaseClock> => {
  let known = Date.now();
  let knownAt = performance.now();

  const sync = async (): Promise<void> => {
    const client = await pool.connect();
    try {
      const askedAt = performance.now();
      const { rows } = await client.query<{ ms: number }>(
        'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
      );
      const answeredAt = performance.now();
      if (!rows[0] || answeredAt - askedAt > MAX_ROUND_TRIP_MS) return;
      known = rows[0].ms;
      knownAt = (askedAt + answeredAt) / 2;
    } finally {
      client.release();
    }
  };
  await sync();
  // While the database is away, the timer alone goes on.
  const timer = setInterval(() => sync().catch(() => {}), SYNC_MS).unref();

  return {
    now: () => new Date(known + performance.now() - knownAt),
    stop: () => clearInterval(timer),
  };
};
