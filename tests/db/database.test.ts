import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { entities } from '../../entities/index.ts';
import { MIGRATIONS } from '../../migrations/index.ts';
import { openDatabase } from '../../src/db/database.ts';
import { BROKEN_CONSTRAINTS, IncompatibleDatabase } from '../../src/db/database-errors.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { startTestApp } from '../support/test-app.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { NOON } from '../support/time.ts';
import { logEntry, SALES } from '../support/usage.ts';

const database = suite('database');

database('has the schema of the entities after all migrations, with and without partitions', async () => {
  const app = await startTestApp();
  const fork = app.orm.em.fork();
  const leapDay = { ...logEntry(0), occurredAt: new Date('2020-02-29T23:59:59.999Z') };
  await writeUsage(fork, SALES, [leapDay], NOON);

  const drift = await app.orm.schema.getUpdateSchemaSQL();
  await app.close();

  assert.is(drift, '');
});

database('lists every entity', async () => {
  const { glob, readFile } = await import('node:fs/promises');
  const files = await Array.fromAsync(glob(`${import.meta.dirname}/../../entities/*.ts`));
  const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));

  assert.is(entities.length, sources.join('').match(/^export const \w+ = defineEntity\(/gm)?.length);
});

database('is migrated once if several instances start at the same time', async () => {
  const { connection, drop } = await createTestDatabase();
  const orm = await openDatabase(connection);
  await orm.em.execute('drop schema public cascade; create schema public');

  const applied = await Promise.all(Array.from({ length: 4 }, () => migrateDatabase(connection)));
  await orm.close();
  await drop();

  assert.equal(applied.flat().sort(), MIGRATIONS.names);
});

database('has at most one migration for each number, in their order', () => {
  const numbers = MIGRATIONS.names.map((name) => Number(name.slice(0, 4)));

  assert.equal(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  );
});

database('is not migrated if another version has applied unknown migrations', async () => {
  const { connection, drop } = await createTestDatabase();
  const orm = await openDatabase(connection);
  await orm.em.execute(`update mikro_orm_migrations set name = '0001-people' where name like '0001-%'`);

  const error = await migrateDatabase(connection).catch((refusal: unknown) => refusal);
  await orm.close();
  await drop();

  assert.instance(error, IncompatibleDatabase);
  assert.match(String(error), /has migration 0001-people, .* empty database/);
});

database('works with the migrations of a newer version', async () => {
  const { connection, drop } = await createTestDatabase();
  const orm = await openDatabase(connection);
  await orm.em.execute(`insert into mikro_orm_migrations (name) values ('9999-newer')`);

  const applied = await migrateDatabase(connection);
  await orm.close();
  await drop();

  assert.equal(applied, []);
});

database('rejects invalid rows by its constraints', async () => {
  const app = await startTestApp();
  const refuses = async (statement: string, constraint: RegExp) => {
    const error = await app.orm.em
      .fork()
      .execute(statement)
      .then(() => null)
      .catch((cause: unknown) => String(cause));
    assert.match(error ?? 'nothing was refused', constraint);
  };

  await refuses(`update users set email = 'ADA@acme.test' where id = 1`, /users_email_check/);
  await refuses(`update users set email = 'ada@acme.test' where id = 1`, /users_email_unique/);
  await refuses(`update users set profile_color = 'FFFFFF'`, /profile_color/);
  await refuses(`update clients set password_min_length = 129`, /password_min_length/);
  await refuses(`update apps set slug = 'No Slug' where slug = 'sales'`, /apps_slug_check/);
  await refuses(`insert into app_grants values (1, 'AAAAAAAA')`, /app_grants_app_id_foreign/);
  await refuses(`delete from clients where id = 1`, /clients/);
  await refuses(
    `insert into saved_filters values (1, 1, 'a0a91e46', 'a b', 'x', now(), now())`,
    /hash_check/,
  );
  await refuses(`insert into stacks values ('XYZ', 'zylTKNVx', 's', 'S')`, /stacks_id_check/);
  const invitation = `insert into invitations (client_id, email, key, inviter_id, date_invited, expires_at)
    values (1, 'x@y.test', md5(random()::text), 1, now(), now())`;
  await refuses(`${invitation}; ${invitation}`, /invitations_one_pending/);
  await app.close();
});

database('has every constraint that is translated into a field error', async () => {
  const { connection, drop } = await createTestDatabase();
  const orm = await openDatabase(connection);
  const rows: { name: string }[] = await orm.em.execute(`
    select conname as name from pg_constraint union select relname from pg_class where relkind = 'i'`);
  await orm.close();
  await drop();
  const names = new Set(rows.map((row) => row.name));

  assert.equal(
    Object.keys(BROKEN_CONSTRAINTS).filter((name) => !names.has(name)),
    [],
  );
});

database.run();
