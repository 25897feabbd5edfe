import { type Compilable, CompiledQuery } from 'kysely';
import * as assert from 'uvu/assert';
import { createRead } from '../../src/db/batched-reads.ts';
import { suiteWith } from '../support/suite.ts';
import { createTestDatabase, createTestPool } from '../support/test-database.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const start = async (started: AsyncDisposableStack) => {
  const { connection, drop } = await createTestDatabase('empty');
  started.defer(drop);
  // One connection: what a failure leaves behind meets the next read.
  const pool = createTestPool(connection, { max: 1 });
  started.defer(() => pool.end());
  return { connection, pool, read: createRead(pool) };
};
type Context = Awaited<ReturnType<typeof start>>;

const reads = suiteWith('reads by small statements', start);

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

reads('go together if they start in one tick, and each gets its own rows', async ({ read, pool }) => {
  const taken: unknown[] = [];
  const onAcquire = (client: unknown) => taken.push(client);
  pool.on('acquire', onAcquire);
  const [[four], [five]] = await Promise.all([read(half(8)), read(half(10))]);

  assert.equal([four?.half, five?.half], [4, 5]);
  assert.is(taken.length, 1, 'of one connection');
  assert.is((await read(half(12)))[0]?.half, 6);
  assert.is(taken.length, 2, 'what comes later is another batch');
  pool.off('acquire', onAcquire);
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

reads('fail if the server does not answer in time', async ({ connection }) => {
  const pool = createTestPool(connection, { max: 1, limitMs: 100 });
  const [outcome] = await Promise.allSettled([createRead(pool)(query('select pg_sleep(60)'))]);
  await pool.end();

  assert.match(String(outcome.status === 'rejected' && outcome.reason), /timeout/);
});

reads.run();
