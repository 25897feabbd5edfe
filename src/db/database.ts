import { setTimeout as sleep } from 'node:timers/promises';
import { MikroORM } from '@mikro-orm/postgresql';
import type pg from 'pg';
import { migrations } from '../../migrations/index.ts';
import { ormConfig } from '../../mikro-orm.config.ts';
import type { Connection } from '../config/connection.ts';
import { IncompatibleDatabase, isLockTimeout } from './database-errors.ts';
import { createPool } from './pool.ts';
import { MIGRATIONS_TABLE, readMigrations, readSchemaState, UnfinishedRestore } from './schema-state.ts';
import { createClient, UNLIMITED } from './single-client.ts';

/** An arbitrary number that all instances share. */
export const MIGRATION_LOCK = 7_305_130_501;
const LOCK_RETRY_MS = 200;

/** Opens a pool, and checks that the server answers. `close` closes both. */
export const openDatabase = async (connection: Connection, queryLimitMs?: number | null) => {
  const pool = createPool(connection, queryLimitMs);
  const orm = await MikroORM.init(ormConfig(pool));
  await pool.query('select 1');
  return Object.assign(orm, { pool });
};

export type Orm = Awaited<ReturnType<typeof openDatabase>>;

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
  const lock = createClient(connection, 'migrate');
  await lock.connect();
  try {
    for (;;) {
      // Usually nothing is pending, which needs neither the lock nor a pool.
      if (await hasAllMigrations(lock, options)) return [];
      // Looks again with the lock, because a restore may have begun in between.
      if (await tryMigrationLock(lock))
        return (await hasAllMigrations(lock, options)) ? [] : await runMigrations(connection, options.to);
      // Polls, because a waiting transaction would occupy a pooler's connection that the migrating instance needs.
      await lock.query('rollback');
      await sleep(LOCK_RETRY_MS);
    }
  } finally {
    await lock.end();
  }
};

const tryMigrationLock = async (client: pg.Client): Promise<boolean> => {
  await client.query('begin');
  await client.query('set local idle_in_transaction_session_timeout = 0');
  const { rows } = await client.query('select pg_try_advisory_xact_lock($1) as "isHeld"', [MIGRATION_LOCK]);
  return rows[0]?.isHeld === true;
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
