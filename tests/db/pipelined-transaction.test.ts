import { CompiledQuery } from 'kysely';
import type pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { problemOfDatabaseError } from '../../src/db/database-errors.ts';
import { createTransactions, type Transact } from '../../src/db/pipelined-transaction.ts';
import { until } from '../support/poll.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestPool } from '../support/test-pool.ts';

type Context = { pool: pg.Pool; other: pg.Pool; transact: Transact; drop: () => Promise<void> };
const transactions = suite<Context>('transactions of few steps');

transactions.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next transaction.
  context.pool = createTestPool(connection, { max: 1 });
  context.other = createTestPool(connection);
  context.transact = createTransactions(context.pool, { limitMs: 2_000 });
  context.drop = drop;
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

transactions('answer the rows of each statement, which sees what was done before', async (context) => {
  const [, before, , after] = await context.transact(({ send }) => send([add(1), all, add(2), all]));

  assert.equal(before, [{ mark: 1 }]);
  assert.equal(after, [{ mark: 1 }, { mark: 2 }]);
  assert.equal(await marksOf(context), [1, 2]);
});

transactions('read values as queries do, the first time and every time', async ({ transact, pool }) => {
  const text = `select '2026-01-02T03:04:05.678Z'::timestamptz as at, null::int as nothing, array['a', null] as texts,
    '{"a": 1}'::json as json, true as flag, 'é"\\' as text`;
  const statement = CompiledQuery.raw(text);
  const [plain] = (await pool.query(text)).rows;
  const [[first], [second]] = await transact(({ sendLast }) => sendLast([statement, statement]));
  const [[third]] = await transact(({ send }) => send([statement]));

  for (const row of [first, second, third]) assert.equal(row, plain);
});

transactions('are invisible to others until the commit', async (context) => {
  await context.transact(async ({ send, sendLast }) => {
    await send([add(1)]);
    assert.equal(await marksOf(context), []);
    await sendLast([add(2)]);
    assert.equal(await marksOf(context), [1, 2]);
  });
});

transactions('run nothing after a statement that fails, and take all back', async (context) => {
  await failsWith(
    context.transact(({ sendLast }) => sendLast([add(1), add(1), add(2)])),
    /duplicate key/,
  );
  assert.equal(await marksOf(context), []);

  await context.transact(({ sendLast }) => sendLast([add(3)]));
  assert.equal(await marksOf(context), [3]);
});

transactions('are taken back by what is thrown between the steps', async (context) => {
  const work = context.transact(async ({ send }) => {
    await send([add(1)]);
    throw new Error('changed my mind');
  });
  await failsWith(work, /changed my mind/);
  assert.equal(await marksOf(context), []);
  assert.is(context.pool.idleCount, 1, 'the connection is as good as before');
});

transactions('send nothing where a value cannot be sent', async (context) => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  await failsWith(
    context.transact(({ send }) => send([add(circular)])),
    /circular/,
  );
  await context.transact(({ send }) => send([add(4)]));
  assert.equal(await marksOf(context), [4]);
});

transactions('accept no statements after the commit', async (context) => {
  const work = context.transact(async ({ send, sendLast }) => {
    await sendLast([add(1)]);
    await send([add(2)]);
  });
  await failsWith(work, /the transaction is over/);
  assert.equal(await marksOf(context), [1]);
});

transactions('read, behind a lock that they waited for, what its holder has left', async (context) => {
  await context.other.query('insert into marks values (1)');
  const holder = await context.other.connect();
  await holder.query('begin; update marks set mark = 1 where mark = 1; insert into marks values (2)');
  const lock = CompiledQuery.raw('select 1 from marks where mark = 1 for update');
  const waiting = context.transact(({ sendLast }) => sendLast([lock, all]));
  await until('it waits for the lock', async () => {
    const waits = "select from pg_stat_activity where wait_event_type = 'Lock'";
    return (await context.other.query(waits)).rowCount === 1;
  });
  await holder.query('commit');
  holder.release();

  assert.equal((await waiting)[1], [{ mark: 1 }, { mark: 2 }]);
});

transactions('fail when their connection is lost, and the next has another', async (context) => {
  const own = CompiledQuery.raw('select pg_backend_pid() as pid') as CompiledQuery<{ pid: number }>;
  const work = context.transact(async ({ send, sendLast }) => {
    const [, [row]] = await send([add(1), own]);
    await context.other.query('select pg_terminate_backend($1)', [row?.pid]);
    await sendLast([add(2)]);
  });
  const [outcome] = await Promise.allSettled([work]);
  // Its words depend on who notices first: the server, the socket or `pg`.
  assert.is(
    problemOfDatabaseError(outcome.status === 'rejected' && outcome.reason)?.code,
    'database-unavailable',
  );
  assert.equal(await marksOf(context), []);

  await context.transact(({ sendLast }) => sendLast([add(5)]));
  assert.equal(await marksOf(context), [5]);
});

transactions('cut a server off that does not answer in time', async (context) => {
  const impatient = createTransactions(context.pool, { limitMs: 50 });
  await failsWith(
    impatient(({ send }) => send([CompiledQuery.raw('select pg_sleep(60)')])),
    /timeout/,
  );
  await context.transact(({ sendLast }) => sendLast([add(6)]));
  assert.equal(await marksOf(context), [6]);
});

transactions.run();
