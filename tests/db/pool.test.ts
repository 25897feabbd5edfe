import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPool, type DatabasePool } from '../../src/db/pool.ts';
import { Deadline, DeadlineExceeded, withDeadline } from '../../src/lib/deadline.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const pools = suite<{ database: TestDatabase; pool: DatabasePool }>('connection pool');

pools.before.each(async (context) => {
  context.database = await createTestDatabase();
  context.pool = createPool({ ...context.database.connection, poolSize: 1 });
});
pools.after.each(async ({ database, pool }) => {
  await pool.end();
  await database.drop();
});

const within = <T>(ms: number, work: () => Promise<T>): Promise<T> => withDeadline(new Deadline(ms), work);

pools(
  'keeps the deadline of a statement that waits for a connection of an expired request',
  async ({ pool }) => {
    // The connection belongs to the context of this request, which expires.
    await within(200, () => pool.query('select 1'));
    await sleep(250);

    const [slow, waiting] = await Promise.allSettled([
      within(5_000, () => pool.query('select pg_sleep(0.2)')),
      within(5_000, () => pool.query('select 2 as two')),
    ]);

    assert.is(slow.status, 'fulfilled');
    assert.equal(waiting.status === 'fulfilled' && waiting.value.rows, [{ two: 2 }]);
  },
);

pools(
  'fails a statement whose own deadline passes while it waits, and gives its turn to the next',
  async ({ pool }) => {
    const [slow, late, next] = await Promise.allSettled([
      pool.query('select pg_sleep(0.4)'),
      within(100, () => pool.query('select 1')),
      within(5_000, () => pool.query('select 2 as two')),
    ]);

    assert.is(slow.status, 'fulfilled');
    assert.ok(late.status === 'rejected' && late.reason instanceof DeadlineExceeded);
    assert.is(next.status, 'fulfilled');
  },
);

pools.run();
