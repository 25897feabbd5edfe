import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type ZodType, z } from 'zod';
import { MIGRATIONS } from '../../migrations/index.ts';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession } from '../db/client.ts';
import { openDatabase } from '../db/database.ts';
import { UnfinishedRestore } from '../db/database-errors.ts';
import { MIGRATION_LOCK, migrateDatabase, RESTORE_TABLE, readSchemaState } from '../db/migrate.ts';
import { BackupStoreError } from '../lib/errno.ts';
import { invalidInput } from '../lib/problems.ts';
import { RESTART_ERASURES } from '../services/data-rights/erasure.ts';
import { ensureMonths } from '../services/usage/usage-months.ts';
import { readArchive } from './archive.ts';
import {
  BackupHeader,
  BackupManifest,
  digestOf,
  HEADER_FILE,
  KEY_FILE,
  openKey,
  PACKAGES_FOLDER,
  tableOf,
} from './backup-format.ts';
import {
  advanceSequences,
  isEmptyDatabase,
  quoted,
  readTables,
  summarizeTable,
  TEXT_SETTINGS,
} from './backup-tables.ts';

export type CheckedBackup = {
  header: BackupHeader;
  manifest: BackupManifest;
  hasSealedKey: boolean;
  /** Null without a passphrase. */
  secretKey: string | null;
};

/**
 * Reads a whole backup and compares all checksums before anything is written.
 * @param passphrase null: a key in the backup stays sealed
 * @throws Problem `invalid-input` if the file is no backup, or a damaged or incomplete one, or if the passphrase is wrong
 */
export const checkBackup = async (source: Readable, passphrase: string | null): Promise<CheckedBackup> => {
  let header: BackupHeader | null = null;
  let sealedKey: Buffer | null = null;
  const { manifest: text, checksums } = await readArchive(source, async (path, content) => {
    if (path === HEADER_FILE) header = parse(BackupHeader, await buffer(content));
    else if (path === KEY_FILE) sealedKey = await buffer(content);
  }).catch((cause: Error) => {
    if (cause instanceof BackupStoreError) throw cause;
    throw invalidInput(`This is not a complete backup (${cause.message}).`, cause);
  });
  const manifest = BackupManifest.safeParse(text);
  if (!header || !manifest.success) throw invalidInput('This is not a complete backup: it ends too early.');
  if (manifest.data.sha256 !== digestOf(manifest.data))
    throw invalidInput('The backup is damaged: its manifest does not match its checksum.');
  const paths = new Set([...Object.keys(checksums), ...Object.keys(manifest.data.files)]);
  for (const path of paths)
    if (checksums[path] !== manifest.data.files[path])
      throw invalidInput(`The backup is damaged: ${path} does not match its checksum.`);
  requireKnownMigrations(header);
  const secretKey = sealedKey && passphrase !== null ? await openKey(sealedKey, passphrase) : null;
  return { header, manifest: manifest.data, hasSealedKey: sealedKey !== null, secretKey };
};

const parse = <T>(schema: ZodType<T>, bytes: Buffer): T => {
  const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error).split('\n')[0]);
};

const requireKnownMigrations = ({ version, migrations: applied }: BackupHeader): void => {
  const unknown = applied.find((name) => !MIGRATIONS.names.includes(name));
  if (unknown === undefined) return;
  throw invalidInput(
    `The backup is of Steward ${version}, which is newer: it has the migration ${unknown}. Restore it with that version.`,
  );
};

const decompress = promisify<Buffer, Buffer>(zstdDecompress);

type Options = {
  connection: Connection;
  publishPackage: (name: string, content: AsyncIterable<Buffer>) => Promise<void>;
  /** Called for each file with rows of a table. */
  onTable: (name: string) => void;
};

/**
 * Restores a checked backup into an empty database, and applies the migrations that the backup lacks. Services do not start on the database
 * before all rows are committed. After an interruption, the database is of no use.
 * @returns the tables in the backup that Steward does not know: operators added them, and no migration creates them
 * @throws Problem `invalid-input` if the database is not empty, UnfinishedRestore if a restore has begun there
 */
export const restoreBackup = async (
  source: Readable,
  checked: CheckedBackup,
  { connection, ...options }: Options,
): Promise<string[]> => {
  await using client = await openUnlimitedSession(connection);
  await claimTarget(client);
  await migrateDatabase(connection, { to: checked.header.migrations.at(-1), isRestore: true });
  await createMonths(connection, checked.header.months);
  const own = new Set((await readTables(client)).map(({ name }) => name));
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
): Promise<void> =>
  inTransaction(client, async () => {
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
    // An older backup lacks the table: its migration is applied afterwards.
    if (tables.some(({ name }) => name === 'erasures')) await client.query(RESTART_ERASURES);
    await client.query(RELEASE_TARGET);
  });

const inTransaction = async <T>(client: pg.Client, work: () => Promise<T>): Promise<T> => {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};

/**
 * Marks an empty database as being restored, so that no service and no other restore uses it before all rows are there.
 * @throws Problem `invalid-input` if the database is not empty, UnfinishedRestore if it is marked
 */
const claimTarget = (client: pg.Client): Promise<void> =>
  inTransaction(client, async () => {
    // A service that starts at the same time migrates either before, which is noticed here, or after this, and then refuses to start.
    await client.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    if ((await readSchemaState(client)).isRestoring) throw new UnfinishedRestore();
    if (!(await isEmptyDatabase(client)))
      throw invalidInput('The database is not empty: a backup is restored into an empty one.');
    await client.query(`create table ${RESTORE_TABLE} ()`);
  });

/** Run it in the transaction that commits the rows. */
const RELEASE_TARGET = `drop table ${RESTORE_TABLE}`;
