import { TRPCError } from '@trpc/server';
import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { notFound, Problem } from '../../src/lib/problems.ts';
import { rejectsWith } from './rejects.ts';
import { createTestDatabase } from './test-database.ts';
import { queryOnce } from './test-server.ts';

const outcomeOf = async (promise: Promise<unknown>): Promise<string> => {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome.status === 'fulfilled' ? 'fulfilled' : outcome.reason.message;
};

const rejecting = suite('rejectsWith');

rejecting('returns the problem', async () => {
  const problem = notFound('user');

  assert.is(await rejectsWith(Promise.reject(problem), 'not-found'), problem);
});

rejecting('finds the problem that caused a TRPCError', async () => {
  const cause = new Problem('forbidden');

  assert.is(
    await rejectsWith(Promise.reject(new TRPCError({ code: 'FORBIDDEN', cause })), 'forbidden'),
    cause,
  );
});

rejecting('fails on another problem', async () => {
  const checked = rejectsWith(Promise.reject(notFound('user')), 'forbidden');

  assert.match(await outcomeOf(checked), 'Expected values to be strictly equal');
});

rejecting('fails on success', async () => {
  const checked = rejectsWith(Promise.resolve(1), 'not-found');

  assert.match(await outcomeOf(checked), 'it succeeded');
});

rejecting('rethrows any other error', async () => {
  const checked = rejectsWith(Promise.reject(new Error('a bug')), 'not-found');

  assert.is(await outcomeOf(checked), 'a bug');
});

rejecting.run();

const databases = suite('createTestDatabase');

databases('makes independent databases, also concurrently', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);

  await queryOnce(one.connection, 'create table only_here (id int)');
  const found = await queryOnce(other.connection, `select to_regclass('only_here') as name`);
  await Promise.all([one.drop(), other.drop()]);

  assert.equal(found, [{ name: null }]);
});

databases('makes migrated databases', async () => {
  const { connection, drop } = await createTestDatabase();

  const rows = await queryOnce(
    connection,
    `select count(*)::int as tables from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  await drop();

  assert.ok(Number(rows[0]?.tables) > 0);
});

databases('drops a database that is still in use', async () => {
  const { connection, drop } = await createTestDatabase();
  const client = new Client(connection);
  client.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  await client.connect();

  await drop();
  await ended;

  const [gone] = await Promise.allSettled([queryOnce(connection, 'select 1')]);
  assert.is(gone.status === 'rejected' && gone.reason.code, '3D000');
});

databases.run();
