import argon2 from 'argon2';
import type { Client } from 'pg';
import type { Connection } from '../../src/config/connection.ts';
import { openClient } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { OperatorError } from '../../src/lib/errno.ts';
import { ensureMonths } from '../../src/services/usage/usage-months.ts';
import { rebuildUsage } from '../../src/services/usage/usage-writes.ts';
import { checkPlan, PASSWORD, type Plan, rowStatements } from './rows.ts';

/** Only an empty database may be filled. */
export class DatabaseNotEmpty extends OperatorError {}

/**
 * Migrates a database and fills it. PostgreSQL generates all rows in one transaction; rollups are computed afterwards.
 * @throws InvalidPlan, DatabaseNotEmpty
 */
export const fillDatabase = async (connection: Connection, plan: Plan): Promise<void> => {
  checkPlan(plan);
  await migrateDatabase(connection);
  await makePartitions(connection, plan);
  await using client = await openClient({ ...connection, startupOptions: '-c TimeZone=UTC' }, 'bench');
  await insertRows(client, plan);
  await computeRollups(connection, plan);
  // Sets hint bits and the visibility map, as in a database in use.
  await client.query('vacuum analyze');
};

const makePartitions = async (connection: Connection, { until, days }: Plan): Promise<void> => {
  await using orm = await openDatabase(connection);
  const dates = Array.from({ length: days }, (_, index) => new Date(until.getTime() - (index + 1) * DAY_MS));
  await orm.em.fork().transactional((tx) => ensureMonths(tx, dates));
};

const insertRows = async (client: Client, plan: Plan): Promise<void> => {
  await client.query('begin; lock table users, sites, usage_entries in exclusive mode');
  try {
    await requireEmpty(client);
    for (const statement of rowStatements(plan, await hashPassword())) await client.query(statement);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
};

/** Hashes like the service, but always with the same salt: the same plan gives the same rows. */
const hashPassword = (): Promise<string> =>
  argon2.hash(PASSWORD, {
    memoryCost: 19_456,
    timeCost: 2,
    parallelism: 1,
    salt: Buffer.from('steward-bench-salt'),
  });

const requireEmpty = async (client: Client): Promise<void> => {
  const { rows } = await client.query<{ is_filled: boolean }>(`
    select exists (select from users) or exists (select from sites) or exists (select from usage_entries) as is_filled`);
  if (rows[0]?.is_filled)
    throw new DatabaseNotEmpty('The database is not empty; nothing was changed. Use an empty database.');
};

/** Computes the rollups of all apps from the log, as of its end. */
const computeRollups = async (connection: Connection, { until }: Plan): Promise<void> => {
  await using orm = await openDatabase(connection);
  const apps = await kysely(orm.em.fork()).selectFrom('apps').select('id').orderBy('id').execute();
  for (const { id } of apps) await rebuildUsage(orm.em.fork(), id, until);
};
