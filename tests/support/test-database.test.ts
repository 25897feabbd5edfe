import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTestDatabase } from './test-database.ts';
import { queryOnce } from './test-server.ts';

const test = suite('createTestDatabase');

test('makes independent databases, also concurrently', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);

  await queryOnce(one.connection, 'create table only_here (id int)');
  const found = await queryOnce(other.connection, `select to_regclass('only_here') as name`);
  await Promise.all([one.drop(), other.drop()]);

  assert.equal(found, [{ name: null }]);
});

test('makes migrated databases', async () => {
  const { connection, drop } = await createTestDatabase();

  const rows = await queryOnce(
    connection,
    `select count(*)::int as tables from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  await drop();

  assert.ok(Number(rows[0]?.tables) > 0);
});

test('drops a database that is still in use', async () => {
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

test.run();
