import { type Compilable, CompiledQuery } from 'kysely';
import type pg from 'pg';
import * as assert from 'uvu/assert';
import { createRead, type Read } from '../../src/db/batched-reads.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, createTestPool } from '../support/test-database.ts';

type Context = { pool: pg.Pool; read: Read; drop: () => Promise<void> };
const reads = suite<Context>('reads by small statements');

reads.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next read.
  context.pool = createTestPool(connection, { max: 1, limitMs: 2_000 });
  context.read = createRead(context.pool);
  context.drop = drop;
});
reads.after(async ({ pool, drop }) => {
  await pool.end();
  await drop();
});

type Half = { half: number; pid: number };
const query = (text: string, values: readonly unknown[] = []): Compilable<Half> => ({
  compile: () => CompiledQuery.raw(text, [...values]) as CompiledQuery<Half>,
});
const half = (of: number, by = 2) =>
  query('select $1::int / $2::int as half, pg_backend_pid() as pid', [of, by]);

reads('go together if they start in one event-loop tick, and each gets its own rows', async ({ read }) => {
  const begun = `select xact_start::text as half, 0 as pid from pg_stat_activity where pid = pg_backend_pid()`;
  const when = query(begun);
  const [[four], [five], [first], [second]] = await Promise.all([
    read(half(8)),
    read(half(10)),
    read(when),
    read(when),
  ]);

  assert.equal([four?.half, five?.half], [4, 5]);
  assert.is(first?.half, second?.half, 'they are one transaction');
  assert.is.not((await read(when)).at(0)?.half, first?.half, 'what comes later is another');
});

reads('do not fail because another one in the batch fails', async ({ read, pool }) => {
  const outcomes = await Promise.allSettled([read(half(2)), read(half(1, 0)), read(half(6))]);

  assert.equal(
    outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value[0]?.half : String(outcome.reason),
    ),
    [1, 'error: division by zero', 3],
  );
  assert.is((await read(half(14)))[0]?.half, 7);
  assert.is(pool.totalCount, 1);
});

reads('all fail when their connection is lost, and the next have another', async ({ read, pool }) => {
  const [row] = await read(half(2));
  const ended = query('select pg_terminate_backend($1::int), pg_sleep(1)', [row?.pid]);
  const outcomes = await Promise.allSettled([read(half(4)), read(ended), read(half(6))]);

  assert.equal(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.is((await read(half(8)))[0]?.half, 4);
  assert.is(pool.totalCount, 1);
});

reads('plan a statement with a list of keys only once', async ({ read, pool }) => {
  const ofKeys = (keys: string[]) => query('select from users where email = any($1::varchar[])', [keys]);
  for (let time = 0; time < 12; time += 1) await read(ofKeys([`${time}@x.test`]));
  const plans = 'select generic_plans, custom_plans from pg_prepared_statements where statement like $1';
  const { rows } = await pool.query(plans, ['%from users where email%']);

  // The first time it has no name yet.
  assert.equal(rows, [{ generic_plans: 11, custom_plans: 0 }]);
  const { rows: left } = await pool.query('show plan_cache_mode');
  assert.equal(left, [{ plan_cache_mode: 'auto' }], 'other statements are planned as ever');
});

reads('fail if the server does not answer in time', async ({ read }) => {
  const [outcome] = await Promise.allSettled([read(query('select pg_sleep(60)'))]);

  assert.match(String(outcome.status === 'rejected' && outcome.reason), /timeout/);
});

reads.run();
