import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { type ZodType, z } from 'zod';
import { Problem } from '../../lib/problems.ts';
import { collect, readArchive } from './archive.ts';
import {
  BackupHeader,
  BackupManifest,
  HEADER_FILE,
  KEY_FILE,
  PACKAGES_FOLDER,
  tableOf,
} from './backup-format.ts';
import { advanceSequences, quoted, summarizeTable, TEXT_SETTINGS } from './backup-tables.ts';
import { openKey } from './sealed-key.ts';

const decompress = promisify<Buffer, Buffer>(zstdDecompress);

export type CheckedBackup = { header: BackupHeader; manifest: BackupManifest; secretKey: string | null };

const refusal = (detail: string, cause?: unknown): Problem => new Problem('invalid-input', { detail, cause });

/**
 * Reads a whole backup and compares all checksums, before anything is written.
 * @param passphrase null: a key in the backup stays sealed
 * @throws Problem `invalid-input` if it is no backup, damaged or incomplete, or if the passphrase is wrong
 */
export const checkBackup = async (source: Readable, passphrase: string | null): Promise<CheckedBackup> => {
  let header: BackupHeader | null = null;
  let sealedKey: Buffer | null = null;
  const { manifest: text, checksums } = await readArchive(source, async (path, content) => {
    if (path === HEADER_FILE) header = parse(BackupHeader, await collect(content));
    else if (path === KEY_FILE) sealedKey = await collect(content);
  }).catch((cause: Error) => {
    throw refusal(`This is not a complete backup (${cause.message}).`, cause);
  });
  const manifest = BackupManifest.safeParse(text);
  if (!header || !manifest.success) throw refusal('This is not a complete backup: it ends too early.');
  const paths = new Set([...Object.keys(checksums), ...Object.keys(manifest.data.files)]);
  for (const path of paths)
    if (checksums[path] !== manifest.data.files[path])
      throw refusal(`The backup is damaged: ${path} does not match its checksum.`);
  const secretKey = sealedKey && passphrase !== null ? await openKey(sealedKey, passphrase) : null;
  return { header, manifest: manifest.data, secretKey };
};

const parse = <T>(schema: ZodType<T>, bytes: Buffer): T => {
  const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error).split('\n')[0]);
};

type Options = {
  /** A session without time limits, on a database with the tables of the backup's migrations. */
  client: pg.Client;
  publishPackage: (name: string, content: AsyncIterable<Buffer>) => Promise<void>;
  /** Called for each file with rows of a table. */
  onTable: (name: string) => void;
};

/**
 * Loads all rows in one transaction, and compares the tables with the snapshot.
 * @throws Error if they differ
 */
export const loadBackup = async (
  source: Readable,
  { header, manifest }: CheckedBackup,
  { client, publishPackage, onTable }: Options,
): Promise<void> => {
  await client.query(TEXT_SETTINGS);
  await client.query('begin');
  try {
    await readArchive(source, async (path, content) => {
      if (path.startsWith(PACKAGES_FOLDER))
        return publishPackage(path.slice(PACKAGES_FOLDER.length), content);
      const table = header.tables.find(({ name }) => name === tableOf(path));
      if (!table) return;
      onTable(table.name);
      const columns = table.columns.map(quoted).join(', ');
      const rows = client.query(copyFrom(`copy ${quoted(table.name)} (${columns}) from stdin`));
      await pipeline(Readable.from([await decompress(await collect(content))]), rows);
    });
    for (const table of header.tables) {
      const { rows, checksum } = await summarizeTable(client, table);
      const expected = manifest.tables[table.name];
      if (rows !== expected?.rows || checksum !== expected.checksum)
        throw new Error(`The restored table ${table.name} differs from the snapshot: ${rows} rows.`);
    }
    await advanceSequences(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
};
