import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { BackupStore } from '../adapters/backup-store/backup-store.ts';
import type { PackageStore } from '../adapters/package-store/package-store.ts';
import type { Connection } from '../config/connection.ts';
import { openUnlimitedSession } from '../db/client.ts';
import { UnfinishedRestore } from '../db/database-errors.ts';
import { readSchemaState } from '../db/migrate.ts';
import { packageFileName } from '../lib/package-name.ts';
import { invalidInput } from '../lib/problems.ts';
import { FIRST_DAY, RETENTION_LOCK_KEY } from '../services/usage/usage-months.ts';
import { type ArchiveFile, writeArchive } from './archive.ts';
import {
  type BackupHeader,
  type BackupManifest,
  digestOf,
  FORMAT,
  fingerprintOf,
  HEADER_FILE,
  KEY_FILE,
  PACKAGES_FOLDER,
  rowsFile,
  sealKey,
  type TableSummary,
} from './backup-format.ts';
import { quoted, readSequences, readTables, summarizeTable, TEXT_SETTINGS } from './backup-tables.ts';

/** The name of a new backup. The random part keeps installations apart that share a target. */
export const newBackupName = (now: Date): string =>
  `steward-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(3).toString('hex')}.tar`;

const NAME = /^steward-\d{8}T\d{6}Z-[0-9a-f]{6}\.tar$/;

/** The newest backup among these file names; null if there is none. */
export const newestBackup = (names: readonly string[]): string | null =>
  names
    .filter((name) => NAME.test(name))
    .sort()
    .at(-1) ?? null;

type Options = {
  packages: Pick<PackageStore, 'list' | 'open'>;
  /** Steward's version. */
  version: string;
  now: Date;
  /** The secret key of the service. */
  secretKey: string;
  /** Called before each table is read, with the number of tables. */
  onTable?: (total: number) => void;
};

type Target = {
  connection: Connection;
  /** Encrypts the secret key in the backup. Null: the backup contains no key. */
  passphrase: string | null;
  /** Ends the backup, which then fails. */
  signal?: AbortSignal;
};

/**
 * Writes a backup to a store, completely or not at all.
 * @returns a summary for the operator
 */
export const writeBackup = async (
  store: BackupStore,
  name: string,
  { connection, passphrase, signal, ...options }: Options & Target,
) => {
  const sealedKey = passphrase === null ? null : await sealKey(options.secretKey, passphrase);
  await using client = await openUnlimitedSession(connection);
  const abort = (): void => void client.end();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    let totals = { tables: 0, rows: 0, packages: 0 };
    const sizeBytes = await store.write(name, async (stream) => {
      totals = await createBackup(stream, { ...options, client, sealedKey });
    });
    return { ...totals, sizeBytes };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
};

/** The rows of a table are compressed in parts of about this size, each of complete rows. */
const PART_BYTES = 4 * 1024 * 1024;
/** Ends a row in COPY's text format, which escapes it within values. */
const ROW_END = 0x0a;

const compress = promisify<Buffer, object, Buffer>(zstdCompress);
const COMPRESSION = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 },
};

type Snapshot = {
  /** A session without time limits. */
  client: pg.Client;
  sealedKey: Buffer | null;
};

/**
 * Writes a backup of one consistent snapshot while the service continues. After a failure the session cannot be used again:
 * it may be in the middle of a COPY.
 * @throws Problem `invalid-input` if the database was never migrated, UnfinishedRestore
 */
export const createBackup = async (target: NodeJS.WritableStream, options: Options & Snapshot) => {
  const { client, sealedKey, packages, onTable = () => {} } = options;
  await client.query('begin isolation level repeatable read read only');
  await client.query(TEXT_SETTINGS);
  const header = await describeDatabase(options);
  const summaries: Record<string, TableSummary> = {};
  const totals = { tables: header.tables.length, rows: 0, packages: 0 };

  const files = async function* (): AsyncGenerator<ArchiveFile> {
    yield { path: HEADER_FILE, content: Buffer.from(JSON.stringify(header, null, 2)) };
    if (sealedKey) yield { path: KEY_FILE, content: sealedKey };
    for (const table of header.tables) {
      onTable(totals.tables);
      yield* rowsOf(client, table);
      const summary = await summarizeTable(client, table);
      summaries[table.name] = summary;
      totals.rows += summary.rows;
    }
    for (const { slug, version } of await packages.list()) {
      const found = await packages.open(slug, version);
      // The table was removed since it was listed.
      if (!found) continue;
      totals.packages += 1;
      yield { path: `${PACKAGES_FOLDER}${packageFileName(slug, version)}`, content: found };
    }
  };
  await writeArchive(target, files(), (checksums): BackupManifest => {
    const content = { files: checksums, tables: summaries };
    return { ...content, sha256: digestOf(content) };
  });
  await client.query('rollback');
  return totals;
};

const describeDatabase = async ({
  client,
  version,
  now,
  secretKey,
}: Options & Snapshot): Promise<BackupHeader> => {
  const { applied, isRestoring } = await readSchemaState(client);
  if (isRestoring) throw new UnfinishedRestore();
  if (!applied) throw invalidInput('The database has no tables of Steward: there is nothing to back up.');
  // A month that is dropped disappears from all snapshots, also from this one.
  await client.query(`select pg_advisory_xact_lock_shared(${RETENTION_LOCK_KEY})`);
  const { rows } = await client.query<{ serverVersion: string; months: string[] }>(
    `select current_setting('server_version') as "serverVersion",
      array(select distinct ${FIRST_DAY} from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent in ('usage_entries'::regclass, 'usage_days'::regclass) and not inhdetachpending order by 1) as months`,
  );
  const [server] = rows;
  if (!server) throw new Error('A query without a table returns one row.');
  return {
    format: FORMAT,
    version,
    createdAt: now.toISOString(),
    migrations: applied,
    tables: await readTables(client),
    sequences: await readSequences(client),
    keyFingerprint: fingerprintOf(secretKey),
    ...server,
  };
};

const rowsOf = async function* (
  client: pg.Client,
  { name, columns }: BackupHeader['tables'][number],
): AsyncGenerator<ArchiveFile> {
  const rows = client.query(
    copyTo(`copy (select ${columns.map(quoted).join(', ')} from ${quoted(name)}) to stdout`),
  );
  let number = 0;
  for await (const part of inParts(rows)) {
    yield { path: rowsFile(name, number), content: await compress(part, COMPRESSION) };
    number += 1;
  }
};

/** Cuts after a row, because a separate COPY statement loads each part. */
const inParts = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let part: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    const end = bytes + chunk.length < PART_BYTES ? 0 : chunk.lastIndexOf(ROW_END) + 1;
    if (end > 0) yield Buffer.concat([...part, chunk.subarray(0, end)]);
    if (end > 0) [part, bytes] = [[], 0];
    part.push(chunk.subarray(end));
    bytes += chunk.length - end;
  }
  if (bytes > 0) yield Buffer.concat(part);
};
