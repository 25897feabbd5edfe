import { Client } from 'pg';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { suite } from '../support/suite.ts';
import { administer } from '../support/test-server.ts';

type Server = Awaited<ReturnType<typeof startExternalDatabase>>;

const migration = suite<{ server: Server }>('migrations: index for the search of users');

migration.before(async (context) => {
  context.server = await startExternalDatabase();
});
migration.after(({ server }) => server[Symbol.asyncDispose]());

const hasIndex = async (connection: Connection): Promise<boolean> => {
  const client = new Client(connection);
  await client.connect();
  const { rowCount } = await client.query(`select from pg_class where relname = 'users_search'`);
  await client.end();
  return rowCount === 1;
};

migration('is created if pg_trgm can be installed', async ({ server }) => {
  const { connection } = await server.makeDatabase();
  await migrateDatabase(connection);

  assert.ok(await hasIndex(connection));
});

migration('is created if pg_trgm is installed in another schema', async ({ server }) => {
  const { connection } = await server.makeDatabase();
  await administer(connection, 'create schema "Extensions"', 'create extension pg_trgm schema "Extensions"');
  await migrateDatabase(connection);

  assert.ok(await hasIndex(connection));
});

migration('is skipped if pg_trgm must not be installed', async ({ server }) => {
  const { connection } = await server.makeDatabase();
  await administer(
    // The role of the service must not create roles.
    { ...connection, user: 'postgres' },
    `create role tenant login password 'tenant'`,
    'grant create on schema public to tenant',
  );
  const names = await migrateDatabase({ ...connection, user: 'tenant', password: 'tenant' });

  assert.ok(names.includes('0001-schema'));
  assert.not.ok(await hasIndex(connection));
});

migration.run();
