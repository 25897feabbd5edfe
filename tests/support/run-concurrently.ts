import { Client } from 'pg';
import { until } from './poll.ts';
import type { TestApp } from './test-app.ts';

/** Runs the calls at the same time. A lock holds them at `table` until each of them waits for a lock. */
export const runConcurrently = async <T>(
  app: TestApp,
  table: 'apps' | 'fetched_packages',
  works: (() => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> => {
  const holder = new Client(app.connection);
  await holder.connect();
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`);
    const outcomes = Promise.allSettled(works.map((work) => work()));
    await until('all wait for a lock', async () => {
      // A transaction keeps its first snapshot of `pg_stat_activity` until it is cleared.
      await holder.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await holder.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rowCount === works.length;
    });
    await holder.query('commit');
    return await outcomes;
  } finally {
    await holder.end();
  }
};
