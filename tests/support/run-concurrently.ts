import { Client } from 'pg';
import { until } from './poll.ts';
import type { TestApp } from './test-app.ts';

/** Does all of it at once: nobody may read the table before everybody has come as far as that, or waits for others. */
export const crowd = async <T>(
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
      // A transaction sees the same picture of the others until it asks for a new one.
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
