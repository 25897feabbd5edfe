import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import manifest from '../../package.json' with { type: 'json' };
import { openPackageStore } from '../adapters/package-store/open-package-store.ts';
import { type CheckedBackup, checkBackup } from '../backup/check-backup.ts';
import { createBackup } from '../backup/create-backup.ts';
import { restoreBackup } from '../backup/restore-backup.ts';
import { sealKey } from '../backup/sealed-key.ts';
import { type Config, readConfig } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { adoptSecretKey } from '../config/secret-file.ts';
import { openUnlimitedSession } from '../db/single-client.ts';
import { systemClock } from '../lib/clock.ts';
import { ensureDirectory, syncDirectory } from '../lib/files.ts';
import { parsePackageFileName } from '../lib/package-name.ts';
import { Problem } from '../lib/problems.ts';
import { openDatabaseHost, withDatabaseHost } from '../server/database-host.ts';
import { createProgress, type Progress } from './progress.ts';

const PRIVATE_FILE = 0o600;

const refusal = (detail: string): Problem => new Problem('invalid-input', { detail });

/** Writes `steward-TIME.tar` to a folder, complete or not at all. @returns a line for the operator */
export const writeBackup = async (config: Config, folder: string, withKey: boolean): Promise<string> => {
  const passphrase = process.env.BACKUP_PASSPHRASE;
  if (withKey && !passphrase) throw refusal('--with-key needs a passphrase in BACKUP_PASSPHRASE.');
  await ensureDirectory(folder);
  const now = systemClock.now();
  const path = join(folder, `steward-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.tar`);
  const draft = `${path}.${randomUUID()}.partial`;
  try {
    const totals = await withDatabaseHost(config, async ({ connection, secretKey }) => {
      await using client = await openSession(connection);
      let progress: Progress | undefined;
      const onTable = (total: number): void => {
        progress ??= createProgress('Tables', total);
        progress.advance();
      };
      try {
        const store = await openPackageStore(config.appStore);
        const sealedKey = withKey && passphrase ? await sealKey(secretKey, passphrase) : null;
        const target = createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE, flush: true });
        return await createBackup(target, {
          client,
          store,
          version: manifest.version,
          now,
          sealedKey,
          onTable,
        });
      } finally {
        progress?.stop();
      }
    });
    await rename(draft, path);
    await syncDirectory(folder);
    const { size } = await stat(path);
    const { tables, rows, packages } = totals;
    return `Wrote ${path}: ${count(rows, 'row')} of ${count(tables, 'table')}, ${count(packages, 'package')}, ${megabytes(size)} MB.`;
  } finally {
    await rm(draft, { force: true });
  }
};

/**
 * Restores into an empty database.
 * @returns a line for the operator
 * @throws Problem `invalid-input`; then nothing was changed
 */
export const restoreFile = async (config: Config, file: string, keyFile?: string): Promise<string> => {
  const checked = await check(file, process.env.BACKUP_PASSPHRASE ?? null);
  const { secretKey } = checked;
  if (secretKey !== null && config.database && keyFile === undefined)
    throw refusal('The backup holds the secret key: name a file for it with --key-file.');
  if (keyFile !== undefined && secretKey === null)
    throw refusal('The backup holds no secret key, or BACKUP_PASSPHRASE is not set: --key-file has no use.');

  if (secretKey !== null && !config.database) await adoptSecretKey(config.dataDir, secretKey);
  // Before the restore, which cannot be repeated: a file with this name may exist already.
  if (keyFile !== undefined && secretKey !== null)
    await writeFile(keyFile, secretKey, { mode: PRIVATE_FILE, flag: 'wx' });
  await restoreInto(config, file, checked).catch(async (error: unknown) => {
    if (keyFile !== undefined) await rm(keyFile, { force: true });
    throw error;
  });
  return `Restored ${describe(checked)}`;
};

const restoreInto = async (config: Config, file: string, checked: CheckedBackup): Promise<void> => {
  const host = await openDatabaseHost(config);
  try {
    await load(host.connection, file, checked, await createPublisher(config));
  } finally {
    await host.stop();
  }
};

/** Restores into a temporary database, and compares it with the snapshot. @returns a line for the operator */
export const verifyBackup = async (file: string): Promise<string> => {
  const checked = await check(file, null);
  const folder = await mkdtemp(join(tmpdir(), 'steward-verify-'));
  try {
    const host = await openDatabaseHost(readConfig({ DATA_DIR: folder }));
    try {
      await load(host.connection, file, checked, skip);
    } finally {
      await host.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return `Verified ${describe(checked)}`;
};

const check = async (file: string, passphrase: string | null): Promise<CheckedBackup> => {
  // A file that cannot be opened is reported as such, not as damaged.
  await access(file, constants.R_OK);
  return checkBackup(createReadStream(file), passphrase);
};

type Publish = (name: string, content: AsyncIterable<Buffer>) => Promise<void>;

const load = async (
  connection: Connection,
  file: string,
  checked: CheckedBackup,
  publishPackage: Publish,
): Promise<void> => {
  const progress = createProgress('Tables', checked.header.tables.length);
  let table: string | undefined;
  const onTable = (name: string): void => {
    if (name !== table) progress.advance();
    table = name;
  };
  try {
    await restoreBackup(createReadStream(file), checked, { connection, publishPackage, onTable });
  } finally {
    progress.stop();
  }
};

const skip: Publish = async () => {};

/** Adds packages to the store; those that it has already must be the same. */
const createPublisher = async (config: Config): Promise<Publish> => {
  const store = await openPackageStore(config.appStore);
  return async (name, content) => {
    const found = parsePackageFileName(name);
    if (!found) return;
    const folder = await mkdtemp(join(tmpdir(), 'steward-restore-'));
    try {
      const path = join(folder, name);
      await pipeline(Readable.from(content), createWriteStream(path));
      await store.publish(found.slug, found.version, path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
};

const openSession = async (connection: Connection) => {
  const client = await openUnlimitedSession(connection);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
};

const describe = ({ header, manifest: { tables } }: CheckedBackup): string => {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
  return `the backup of ${header.createdAt}: ${count(rows, 'row')} of ${count(header.tables.length, 'table')} are the same as in its snapshot.`;
};

const count = (amount: number, noun: string): string =>
  `${amount.toLocaleString('en')} ${noun}${amount === 1 ? '' : 's'}`;

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
