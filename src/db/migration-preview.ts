import type pg from 'pg';
import { type LockMode, migrations } from '../../migrations/index.ts';
import type { Connection } from '../config/connection.ts';
import { Problem } from '../lib/problems.ts';
import { openUnlimitedSession, withoutLimits } from './client.ts';
import { type Orm, openDatabase } from './database.ts';
import { isLockTimeout } from './database-errors.ts';
import { pendingMigrations } from './migrate.ts';

type LockedTable = { table: string; mode: LockMode; rows: number; bytes: number };

/** `ms` is null if it was not measured. */
export type MigrationPreview = { name: string; locks: LockedTable[]; ms: number | null };

/** A lock that is not granted soon would make all later requests wait behind it. */
const LOCK_TIMEOUT_MS = 3_000;

/**
 * Lists the pending migrations without applying them.
 * @param isMeasured runs them in a transaction that is rolled back. Until then, it holds their locks.
 * @throws IncompatibleDatabase, UnfinishedRestore, Problem `overloaded` if a lock is not granted
 */
export const previewMigrations = async (
  connection: Connection,
  { isMeasured }: { isMeasured: boolean },
): Promise<MigrationPreview[]> => {
  await using client = await openUnlimitedSession(connection);
  const names = await pendingMigrations(client);
  const times = isMeasured ? await measure(connection, names) : new Map<string, number>();
  const previews: MigrationPreview[] = [];
  for (const name of names)
    previews.push({ name, locks: await describeLocks(client, name), ms: times.get(name) ?? null });
  return previews;
};

const describeLocks = async (client: pg.ClientBase, name: string): Promise<LockedTable[]> => {
  const locks: LockedTable[] = [];
  for (const [table, mode] of Object.entries(migrations.find((known) => known.name === name)?.locks ?? {})) {
    const { rows } = await client.query<{ rows: number; bytes: number }>(
      `select coalesce(sum(greatest(reltuples, 0)), 0)::float8 as rows,
        coalesce(sum(pg_total_relation_size(oid)), 0)::float8 as bytes
      from pg_class where oid = to_regclass($1) or oid in (select relid from pg_partition_tree(to_regclass($1)))`,
      [table],
    );
    // A table that an earlier pending migration creates is empty.
    locks.push({ table, mode, ...(rows[0] ?? { rows: 0, bytes: 0 }) });
  }
  return locks;
};

const measure = async (connection: Connection, names: readonly string[]): Promise<Map<string, number>> => {
  const times = new Map<string, number>();
  await using orm = await openDatabase(withoutLimits(connection, LOCK_TIMEOUT_MS), null);
  const client = await orm.pool.connect();
  try {
    await client.query('begin');
    for (const name of names) {
      const started = performance.now();
      for (const statement of statementsOf(orm, name)) await client.query(statement);
      times.set(name, performance.now() - started);
    }
    return times;
  } catch (cause) {
    if (!isLockTimeout(cause)) throw cause;
    const detail = `A table is in use: its lock was not granted within ${LOCK_TIMEOUT_MS / 1000} s. Try again when no long transaction is running, or without --measure.`;
    throw new Problem('overloaded', { detail, cause });
  } finally {
    // Ends the transaction too.
    client.release(true);
  }
};

/** The SQL of a migration. */
export const statementsOf = (orm: Orm, name: string): string[] => {
  const found = migrations.find((known) => known.name === name);
  if (!found) throw new Error(`There is no migration ${name}.`);
  const migration = new found.class(orm.em.getDriver(), orm.config);
  migration.up();
  return migration.getQueries().map(String);
};
