import type pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession, tryAdvisoryLock } from '../db/client.ts';
import { MIGRATION_LOCK, RESTORE_TABLE, readSchemaState } from '../db/migrate.ts';
import { invalidInput } from '../lib/problems.ts';
import type { BackupHeader } from './backup-format.ts';
import { isEmptyDatabase } from './backup-tables.ts';

/** An arbitrary number. */
const RESTORE_LOCK = 7_305_130_504;

/**
 * Keeps other restores out of the database until it is disposed of, or the process ends.
 * @throws Problem `invalid-input` if another restore is running
 */
export const lockTarget = async (connection: Connection): Promise<AsyncDisposable> => {
  const lock = await tryAdvisoryLock(connection, 'restore', RESTORE_LOCK);
  if (!lock) throw invalidInput('Another restore into this database is running.');
  return lock;
};

/**
 * Marks an empty database as being restored, so that no service uses it before all rows are there. An interrupted restore
 * of the same migrations is continued: it has created tables, but committed no rows.
 * @param header null before the backup was read
 * @returns whether it was not marked before
 * @throws Problem `invalid-input` if the database is not empty
 */
export const claimTarget = async (client: pg.Client, header: BackupHeader | null): Promise<boolean> => {
  await client.query('begin');
  try {
    // A service that starts at the same time migrates before or after this, and is noticed or refuses to start.
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    const { isRestoring, applied } = await readSchemaState(client);
    if (isRestoring && header) requireSameMigrations(applied ?? [], header);
    if (!isRestoring) {
      if (!(await isEmptyDatabase(client)))
        throw invalidInput('The database is not empty: a backup is restored into an empty one.');
      await client.query(`create table ${RESTORE_TABLE} ()`);
    }
    await client.query('commit');
    return !isRestoring;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};

const requireSameMigrations = (applied: readonly string[], { migrations }: BackupHeader): void => {
  if (applied.every((name, index) => name === migrations[index])) return;
  throw invalidInput(
    'The restore of a backup with other migrations was interrupted here. Use another empty database or DATA_DIR.',
  );
};

/**
 * Claims a database before the backup is read.
 * @returns whether it was not claimed before
 * @throws Problem `invalid-input` if the database is not empty, or another restore is running
 */
export const reserveTarget = (connection: Connection): Promise<boolean> =>
  withTarget(connection, (client) => claimTarget(client, null));

/** Removes the mark of `reserveTarget`, before anything was restored. */
export const releaseTarget = async (connection: Connection): Promise<void> => {
  await withTarget(connection, (client) => client.query(RELEASE_TARGET));
};

const withTarget = async <T>(connection: Connection, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  await using _lock = await lockTarget(connection);
  await using client = await openUnlimitedSession(connection);
  return await work(client);
};

/** To be run in the transaction that commits the rows. */
export const RELEASE_TARGET = `drop table ${RESTORE_TABLE}`;
