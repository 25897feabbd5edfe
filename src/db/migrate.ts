import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { migrations } from '../../migrations/index.ts';
import type { Connection } from '../config/connection.ts';
import { createClient, tryAdvisoryLock, UNLIMITED } from './client.ts';
import { type Orm, openDatabase } from './database.ts';
import { IncompatibleDatabase, isLockTimeout, UnfinishedRestore } from './database-errors.ts';

/** An arbitrary number that all instances share. */
export const MIGRATION_LOCK = 7_305_130_501;
const LOCK_RETRY_MS = 200;

export const MIGRATIONS_TABLE = 'mikro_orm_migrations';

/** Exists from the first write of a restore until its rows are committed. */
export const RESTORE_TABLE = 'restore_in_progress';

type MigrateOptions = {
  /** The last migration to apply. */
  to?: string | undefined;
  /** Restores migrate the database that they fill. */
  isRestore?: boolean;
};

/**
 * Applies the pending migrations. The migrator takes no lock, so instances that start at the same time are serialized by an
 * advisory lock on a separate connection. It is a transaction-level lock: behind a pooler, a session-level lock would outlive
 * the client.
 * @throws IncompatibleDatabase, UnfinishedRestore
 */
export const migrateDatabase = async (
  connection: Connection,
  options: MigrateOptions = {},
): Promise<string[]> => {
  const client = createClient(connection, 'migrate');
  await client.connect();
  try {
    for (;;) {
      // Usually nothing is pending, which needs neither the lock nor a pool.
      if (await hasAllMigrations(client, options)) return [];
      await using lock = await tryAdvisoryLock(connection, 'migrate', MIGRATION_LOCK);
      // Looks again with the lock, because a restore may have begun in between.
      if (lock)
        return (await hasAllMigrations(client, options)) ? [] : await runMigrations(connection, options.to);
      // Polls, because a waiting transaction would occupy a pooler's connection that the migrating instance needs.
      await sleep(LOCK_RETRY_MS);
    }
  } finally {
    await client.end();
  }
};

/**
 * Shorter than PostgreSQL's `deadlock_timeout` of a second. While other versions serve requests, a migration that waits for a lock
 * gives way, together with the requests that wait behind it; in a deadlock, PostgreSQL could end a request instead.
 */
const LOCK_TIMEOUT_MS = 500;
const GIVE_WAY_MS = 500;

/** A statement may take as long as it needs: building the index of a large table does. */
const runMigrations = async (connection: Connection, to?: string): Promise<string[]> => {
  const options = [connection.startupOptions ?? '', UNLIMITED, `-c lock_timeout=${LOCK_TIMEOUT_MS}`];
  const orm = await openDatabase({ ...connection, startupOptions: options.join(' ').trim() }, null);
  const pending = async () => (await orm.migrator.getPending()).map(({ name }) => name);
  try {
    const before = await pending();
    while (!(await appliesAll(orm, to))) await sleep(GIVE_WAY_MS);
    const after = await pending();
    return before.filter((name) => !after.includes(name));
  } finally {
    await orm.close(true);
  }
};

/** False if a lock was not free: the migrations before it stay applied. */
const appliesAll = async (orm: Orm, to: string | undefined): Promise<boolean> => {
  try {
    await orm.migrator.up(to === undefined ? {} : { to });
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
};

export const readSchemaState = async (
  client: pg.ClientBase,
): Promise<{ isMigrated: boolean; isRestoring: boolean }> => {
  const { rows } = await client.query<{ isMigrated: boolean; isRestoring: boolean }>(
    `select to_regclass($1) is not null as "isMigrated", to_regclass($2) is not null as "isRestoring"`,
    [MIGRATIONS_TABLE, RESTORE_TABLE],
  );
  const [state] = rows;
  if (!state) throw new Error('A query without a table returns one row.');
  return state;
};

/** The applied migrations, in their order. */
export const readMigrations = async (client: pg.ClientBase): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by id`);
  return rows.map(({ name }) => name);
};

/**
 * The pending migrations, and the applied ones of another version. Null if no migration was ever applied.
 */
export const readMigrationLevel = async (client: pg.ClientBase) => {
  if (!(await readSchemaState(client)).isMigrated) return null;
  const applied = new Set(await readMigrations(client));
  const known = migrations.map(({ name }) => name);
  return {
    pending: known.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.includes(name)),
  };
};

/**
 * A newer version may have applied more: its migrations keep this version working.
 * @throws IncompatibleDatabase if there are unknown migrations while known ones are pending, UnfinishedRestore
 */
const hasAllMigrations = async (
  client: pg.Client,
  { to, isRestore = false }: MigrateOptions,
): Promise<boolean> => {
  if (!isRestore && (await readSchemaState(client)).isRestoring) throw new UnfinishedRestore();
  const level = await readMigrationLevel(client);
  if (level === null) return false;
  if (to !== undefined && !level.pending.includes(to)) return true;
  return pendingOf(level).length === 0;
};

const pendingOf = ({ pending, unknown: [unknown] }: { pending: string[]; unknown: string[] }): string[] => {
  if (pending.length > 0 && unknown !== undefined) throw new IncompatibleDatabase(unknown);
  return pending;
};

/**
 * The migrations that a start would apply.
 * @throws IncompatibleDatabase, UnfinishedRestore
 */
export const requireMigratable = async (client: pg.ClientBase): Promise<string[]> => {
  if ((await readSchemaState(client)).isRestoring) throw new UnfinishedRestore();
  const level = await readMigrationLevel(client);
  return level ? pendingOf(level) : migrations.map(({ name }) => name);
};

/**
 * Whether all migrations of this version have run and the server accepts writes.
 * @param limitMs after which `pg` closes the connection: others that the network has cut are then replaced as well
 * @throws if the database is unavailable
 */
export const isReady = async ({ pool }: Orm, limitMs: number): Promise<boolean> => {
  const text = `select count(*) as count, current_setting('transaction_read_only')::bool as is_read_only from ${MIGRATIONS_TABLE}`;
  // The declared type of a query has no timeout.
  const query = { text, query_timeout: limitMs };
  const { rows } = await pool.query<{ count: number; is_read_only: boolean }>(query);
  const [state] = rows;
  return (state?.count ?? 0) >= migrations.length && !state?.is_read_only;
};
