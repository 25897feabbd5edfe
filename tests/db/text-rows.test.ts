import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as assert from 'uvu/assert';
import {
  createTextRowReader,
  decodeRow,
  type ReadTextRows,
  type Statement,
  type TextRow,
} from '../../src/db/text-rows.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase, createTestPool } from '../support/test-database.ts';

type Context = {
  pool: pg.Pool;
  readRows: ReadTextRows;
  read: (statement: Statement) => Promise<TextRow[]>;
  drop: () => Promise<void>;
};
const rows = suite<Context>('readTextRows');

rows.before(async (context) => {
  const { connection, drop } = await createTestDatabase('empty');
  // One connection: what a failure leaves behind meets the next query.
  context.pool = createTestPool(connection, { max: 1, limitMs: 2_000 });
  context.readRows = createTextRowReader(context.pool);
  context.read = async (statement) => {
    const found: TextRow[] = [];
    await context.readRows(statement, (row) => void found.push(decodeRow(row)));
    return found;
  };
  context.drop = drop;
});
rows.after(async ({ pool, drop }) => {
  await pool.end();
  await drop();
});

const numbers = (count: number) => ({
  sql: 'select n from generate_series(1, $1::int) as n',
  parameters: [count],
});
const failsWith = async (promise: Promise<unknown>, message: RegExp): Promise<void> => {
  const [outcome] = await Promise.allSettled([promise]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), message);
};
const canRead = async ({ read }: Context): Promise<void> => {
  assert.equal(await read(numbers(3)), [['1'], ['2'], ['3']]);
};

rows('returns every column as the text that PostgreSQL sends', async ({ read }) => {
  const sql = `select null::text, 'ä"\\'::text, true, 9007199254740993::int8, '{"a":  1}'::json, '{1,2}'::int4[],
    timestamptz '2026-11-21T12:00:00.1Z' at time zone 'UTC'`;
  const [row] = await read({ sql, parameters: [] });

  assert.equal(row, [null, 'ä"\\', 't', '9007199254740993', '{"a":  1}', '{1,2}', '2026-11-21 12:00:00.1']);
});

rows('leaves the values of other queries as they are', async ({ pool, read }) => {
  await read(numbers(1));
  const { rows: found } = await pool.query(`select n, n = 1 as first from generate_series(1, 2) as n`);

  assert.equal(found, [
    { n: 1, first: true },
    { n: 2, first: false },
  ]);
});

rows('fails with the error of the server and keeps the connection', async (context) => {
  const { read } = context;
  await failsWith(read({ sql: 'select no_such', parameters: [] }), /no_such/);
  const late = { sql: 'select 1 / (500 - n) from generate_series(1, 1000) as n', parameters: [] };
  await failsWith(read(late), /division by zero/);

  await canRead(context);
});

rows('fails with what the row handler throws, and the next read works', async (context) => {
  const failing = context.readRows(numbers(1_000), () => {
    throw new RangeError('a bad row');
  });

  await failsWith(failing, /a bad row/);
  await canRead(context);
});

rows('closes the connection to a server that does not answer in time', async (context) => {
  const hung = context.read({ sql: 'select pg_sleep(60)', parameters: [] });

  await failsWith(hung, /Query read timeout/);
  await sleep(0);
  await canRead(context);
});

rows('fails when the connection is lost, and the next read uses another one', async (context) => {
  const client = await context.pool.connect();
  const { rows: found } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  client.release();
  const other = new pg.Client(context.pool.options);
  await other.connect();
  const failing = failsWith(context.read({ sql: 'select pg_sleep(60)', parameters: [] }), /terminat/);
  await other.query('select pg_terminate_backend($1)', [found[0]?.pid]);
  await other.end();

  await failing;
  await canRead(context);
});

rows.run();
