import { type Compilable, CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { createRead, type Read } from '../../src/db/batched-reads.ts';
import { isAnyOf } from '../../src/db/kysely.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, createTestPool } from '../support/test-database.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

type Context = { connection: Connection; pool: pg.Pool; read: Read; drop: () => Promise<void> };
const reads = suite<Context>('reads by small statements');

reads.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next read.
  context.pool = createTestPool(connection, { max: 1 });
  context.read = createRead(context.pool);
  context.connection = connection;
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

/** Ends a session from another one, once it runs `pg_sleep`. */
const endWhileAsleep = async ({ connection }: Context, pid: number | undefined): Promise<void> => {
  const statement = `
    select pg_terminate_backend(pid) as "isEnded" from pg_stat_activity
    where pid = ${pid} and wait_event = 'PgSleep'`;
  await until('it sleeps', async () => (await queryOnce(connection, statement))[0]?.isEnded === true);
};

reads(
  'go together if they start in one event-loop tick, and each gets its own rows',
  async ({ read, pool }) => {
    const taken: unknown[] = [];
    const onAcquire = (client: unknown) => taken.push(client);
    pool.on('acquire', onAcquire);
    const [[four], [five]] = await Promise.all([read(half(8)), read(half(10))]);

    assert.equal([four?.half, five?.half], [4, 5]);
    assert.is(taken.length, 1, 'of one connection');
    assert.is((await read(half(12)))[0]?.half, 6);
    assert.is(taken.length, 2, 'what comes later is another batch');
    pool.off('acquire', onAcquire);
  },
);

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

reads('fail from the one that loses their connection, and the next have another', async (context) => {
  const { read, pool } = context;
  const [row] = await read(half(2));
  const outcomes = Promise.allSettled([read(half(4)), read(query('select pg_sleep(60)')), read(half(6))]);
  // Not by a statement of the batch: the server could then end the session while later ones are still being sent.
  await endWhileAsleep(context, row?.pid);

  assert.equal(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  );
  assert.is((await read(half(8)))[0]?.half, 4);
  assert.is(pool.totalCount, 1);
});

reads('plan a statement with a list of keys only a few times', async ({ read, pool }) => {
  const db = new Kysely<{ users: { email: string } }>({ dialect: new PostgresDialect({ pool }) });
  const ofKeys = (keys: string[]) =>
    db
      .selectFrom('users')
      .select('email')
      .where(isAnyOf('users.email', keys, 'varchar'));
  for (let time = 0; time < 12; time += 1) await read(ofKeys([`${time}@x.test`, 'y@x.test'].slice(time % 2)));
  const plans = 'select generic_plans, custom_plans from pg_prepared_statements where statement like $1';
  const { rows } = await pool.query(plans, ['%from "users" where%']);

  // The first time it has no name yet, and PostgreSQL compares five plans for the values with one for any.
  assert.equal(rows, [{ generic_plans: 6, custom_plans: 5 }]);
});

reads('fail if the server does not answer in time', async ({ connection }) => {
  const pool = createTestPool(connection, { max: 1, limitMs: 100 });
  const [outcome] = await Promise.allSettled([createRead(pool)(query('select pg_sleep(60)'))]);
  await pool.end();

  assert.match(String(outcome.status === 'rejected' && outcome.reason), /timeout/);
});

reads.run();
