import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRowReader, type ReadRows, type RowsOf } from '../../src/db/row-cursor.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestPool } from '../support/test-pool.ts';

type Context = { pool: pg.Pool; read: ReadRows; drop: () => Promise<void> };
const rows = suite<Context>('rows as bytes');

rows.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next query.
  context.pool = createTestPool(connection, { max: 1 });
  context.read = createRowReader(context.pool, { limitMs: 2_000 });
  context.drop = drop;
});
rows.after(async ({ pool, drop }) => {
  await pool.end();
  await drop();
});

const numbers = { sql: 'select n::int4 from generate_series(1, $1::int) as n', parameters: [1_000] };
/** Keeps the first column of each row, as a number. */
const keeping = (found: number[], wanted: () => number = () => 100): RowsOf => ({
  wanted,
  onRow: (row) => {
    row.next();
    found.push(row.int());
  },
});
const failsWith = async (promise: Promise<unknown>, message: RegExp): Promise<void> => {
  const [outcome] = await Promise.allSettled([promise]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), message);
};
const isWell = async ({ read }: Context): Promise<void> => {
  const found: number[] = [];
  assert.is(await read({ ...numbers, parameters: [3] }, keeping(found)), true);
  assert.equal(found, [1, 2, 3]);
};

rows('come all, in lots, and say that there are no more', async (context) => {
  const found: number[] = [];
  const isWhole = await context.read(numbers, keeping(found));

  assert.is(isWhole, true);
  assert.is(found.length, 1_000);
  assert.is(found.at(-1), 1_000);
});

rows('stop where no more are wanted, and the connection is free', async (context) => {
  const found: number[] = [];
  const isWhole = await context.read(
    numbers,
    keeping(found, () => (found.length < 150 ? 75 : 0)),
  );

  assert.is(isWhole, false);
  assert.is(found.length, 150);
  await isWell(context);
});

rows('have their columns in binary form', async ({ read }) => {
  const statement = {
    sql: `select null::text, 'ä"\\'::text, true, false, -7::int4, 9007199254740991::int8, -9007199254740991::int8,
      timestamptz '2026-11-21T12:00:00.123Z', timestamptz '1815-12-10T00:00:00.001Z'`,
    parameters: [],
  };
  const seen: unknown[] = [];
  await read(statement, {
    wanted: () => 10,
    onRow: (row) => {
      seen.push(row.next());
      row.next();
      seen.push(row.bytes.toString('utf8', row.from, row.to));
      const rest = [
        () => row.isTrue(),
        () => row.isTrue(),
        () => row.int(),
        () => row.long(),
        () => row.long(),
        () => new Date(row.instantMs()).toISOString(),
        () => new Date(row.instantMs()).toISOString(),
      ];
      for (const read of rest) {
        row.next();
        seen.push(read());
      }
    },
  });

  assert.equal(seen, [
    false,
    'ä"\\',
    true,
    false,
    -7,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    '2026-11-21T12:00:00.123Z',
    '1815-12-10T00:00:00.001Z',
  ]);
});

rows('fail with what the server says, and the connection goes on', async (context) => {
  const found: number[] = [];
  const { read } = context;
  await failsWith(read({ sql: 'select no_such', parameters: [] }, keeping(found)), /no_such/);
  const late = { sql: 'select 1 / (500 - n) from generate_series(1, 1000) as n', parameters: [] };
  await failsWith(read(late, keeping(found)), /division by zero/);

  await isWell(context);
});

rows('fail with what their reader throws, and others are read', async (context) => {
  const thrown = context.read(numbers, {
    wanted: () => 100,
    onRow: () => {
      throw new RangeError('a bad row');
    },
  });

  await failsWith(thrown, /a bad row/);
  await isWell(context);
});

rows('leave the fields of other queries what they are', async ({ pool }) => {
  const { rows: found } = await pool.query(`select n, 'x' || n as x from generate_series(1, 3) as n`);
  assert.equal(
    found,
    [1, 2, 3].map((n) => ({ n, x: `x${n}` })),
  );
});

rows('of a server that no longer answers are given up, and so is the connection', async (context) => {
  const hung = context.read({ sql: 'select pg_sleep(60)', parameters: [] }, keeping([]));

  await failsWith(hung, /Query read timeout/);
  await sleep(0);
  await isWell(context);
});

rows('of a connection that is lost fail', async (context) => {
  const client = await context.pool.connect();
  const { rows: found } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  client.release();
  const other = new pg.Client(context.pool.options);
  await other.connect();
  const reading = context.read({ sql: 'select pg_sleep(60)', parameters: [] }, keeping([]));
  const failing = failsWith(reading, /terminat/);
  await other.query('select pg_terminate_backend($1)', [found[0]?.pid]);
  await other.end();

  await failing;
  await isWell(context);
});

rows.run();
