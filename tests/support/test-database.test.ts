import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { createTestDatabase } from './test-database.ts';

const query = async (connection: Connection, statement: string) => {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
};

const test = suite('createTestDatabase');

test('makes databases that know nothing of each other, also at the same time', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);

  await query(one.connection, 'create table only_here (id int)');
  const found = await query(other.connection, `select to_regclass('only_here') as name`);
  await Promise.all([one.drop(), other.drop()]);

  assert.equal(found, [{ name: null }]);
});

test('makes databases that are migrated', async () => {
  const { connection, drop } = await createTestDatabase();

  const [counted] = await query(
    connection,
    `select count(*)::int as tables from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  await drop();

  assert.ok(counted.tables > 0);
});

test('drops a database that is still in use', async () => {
  const { connection, drop } = await createTestDatabase();
  const client = new Client(connection);
  client.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  await client.connect();

  await drop();
  await ended;

  const [gone] = await Promise.allSettled([query(connection, 'select 1')]);
  assert.is(gone.status === 'rejected' && gone.reason.code, '3D000');
});

test.run();
