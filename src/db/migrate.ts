import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type LockMode, type Locks, MIGRATIONS, type MigrationSet } from '../../migrations/index.ts';
import type { Connection } from '../config/connection.ts';
import { openClient, openUnlimitedSession, tryAdvisoryLock, withoutLimits } from './client.ts';
import { type Orm, openDatabase } from './database.ts';
import { IncompatibleDatabase, isLockTimeout, UnfinishedRestore } from './database-errors.ts';

/** An arbitrary number that all instances share. */
export const MIGRATION_LOCK = 7_305_130_501;
const LOCK_RETRY_MS = 200;

export const MIGRATIONS_TABLE = 'mikro_orm_migrations';

/** Exists from the first write of a restore until its rows are committed. */
export const RESTORE_TABLE = 'restore_in_progress';

type MigrateOptions = {
  migrations?: MigrationSet;
  /** The last migration to apply. */
  to?: string | undefined;
  /** Restores migrate the database that they fill. */
  isRestore?: boolean;
};

/**
 * Applies the pending migrations. The migrator takes no lock, so an advisory lock on a separate connection serializes instances that start
 * at the same time. It is a transaction-level lock: behind a pooler, a session-level lock would outlive the client.
 * @returns the names of the applied migrations
 * @throws IncompatibleDatabase, UnfinishedRestore
 */
export const migrateDatabase = async (
  connection: Connection,
  { migrations = MIGRATIONS, to, isRestore = false }: MigrateOptions = {},
): Promise<string[]> => {
  await using client = await openClient(connection, 'migrate');
  const readPending = async () => {
    const pending = await pendingMigrations(client, migrations, isRestore);
    return to === undefined || pending.includes(to) ? pending : [];
  };
  for (;;) {
    // Usually nothing is pending, which needs neither the lock nor a pool.
    if ((await readPending()).length === 0) return [];
    await using lock = await tryAdvisoryLock(connection, 'migrate', MIGRATION_LOCK);
    if (lock) {
      // Checked again under the lock, because a restore may have begun meanwhile.
      const before = await readPending();
      if (before.length > 0) await runMigrations(connection, migrations, to);
      const { applied } = await readSchemaState(client);
      return before.filter((name) => applied?.includes(name));
    }
    // Polls: a waiting transaction would occupy a connection of the pooler that the migrating instance needs.
    await sleep(LOCK_RETRY_MS);
  }
};

/**
 * For one table. With five tables, still shorter than PostgreSQL's `deadlock_timeout` of a second. While other versions serve requests, a
 * migration that waits for its locks gives up, so that the requests behind it continue. In a deadlock, PostgreSQL could end a request
 * instead.
 */
export const LOCK_TIMEOUT_MS = 150;
const GIVE_WAY_MS = 500;

/** Statements have no time limit: building the index of a large table takes long. */
const runMigrations = async (
  connection: Connection,
  migrations: MigrationSet,
  to?: string,
): Promise<void> => {
  const loaded = await migrations.load();
  await using orm = await openDatabase(withoutLimits(connection, LOCK_TIMEOUT_MS), null, loaded);
  // If a lock is not available, the migrations before it stay applied.
  const applyAll = () =>
    orm.migrator.up(to === undefined ? {} : { to }).catch((error: unknown) => {
      if (!isLockTimeout(error)) throw error;
      return null;
    });
  while ((await applyAll()) === null) await sleep(GIVE_WAY_MS);
};

/** @returns the applied migrations in order; null if the database was never migrated */
export const readSchemaState = async (client: pg.ClientBase) => {
  const { rows } = await client.query<{ isMigrated: boolean; isRestoring: boolean }>(
    `select to_regclass($1) is not null as "isMigrated", to_regclass($2) is not null as "isRestoring"`,
    [MIGRATIONS_TABLE, RESTORE_TABLE],
  );
  const { isMigrated = false, isRestoring = false } = rows[0] ?? {};
  if (!isMigrated) return { isRestoring, applied: null };
  const migrated = await client.query<{ name: string }>(`select name from ${MIGRATIONS_TABLE} order by id`);
  return { isRestoring, applied: migrated.rows.map(({ name }) => name) };
};

/** The pending migrations, and the applied migrations that this version does not know. */
export const compareMigrations = (applied: readonly string[], { names }: MigrationSet = MIGRATIONS) => ({
  pending: names.filter((name) => !applied.includes(name)),
  unknown: applied.filter((name) => !names.includes(name)),
});

/**
 * The migrations that a start would apply. A newer version may have applied more: its migrations keep this version working.
 * @throws IncompatibleDatabase if there are unknown migrations while known ones are pending, UnfinishedRestore
 */
const pendingMigrations = async (
  client: pg.ClientBase,
  migrations: MigrationSet,
  isRestore = false,
): Promise<string[]> => {
  const { applied, isRestoring } = await readSchemaState(client);
  if (isRestoring && !isRestore) throw new UnfinishedRestore();
  const { pending, unknown } = compareMigrations(applied ?? [], migrations);
  if (pending.length > 0 && unknown[0] !== undefined) throw new IncompatibleDatabase(unknown[0]);
  return pending;
};

/**
 * Whether all migrations of this version have run and the server accepts writes.
 * @param limitMs the time after which `pg` closes the connection; this also replaces other connections that the network has cut
 * @throws if the database is unavailable
 */
export const isReady = async ({ pool }: Orm, limitMs: number): Promise<boolean> => {
  const text = `select count(*) as count, current_setting('transaction_read_only')::bool as is_read_only from ${MIGRATIONS_TABLE}`;
  // The declared type of a query has no timeout.
  const query = { text, query_timeout: limitMs };
  const { rows } = await pool.query<{ count: number; is_read_only: boolean }>(query);
  const [state] = rows;
  return (state?.count ?? 0) >= MIGRATIONS.names.length && !state?.is_read_only;
};

type LockedTable = { table: string; mode: LockMode; rows: number; bytes: number };

export type MigrationPreview = { name: string; locks: LockedTable[] };

/**
 * Lists the pending migrations and their locks, without applying them.
 * @throws IncompatibleDatabase, UnfinishedRestore
 */
export const previewMigrations = async (
  connection: Connection,
  migrations = MIGRATIONS,
): Promise<MigrationPreview[]> => {
  await using client = await openUnlimitedSession(connection);
  const pending = await pendingMigrations(client, migrations);
  const previews: MigrationPreview[] = [];
  for (const { name, locks } of await migrations.load())
    if (pending.includes(name)) previews.push({ name, locks: await describeLocks(client, locks) });
  return previews;
};

const describeLocks = async (client: pg.ClientBase, locks: Locks): Promise<LockedTable[]> => {
  const described: LockedTable[] = [];
  for (const [table, mode] of Object.entries(locks)) {
    const { rows } = await client.query<{ rows: number; bytes: number }>(
      `select coalesce(sum(greatest(reltuples, 0)), 0)::float8 as rows,
        coalesce(sum(pg_total_relation_size(oid)), 0)::float8 as bytes
      from pg_class where oid = to_regclass($1) or oid in (select relid from pg_partition_tree(to_regclass($1)))`,
      [table],
    );
    // A table that an earlier pending migration creates is empty.
    described.push({ table, mode, ...(rows[0] ?? { rows: 0, bytes: 0 }) });
  }
  return described;
};
