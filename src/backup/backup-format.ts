import { createHash, createHmac, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { invalidInput } from '../lib/problems.ts';
import { createSealedBox } from '../lib/sealed-box.ts';

/** The version of the archive's layout. */
export const FORMAT = 1;

/** The first file: what a restore must know before it reads the data. */
export const BackupHeader = z.object({
  format: z.literal(FORMAT),
  /** Steward's version. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  /** PostgreSQL's version. */
  serverVersion: z.string(),
  /** The applied migrations, in order. */
  migrations: z.array(z.string()).min(1),
  /** Each table comes after the tables that it refers to. */
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  /** The next value of each sequence by name: larger than all ids of the snapshot, including ids that were deleted. */
  sequences: z.record(z.string(), z.string().regex(/^-?\d+$/)),
  /** First days of the months of the usage log, as `YYYY-MM-DD`. */
  months: z.array(z.iso.date()),
  /** The fingerprint of the secret key that opens the sealed data. */
  keyFingerprint: z.string().optional(),
});
export type BackupHeader = z.infer<typeof BackupHeader>;

/** The number of rows, and a sum over the hashes of all rows, which does not depend on their order. */
export const TableSummary = z.object({ rows: z.int(), checksum: z.string() });
export type TableSummary = z.infer<typeof TableSummary>;

/** The last file. */
export const BackupManifest = z.object({
  /** SHA-256 by path. */
  files: z.record(z.string(), z.string()),
  tables: z.record(z.string(), TableSummary),
  /** The SHA-256 of the other fields. */
  sha256: z.string(),
});
export type BackupManifest = z.infer<typeof BackupManifest>;

/** The `sha256` of a manifest with these fields. */
export const digestOf = ({ files, tables }: Pick<BackupManifest, 'files' | 'tables'>): string =>
  createHash('sha256').update(JSON.stringify({ files, tables })).digest('hex');

export const HEADER_FILE = 'header.json';
export const KEY_FILE = 'secret-key.sealed';
export const PACKAGES_FOLDER = 'packages/';

/** Rows of a table in PostgreSQL's COPY format, compressed. A large table has several files. */
export const rowsFile = (table: string, number: number): string =>
  `tables/${table}/${String(number).padStart(6, '0')}.zst`;

/** The table of such a file, or null. */
export const tableOf = (path: string): string | null => /^tables\/(\w+)\/\d{6}\.zst$/.exec(path)?.[1] ?? null;

const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** OWASP's choice for scrypt: 128 MiB, about 0.4 s. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt);

const openBox = async (passphrase: string, salt: Buffer) =>
  createSealedBox(await derive(passphrase, salt, KEY_BYTES, COST));

/** Distinguishes two secret keys, and reveals nothing else about them. */
export const fingerprintOf = (secretKey: string): string =>
  createHmac('sha256', secretKey).update('steward backup').digest('hex');

/** Encrypts the secret key with a passphrase. */
export const sealKey = async (secretKey: string, passphrase: string): Promise<Buffer> => {
  const salt = randomBytes(SALT_BYTES);
  const box = await openBox(passphrase, salt);
  return Buffer.concat([salt, box.seal(Buffer.from(secretKey), '')]);
};

/** @throws Problem `invalid-input` if the passphrase is wrong */
export const openKey = async (sealed: Buffer, passphrase: string): Promise<string> => {
  const box = await openBox(passphrase, sealed.subarray(0, SALT_BYTES));
  try {
    return box.open(sealed.subarray(SALT_BYTES), '').toString('utf8');
  } catch (cause) {
    throw invalidInput('BACKUP_PASSPHRASE is not the passphrase of this backup.', cause);
  }
};
