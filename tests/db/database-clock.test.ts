import type pg from 'pg';
import * as assert from 'uvu/assert';
import { createDatabaseClock } from '../../src/db/database-clock.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { suiteWith } from '../support/suite.ts';
import { createTestDatabase, createTestPool } from '../support/test-database.ts';

const clocks = suiteWith('database clock', async (started) => {
  const { connection, drop } = await createTestDatabase();
  started.defer(drop);
  const pool = createTestPool(connection);
  started.defer(() => pool.end());
  return { pool };
});

const databaseMs = async (pool: pg.Pool): Promise<number> =>
  (await pool.query('select clock_timestamp() as now')).rows[0].now.getTime();

clocks('returns the time of PostgreSQL on an instance whose clock is a day ahead', async ({ pool }) => {
  const now = Date.now;
  Date.now = () => now() + DAY_MS;
  using clock = await createDatabaseClock(pool).finally(() => {
    Date.now = now;
  });
  const [returned, actual] = [clock.now().getTime(), await databaseMs(pool)];

  assert.ok(Math.abs(returned - actual) < MINUTE_MS, `${returned - actual} ms`);
});

clocks('advances steadily when the clock of the instance jumps', async ({ pool }) => {
  using clock = await createDatabaseClock(pool);
  const before = clock.now().getTime();
  const now = Date.now;
  Date.now = () => now() - DAY_MS;
  const after = clock.now().getTime();
  Date.now = now;

  assert.ok(after >= before && after - before < MINUTE_MS, `${after - before} ms`);
});

clocks.run();
