import type pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { migrations } from '../../migrations/index.ts';
import type { Connection } from '../../src/config/connection.ts';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { type Orm, openDatabase } from '../../src/db/database.ts';
import { migrateDatabase, previewMigrations } from '../../src/db/migrate.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { administer } from '../support/test-server.ts';

const previews = suite('migration preview');

/** A database with the migrations up to one, or none. */
const createOlder = async (to?: string) => {
  const database = await createTestDatabase();
  await administer(database.connection, 'drop schema public cascade', 'create schema public');
  if (to !== undefined) await migrateDatabase(database.connection, { to });
  return database;
};

/** The SQL of a migration. */
const statementsOf = (orm: Orm, { class: MigrationClass }: (typeof migrations)[number]): string[] => {
  const migration = new MigrationClass(orm.em.getDriver(), orm.config);
  migration.up();
  return migration.getQueries().map(String);
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

previews('states the locks that each migration takes on existing tables', async () => {
  const { connection, drop } = await createOlder();
  const client = await openUnlimitedSession(connection);
  const orm = await openDatabase(connection);
  const observed: Record<string, unknown> = {};

  for (const migration of migrations)
    observed[migration.name] = await observeLocks(client, statementsOf(orm, migration));
  await orm.close(true);
  await client.end();
  await drop();

  assert.equal(observed, Object.fromEntries(migrations.map(({ name, locks }) => [name, locks])));
});

previews('lists what is pending with sizes, without applying it', async () => {
  const { connection, drop } = await createOlder('0007-erasures');

  const listed = await previewMigrations(connection);
  const applied = await appliedOf(connection);
  const then = await migrateDatabase(connection);
  const complete = await previewMigrations(connection);
  await drop();

  const [first] = listed;
  assert.is(first?.name, '0008-mail-trace-context');
  assert.equal(
    first?.locks.map(({ table, mode }) => ({ table, mode })),
    [{ table: 'outbox_mails', mode: 'ACCESS EXCLUSIVE' }],
  );
  assert.ok((first?.locks[0]?.bytes ?? 0) > 0);
  assert.is(applied.at(-1), '0007-erasures');
  assert.equal(
    then,
    listed.map(({ name }) => name),
  );
  assert.equal(complete, []);
});

previews('lists all migrations for an empty database', async () => {
  const { connection, drop } = await createOlder();

  const listed = await previewMigrations(connection);
  await drop();

  assert.equal(
    listed.map(({ name }) => name),
    migrations.map(({ name }) => name),
  );
});

previews.run();
