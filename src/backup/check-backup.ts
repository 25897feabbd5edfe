import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ZodType, z } from 'zod';
import { migrations } from '../../migrations/index.ts';
import { BackupStoreError } from '../lib/errno.ts';
import { invalidInput } from '../lib/problems.ts';
import { readArchive } from './archive.ts';
import { BackupHeader, BackupManifest, HEADER_FILE, isIntact, KEY_FILE, openKey } from './backup-format.ts';

export type CheckedBackup = { header: BackupHeader; manifest: BackupManifest; secretKey: string | null };

/**
 * Reads a whole backup and compares all checksums, before anything is written.
 * @param passphrase null: a key in the backup stays sealed
 * @throws Problem `invalid-input` if it is no backup, damaged or incomplete, or if the passphrase is wrong
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
  if (!isIntact(manifest.data))
    throw invalidInput('The backup is damaged: its manifest does not match its checksum.');
  const paths = new Set([...Object.keys(checksums), ...Object.keys(manifest.data.files)]);
  for (const path of paths)
    if (checksums[path] !== manifest.data.files[path])
      throw invalidInput(`The backup is damaged: ${path} does not match its checksum.`);
  requireKnownMigrations(header);
  const secretKey = sealedKey && passphrase !== null ? await openKey(sealedKey, passphrase) : null;
  return { header, manifest: manifest.data, secretKey };
};

const parse = <T>(schema: ZodType<T>, bytes: Buffer): T => {
  const parsed = schema.safeParse(JSON.parse(bytes.toString('utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error).split('\n')[0]);
};

const requireKnownMigrations = ({ version, migrations: applied }: BackupHeader): void => {
  const unknown = applied.find((name) => !migrations.some((known) => known.name === name));
  if (unknown === undefined) return;
  throw invalidInput(
    `The backup is of Steward ${version}, which is newer: it has the migration ${unknown}. Restore it with that version.`,
  );
};
