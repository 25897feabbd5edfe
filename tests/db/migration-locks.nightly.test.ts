import { join } from 'node:path';
import type pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MIGRATIONS, type MigrationSet, type Migrations, readMigrations } from '../../migrations/index.ts';
import { SUPERUSER } from '../../src/adapters/embedded-postgres/cluster.ts';
import type { Connection } from '../../src/config/connection.ts';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { type Orm, openDatabase } from '../../src/db/database.ts';
import { LOCK_TIMEOUT_MS, migrateDatabase, previewMigrations } from '../../src/db/migrate.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { administer } from '../support/test-server.ts';
import { until } from '../support/time.ts';

/** Two after the released ones. */
const NEW = readMigrations(join(import.meta.dirname, '../fixtures/migrations'));
const [ONE_TABLE = '', TWO_TABLES = ''] = NEW.names;
const LATER: MigrationSet = {
  names: [...MIGRATIONS.names, ...NEW.names],
  load: async () => [...(await MIGRATIONS.load()), ...(await NEW.load())],
};

const locks = suite('locks of migrations');

const createEmpty = async () => {
  const database = await createTestDatabase();
  await administer(database.connection, 'drop schema public cascade', 'create schema public');
  return database;
};

/** The SQL of a migration, without the locks that it takes first. */
const statementsOf = (orm: Orm, { class: MigrationClass }: Migrations[number]): string[] => {
  const migration = new MigrationClass(orm.em.getDriver(), orm.config);
  migration.up();
  return migration
    .getQueries()
    .map(String)
    .filter((statement) => !statement.startsWith('lock table'));
};

/** Weaker locks block neither readers nor writers. */
const WEAK = ['AccessShareLock', 'RowShareLock', 'RowExclusiveLock'];
/** From the weakest. */
const STRONG = [
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];

const toName = (mode: string): string =>
  mode
    .replace(/Lock$/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toUpperCase();

/** Runs a migration, and reads the strongest lock on each table from before. */
const observeLocks = async (client: pg.Client, statements: readonly string[]) => {
  const { rows: before } = await client.query<{ oid: number }>(
    `select oid::int from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`,
  );
  await client.query('begin');
  for (const statement of statements) await client.query(statement);
  const { rows } = await client.query<{ table: string; modes: string[] }>(
    `select relname as table, array_agg(mode) as modes from pg_locks join pg_class on pg_class.oid = relation
    where pid = pg_backend_pid() and relation = any($1) and mode <> all($2) group by relname order by relname`,
    [before.map(({ oid }) => oid), WEAK],
  );
  await client.query('commit');
  const strongest = (modes: string[]) => STRONG.findLast((mode) => modes.includes(mode)) ?? '';
  return Object.fromEntries(rows.map(({ table, modes }) => [table, toName(strongest(modes))]));
};

const appliedOf = async (connection: Connection): Promise<string[]> => {
  const client = await openUnlimitedSession(connection);
  const { rows } = await client.query<{ name: string }>('select name from mikro_orm_migrations order by id');
  await client.end();
  return rows.map(({ name }) => name);
};

locks('are those that each migration states on existing tables', async () => {
  const { connection, drop } = await createEmpty();
  const client = await openUnlimitedSession(connection);
  const orm = await openDatabase(connection);
  const observed: Record<string, unknown> = {};

  const migrations = await LATER.load();
  for (const migration of migrations)
    observed[migration.name] = await observeLocks(client, statementsOf(orm, migration));
  await orm.close(true);
  await client.end();
  await drop();

  assert.equal(
    observed,
    Object.fromEntries(migrations.map((migration) => [migration.name, migration.locks])),
  );
});

locks('lists what is pending with sizes, without applying it', async () => {
  const { connection, drop } = await createTestDatabase();

  const listed = await previewMigrations(connection, LATER);
  const applied = await appliedOf(connection);
  const then = await migrateDatabase(connection, { migrations: LATER });
  const complete = await previewMigrations(connection, LATER);
  await drop();

  const [first] = listed;
  assert.is(first?.name, ONE_TABLE);
  assert.equal(
    first?.locks.map(({ table, mode }) => ({ table, mode })),
    [{ table: 'outbox_mails', mode: 'ACCESS EXCLUSIVE' }],
  );
  assert.ok((first?.locks[0]?.bytes ?? 0) > 0);
  assert.equal(applied, MIGRATIONS.names);
  assert.equal(
    then,
    listed.map(({ name }) => name),
  );
  assert.equal(complete, []);
});

locks('makes no request of another version fail in a deadlock', async () => {
  // Only a superuser makes statements slow.
  await using server = await startExternalDatabase();
  const { connection } = await server.makeDatabase();
  await migrateDatabase(connection, { migrations: LATER, to: ONE_TABLE });
  await administer(
    { ...connection, user: SUPERUSER },
    `create function wait() returns event_trigger language plpgsql as $$ begin perform pg_sleep(0.8); end $$`,
    `create event trigger slow on ddl_command_end when tag in ('CREATE INDEX') execute function wait()`,
  );
  const request = await openUnlimitedSession(connection);
  await request.query('begin; lock table invitations in row exclusive mode');

  const migrating = migrateDatabase(connection, { migrations: LATER });
  await until('the migration has a lock on the mails, or waits for the invitations', async () => {
    const { rows } = await request.query(`
      select from pg_locks where pid <> pg_backend_pid() and mode = 'ShareLock'
        and (relation = 'outbox_mails'::regclass or relation = 'invitations'::regclass and not granted)`);
    return rows.length > 0;
  });
  const failure = await request
    .query('lock table outbox_mails in row exclusive mode')
    .then(() => null, String);
  await request.query('commit');
  const applied = await migrating;
  await request.end();

  assert.is(failure, null);
  assert.equal(applied, [TWO_TABLES]);
});

locks('waits for the locks of a migration shorter than PostgreSQL for a deadlock', async () => {
  for (const migration of await MIGRATIONS.load())
    assert.ok(Object.keys(migration.locks).length * LOCK_TIMEOUT_MS < 1_000);
});

locks.run();
