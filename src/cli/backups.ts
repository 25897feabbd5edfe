import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { migrations } from '../../migrations/index.ts';
import manifest from '../../package.json' with { type: 'json' };
import { openPackageStore } from '../adapters/package-store/open-package-store.ts';
import { type Config, readConfig } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { adoptSecretKey } from '../config/secret-file.ts';
import { migrateDatabase, openDatabase } from '../db/database.ts';
import { openUnlimitedSession } from '../db/single-client.ts';
import { systemClock } from '../lib/clock.ts';
import { ensureDirectory, syncDirectory } from '../lib/files.ts';
import { parsePackageFileName } from '../lib/package-name.ts';
import { Problem } from '../lib/problems.ts';
import { openDatabaseHost, withDatabaseHost } from '../server/database-host.ts';
import { isEmptyDatabase } from '../services/backup/backup-tables.ts';
import { createBackup } from '../services/backup/create-backup.ts';
import { type CheckedBackup, checkBackup, loadBackup } from '../services/backup/restore-backup.ts';
import { sealKey } from '../services/backup/sealed-key.ts';
import { ensureMonths } from '../services/usage/usage-partitions.ts';
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
export const restoreBackup = async (config: Config, file: string, keyFile?: string): Promise<string> => {
  const checked = await checkFile(file, process.env.BACKUP_PASSPHRASE ?? null);
  const { secretKey } = checked;
  if (secretKey !== null && config.database && keyFile === undefined)
    throw refusal('The backup holds the secret key: name a file for it with --key-file.');
  if (keyFile !== undefined && secretKey === null)
    throw refusal('The backup holds no secret key, or BACKUP_PASSPHRASE is not set: --key-file has no use.');

  if (secretKey !== null && !config.database) await adoptSecretKey(config.dataDir, secretKey);
  const host = await openDatabaseHost(config);
  try {
    await load(host.connection, file, checked, await createPublisher(config));
  } finally {
    await host.stop();
  }
  if (keyFile !== undefined && secretKey !== null)
    await writeFile(keyFile, secretKey, { mode: PRIVATE_FILE, flag: 'wx' });
  return `Restored ${describe(checked)}`;
};

/** Restores into a temporary database, and compares it with the snapshot. @returns a line for the operator */
export const verifyBackup = async (file: string): Promise<string> => {
  const checked = await checkFile(file, null);
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

/** @throws Problem `invalid-input` if the backup cannot be restored by this version */
const checkFile = async (file: string, passphrase: string | null): Promise<CheckedBackup> => {
  const checked = await checkBackup(createReadStream(file), passphrase);
  const { version, migrations: applied } = checked.header;
  const unknown = applied.find((name) => !migrations.some((known) => known.name === name));
  if (unknown === undefined) return checked;
  throw refusal(
    `The backup is of Steward ${version}, which is newer: it has the migration ${unknown}. Restore it with that version.`,
  );
};

type Publish = (name: string, content: AsyncIterable<Buffer>) => Promise<void>;

const load = async (
  connection: Connection,
  file: string,
  checked: CheckedBackup,
  publishPackage: Publish,
): Promise<void> => {
  const { header } = checked;
  await using client = await openSession(connection);
  if (!(await isEmptyDatabase(client)))
    throw refusal('The database is not empty: a backup is restored into an empty one.');
  await migrateDatabase(connection, header.migrations.at(-1));
  const orm = await openDatabase(connection);
  const months = header.months.map((month) => new Date(month));
  await orm.em
    .fork()
    .transactional((tx) => ensureMonths(tx, months))
    .finally(() => orm.close(true));
  const progress = createProgress('Tables', header.tables.length);
  try {
    let table: string | undefined;
    const onTable = (name: string): void => {
      if (name !== table) progress.advance();
      table = name;
    };
    await loadBackup(createReadStream(file), checked, { client, publishPackage, onTable });
  } finally {
    progress.stop();
  }
  await migrateDatabase(connection);
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
