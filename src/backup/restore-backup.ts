import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession } from '../db/client.ts';
import { openDatabase } from '../db/database.ts';
import { migrateDatabase } from '../db/migrate.ts';
import { RESTART_SEARCHES } from '../services/data-rights/erasure-work.ts';
import { ensureMonths } from '../services/usage/usage-months.ts';
import { readArchive } from './archive.ts';
import { type BackupHeader, PACKAGES_FOLDER, tableOf } from './backup-format.ts';
import { advanceSequences, quoted, readTables, summarizeTable, TEXT_SETTINGS } from './backup-tables.ts';
import type { CheckedBackup } from './check-backup.ts';
import { claimTarget, lockTarget, RELEASE_TARGET } from './restore-target.ts';

const decompress = promisify<Buffer, Buffer>(zstdDecompress);

type Options = {
  connection: Connection;
  /** Called when the database is marked as being restored. */
  onClaimed?: () => Promise<void>;
  publishPackage: (name: string, content: AsyncIterable<Buffer>) => Promise<void>;
  /** Called for each file with rows of a table. */
  onTable: (name: string) => void;
};

/**
 * Restores a checked backup into an empty database, and applies the migrations that it does not have yet. Services do not
 * start on the database before all rows are committed; after an interruption, the same restore can be run again.
 * @returns the tables of the backup that are not of Steward: operators added them, and no migration creates them
 * @throws Problem `invalid-input` if the database is not empty
 */
export const restoreBackup = async (
  source: Readable,
  checked: CheckedBackup,
  { connection, onClaimed, ...options }: Options,
): Promise<string[]> => {
  await using _lock = await lockTarget(connection);
  await using client = await openUnlimitedSession(connection);
  await claimTarget(client, checked.header);
  await onClaimed?.();
  await migrateDatabase(connection, { to: checked.header.migrations.at(-1), isRestore: true });
  await createMonths(connection, checked.header.months);
  const own = new Set((await readTables(client, true)).map(({ name }) => name));
  const tables = checked.header.tables.filter(({ name }) => own.has(name));
  await loadRows(source, checked, { client, tables, ...options });
  // Without statistics, the planner assumes small tables until autovacuum has read them.
  await client.query('analyze');
  await migrateDatabase(connection);
  return checked.header.tables.map(({ name }) => name).filter((name) => !own.has(name));
};

const createMonths = async (connection: Connection, days: readonly string[]): Promise<void> => {
  await using orm = await openDatabase(connection);
  const months = days.map((day) => new Date(day));
  await orm.em.fork().transactional((tx) => ensureMonths(tx, months));
};

type RowOptions = Pick<Options, 'publishPackage' | 'onTable'> & {
  client: pg.Client;
  tables: BackupHeader['tables'];
};

/**
 * Loads all rows in one transaction, and compares the tables with the snapshot.
 * @throws Error if they differ
 */
const loadRows = async (
  source: Readable,
  { header, manifest }: CheckedBackup,
  { client, tables, publishPackage, onTable }: RowOptions,
): Promise<void> => {
  await client.query('begin');
  try {
    await client.query(TEXT_SETTINGS);
    await readArchive(source, async (path, content) => {
      if (path.startsWith(PACKAGES_FOLDER))
        return publishPackage(path.slice(PACKAGES_FOLDER.length), content);
      const table = tables.find(({ name }) => name === tableOf(path));
      if (!table) return;
      onTable(table.name);
      const columns = table.columns.map(quoted).join(', ');
      const rows = client.query(copyFrom(`copy ${quoted(table.name)} (${columns}) from stdin`));
      await pipeline(Readable.from([await decompress(await buffer(content))]), rows);
    });
    for (const table of tables) {
      const { rows, checksum } = await summarizeTable(client, table);
      const expected = manifest.tables[table.name];
      if (rows !== expected?.rows || checksum !== expected.checksum)
        throw new Error(`The restored table ${table.name} differs from the snapshot: ${rows} rows.`);
    }
    await advanceSequences(client, header.sequences);
    // Its migration may be one of those that follow.
    if (tables.some(({ name }) => name === 'erasures')) await client.query(RESTART_SEARCHES);
    await client.query(RELEASE_TARGET);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};
