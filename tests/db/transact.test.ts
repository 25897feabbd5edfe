import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { problemOfDatabaseError } from '../../src/db/database-errors.ts';
import { createRunPipeline, createTransact, type RunPipeline, type Transact } from '../../src/db/pipeline.ts';
import { until } from '../support/poll.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestPool } from '../support/test-pool.ts';

type Context = {
  connection: Connection;
  pool: pg.Pool;
  other: pg.Pool;
  runPipeline: RunPipeline;
  transact: Transact;
  drop: () => Promise<void>;
};
const transactions = suite<Context>('transact');

transactions.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next transaction.
  context.pool = createTestPool(connection, { max: 1 });
  context.other = createTestPool(connection);
  context.runPipeline = createRunPipeline(context.pool);
  context.transact = createTransact(context.runPipeline);
  Object.assign(context, { connection, drop });
});
transactions.before.each(async ({ other }) => {
  await other.query('drop table if exists marks; create table marks (mark int primary key)');
});
transactions.after(async ({ pool, other, drop }) => {
  await Promise.all([pool.end(), other.end()]);
  await drop();
});

type Mark = { mark: number };
const add = (mark: unknown) => CompiledQuery.raw('insert into marks values ($1)', [mark]);
const all = CompiledQuery.raw('select mark from marks order by mark') as CompiledQuery<Mark>;
const marksOf = async ({ other }: Context): Promise<number[]> =>
  (await other.query<Mark>('select mark from marks order by mark')).rows.map(({ mark }) => mark);
const failsWith = async (promise: Promise<unknown>, message: RegExp): Promise<void> => {
  const [outcome] = await Promise.allSettled([promise]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), message);
};

transactions(
  'returns the rows of each statement, which sees the changes of those before',
  async (context) => {
    const [, before, , after] = await context.transact([add(1), all, add(2), all]);

    assert.equal(before, [{ mark: 1 }]);
    assert.equal(after, [{ mark: 1 }, { mark: 2 }]);
    assert.equal(await marksOf(context), [1, 2]);
  },
);

transactions(
  'parses values as other queries do, also when a statement is repeated',
  async ({ transact, pool }) => {
    const text = `select '2026-01-02T03:04:05.678Z'::timestamptz as at, null::int as nothing, array['a', null] as texts,
    '{"a": 1}'::json as json, true as flag, 'é"\\' as text`;
    const statement = CompiledQuery.raw(text);
    const [plain] = (await pool.query(text)).rows;
    const [[first], [second]] = await transact([statement, statement]);
    const [[third]] = await transact([statement]);

    for (const row of [first, second, third]) assert.equal(row, plain);
  },
);

transactions('rolls back if a statement fails', async (context) => {
  await failsWith(context.transact([add(1), add(1), add(2)]), /duplicate key/);
  assert.equal(await marksOf(context), []);

  await context.transact([add(3)]);
  assert.equal(await marksOf(context), [3]);
});

transactions(
  'rolls back if a value cannot be serialized, and keeps the connection usable',
  async (context) => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await failsWith(context.transact([add(circular)]), /circular/);
    await context.transact([add(4)]);
    assert.equal(await marksOf(context), [4]);
  },
);

transactions('sees the changes of the transaction whose lock it waited for', async (context) => {
  await context.other.query('insert into marks values (1)');
  const holder = await context.other.connect();
  await holder.query('begin; update marks set mark = 1 where mark = 1; insert into marks values (2)');
  const lock = CompiledQuery.raw('select 1 from marks where mark = 1 for update');
  const waiting = context.transact([lock, all]);
  await until('it waits for the lock', async () => {
    const waits = "select from pg_stat_activity where wait_event_type = 'Lock'";
    return (await context.other.query(waits)).rowCount === 1;
  });
  await holder.query('commit');
  holder.release();

  assert.equal((await waiting)[1], [{ mark: 1 }, { mark: 2 }]);
});

transactions('fails if the connection is lost, and the next one has another', async (context) => {
  const end = CompiledQuery.raw('select pg_terminate_backend(pg_backend_pid())');
  const [outcome] = await Promise.allSettled([context.transact([add(1), end, add(2)])]);

  // The message depends on who notices first: the server, the socket or `pg`.
  const reason = outcome.status === 'rejected' && outcome.reason;
  assert.is(problemOfDatabaseError(reason)?.code, 'database-unavailable');
  assert.equal(await marksOf(context), []);
  await context.transact([add(5)]);
  assert.equal(await marksOf(context), [5]);
});

transactions('gives up a server that does not answer in time', async (context) => {
  const pool = createTestPool(context.connection, { max: 1, limitMs: 2_000 });
  const transact = createTransact(createRunPipeline(pool));

  await failsWith(transact([CompiledQuery.raw('select pg_sleep(60)')]), /timeout/);
  await transact([add(6)]);
  await pool.end();

  assert.equal(await marksOf(context), [6]);
});

transactions('commits all batches of a pipeline, each of which sees those before', async (context) => {
  const seen = await context.runPipeline(async ({ send, commit }) => {
    await send([add(1)]);
    await send([add(2)]);
    assert.equal(await marksOf(context), [], 'others do not see them yet');
    const [, rows] = await commit([add(3), all]);
    return rows;
  });

  assert.equal(seen, [{ mark: 1 }, { mark: 2 }, { mark: 3 }]);
  assert.equal(await marksOf(context), [1, 2, 3]);
});

const INCOMPLETE: [string, (context: Context) => Promise<unknown>, RegExp | null][] = [
  [
    'whose work fails',
    ({ runPipeline }) =>
      runPipeline(async ({ send }) => {
        await send([add(1)]);
        throw new Error('refused');
      }),
    /refused/,
  ],
  [
    'with a statement that fails in the last batch',
    ({ runPipeline }) =>
      runPipeline(async ({ send, commit }) => {
        await send([add(1)]);
        await commit([add(2), add(2)]);
      }),
    /duplicate key/,
  ],
  [
    'with a statement that fails before the last batch',
    ({ runPipeline }) =>
      runPipeline(async ({ send, commit }) => {
        await send([add(1), add(1)]);
        await commit([add(2)]);
      }),
    /duplicate key/,
  ],
  ['that does not commit', ({ runPipeline }) => runPipeline(({ send }) => send([add(1)])), null],
];

for (const [what, run, message] of INCOMPLETE)
  transactions(`rolls back a pipeline ${what}, and keeps the connection`, async (context) => {
    const backend = 'select pg_backend_pid() as pid';
    const before = (await context.pool.query(backend)).rows;
    if (message) await failsWith(run(context), message);
    else await run(context);

    assert.equal(await marksOf(context), []);
    assert.equal((await context.pool.query(backend)).rows, before);
    await context.transact([add(9)]);
    assert.equal(await marksOf(context), [9]);
  });

transactions('gives up the connection of a pipeline that is lost between batches', async (context) => {
  const run = context.runPipeline(async ({ send, commit }) => {
    const [[backend]] = await send([CompiledQuery.raw('select pg_backend_pid() as pid'), add(1)]);
    await context.other.query('select pg_terminate_backend($1)', [(backend as { pid: number }).pid]);
    await commit([add(2)]);
  });
  const [outcome] = await Promise.allSettled([run]);

  assert.is(
    problemOfDatabaseError(outcome.status === 'rejected' && outcome.reason)?.code,
    'database-unavailable',
  );
  assert.equal(await marksOf(context), []);
  await context.transact([add(10)]);
  assert.equal(await marksOf(context), [10]);
});

transactions.run();
