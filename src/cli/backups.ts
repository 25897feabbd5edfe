import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import manifest from '../../package.json' with { type: 'json' };
import { type BackupStore, openBackupStore } from '../adapters/backup-store/backup-store.ts';
import { hasCluster } from '../adapters/embedded-postgres/index.ts';
import { openPackageStore } from '../adapters/package-store/package-store.ts';
import { fingerprintOf } from '../backup/backup-format.ts';
import { type CheckedBackup, checkBackup, restoreBackup } from '../backup/restore-backup.ts';
import { newBackupName, newestBackup, writeBackup } from '../backup/write-backup.ts';
import { type Config, readConfig } from '../config/config.ts';
import { adoptSecretKey, readSecretKey } from '../config/secret-file.ts';
import { locateBackups } from '../config/store-config.ts';
import { systemClock } from '../lib/clock.ts';
import { isFolder, openTempFolder } from '../lib/files.ts';
import { formatCount, formatMegabytes } from '../lib/operator-text.ts';
import { parsePackageFileName } from '../lib/package-name.ts';
import { invalidInput } from '../lib/problems.ts';
import { openDatabaseHost, requireDatabase, withDatabaseHost } from '../server/database-host.ts';
import { createProgress, type Progress } from './reports.ts';

const PRIVATE_FILE = 0o600;

/**
 * Writes a backup to a folder or bucket, completely or not at all.
 * @param named undefined: BACKUP_TARGET
 * @returns lines for the operator
 */
export const createBackupFile = async (config: Config, named: string | undefined, withKey: boolean) => {
  const { passphrase } = config.backup;
  if (withKey && !passphrase) throw invalidInput('--with-key needs a passphrase in BACKUP_PASSPHRASE.');
  await requireDatabase(config);
  const target = await openTarget(config, named);
  const { removed, kept } = await target.sweep();
  const now = systemClock.now();
  const name = newBackupName(now);
  let progress: Progress | undefined;
  const onTable = (total: number): void => {
    progress ??= createProgress('Tables', total);
    progress.advance();
  };
  const { tables, rows, packages, sizeBytes } = await withDatabaseHost(
    config,
    async ({ connection, secretKey }) =>
      writeBackup(target, name, {
        connection,
        packages: await openPackageStore(config.appStore),
        version: manifest.version,
        now,
        secretKey,
        passphrase: withKey ? (passphrase ?? null) : null,
        onTable,
      }),
  ).finally(() => progress?.stop());
  return [
    ...removed.map((path) => `Removed ${path}, which a killed backup left.`),
    ...kept.map(
      (path) => `${path} belongs to a backup that is running or was killed: it is removed after a day.`,
    ),
    `Wrote ${target.locate(name)}: ${formatCount(rows, 'row')} of ${formatCount(tables, 'table')}, ${formatCount(packages, 'package')}, ${formatMegabytes(sizeBytes)}.`,
  ];
};

const openTarget = async ({ backup }: Config, named: string | undefined): Promise<BackupStore> => {
  const location = named === undefined ? backup.target : locateBackups(named, backup);
  if (location) return openBackupStore(location);
  throw invalidInput(
    named === undefined
      ? 'Name a folder or bucket, or set BACKUP_TARGET.'
      : `${named} is not a valid target: expected a folder or s3://BUCKET/PREFIX.`,
  );
};

type OpenBackup = () => Promise<Readable>;

/**
 * Finds a backup. In a folder or bucket, finds the newest one and prints its name.
 * @param named a path, or s3://BUCKET/PREFIX, or a backup in one of them
 */
const findBackup = async (config: Config, named: string): Promise<OpenBackup> => {
  if (named.startsWith('s3:') ? !named.endsWith('.tar') : await isFolder(named)) {
    const store = await openTarget(config, named);
    const name = newestBackup(await store.list());
    if (name === null) throw invalidInput(`${named} holds no backup: no file is named steward-TIME-ID.tar.`);
    process.stdout.write(`The newest backup is ${store.locate(name)}.\n`);
    return () => store.open(name);
  }
  const path = named.startsWith('s3:') ? named : resolve(named);
  const [parent, name] = [dirname(path), basename(path)];
  const store = await openTarget(config, parent === 's3:' ? named : parent);
  return () => store.open(name);
};

/**
 * Restores into an empty database, or a DATA_DIR without one.
 * @returns lines for the operator
 * @throws Problem `invalid-input`; then nothing was changed
 */
export const restoreFile = async (
  config: Config,
  file: string,
  options: RestoreOptions = {},
): Promise<string[]> => {
  const { keyFile } = options;
  const open = await findBackup(config, file);
  if (!config.database && (await hasCluster(config.dataDir)))
    throw invalidInput(`${config.dataDir} has a database: a backup is restored into a new DATA_DIR.`);
  const checked = await checkRestorable(config, open, options);
  const { secretKey, isKeyKept } = checked;
  const publish = await createPublisher(config);
  if (secretKey !== null && !config.database) await adoptSecretKey(config.dataDir, secretKey);
  // Before the restore, because a file with this name may exist already.
  if (keyFile !== undefined && secretKey !== null)
    await writeFile(keyFile, secretKey, { mode: PRIVATE_FILE, flag: 'wx' });
  const foreign = await load(config, open, checked, publish).catch(async (error: unknown) => {
    if (keyFile !== undefined) await rm(keyFile, { force: true });
    throw error;
  });
  return [
    `Restored ${describe(checked)}`,
    ...foreign.map((table) => `The table ${table} is not one of Steward: its rows were not restored.`),
    ...(isKeyKept ? [] : [`The secret key is another one: ${LOST_WITH_KEY}.`]),
  ];
};

type RestoreOptions = {
  /** Where to write the secret key of the backup. */
  keyFile?: string;
  /** Whether the restored service gets a new key. */
  newKey?: boolean;
};

const LOST_WITH_KEY =
  'second factors, identity providers and webhooks must then be set up again, and links in earlier mails are not valid';

/** Whether the restored service has the key that opens the data. */
const keepsKey = async (config: Config, { header: { keyFingerprint }, secretKey }: CheckedBackup) => {
  const stored = config.database ? null : await readSecretKey(config.dataDir);
  const key = config.secretKey ?? secretKey ?? stored;
  return key !== null && (keyFingerprint === undefined || fingerprintOf(key) === keyFingerprint);
};

/** @throws Problem `invalid-input` if the backup is damaged, or its secret key could not be kept */
const checkRestorable = async (config: Config, open: OpenBackup, { keyFile, newKey }: RestoreOptions) => {
  const checked = await checkBackup(await open(), config.backup.passphrase ?? null);
  const { secretKey } = checked;
  if (secretKey !== null && config.database && keyFile === undefined && secretKey !== config.secretKey)
    throw invalidInput('The backup holds the secret key: name a file for it with --key-file.');
  if (keyFile !== undefined && secretKey === null)
    throw invalidInput(
      'The backup holds no secret key, or BACKUP_PASSPHRASE is not set: --key-file has no use.',
    );
  const isKeyKept = await keepsKey(config, checked);
  if (!isKeyKept && !newKey)
    throw invalidInput(
      `The secret key of the service that was backed up is needed: set ${checked.hasSealedKey ? 'BACKUP_PASSPHRASE' : 'SECRET_KEY'}. Or restore with --new-key: ${LOST_WITH_KEY}.`,
    );
  return { ...checked, isKeyKept };
};

/** Restores into a temporary database, and compares it with the snapshot. @returns a line for the operator */
export const verifyBackup = async (config: Config, file: string): Promise<string> => {
  const open = await findBackup(config, file);
  const checked = await checkBackup(await open(), null);
  await using folder = await openTempFolder('steward-verify-');
  await load(readConfig({ DATA_DIR: folder.path }), open, checked, async () => {});
  return `Verified ${describe(checked)}`;
};

type Publish = (name: string, content: AsyncIterable<Buffer>) => Promise<void>;

const load = async (config: Config, open: OpenBackup, checked: CheckedBackup, publishPackage: Publish) => {
  const { connection, stop } = await openDatabaseHost(config);
  using progress = createProgress('Tables', checked.header.tables.length);
  let table: string | undefined;
  const onTable = (name: string): void => {
    if (name !== table) progress.advance();
    table = name;
  };
  try {
    return await restoreBackup(await open(), checked, { connection, publishPackage, onTable });
  } finally {
    await stop();
  }
};

/** Adds packages to the store. Packages that the store already has must be identical. */
const createPublisher = async (config: Config): Promise<Publish> => {
  const store = await openPackageStore(config.appStore);
  return async (name, content) => {
    const found = parsePackageFileName(name);
    if (!found) return;
    await using folder = await openTempFolder('steward-restore-');
    const path = join(folder.path, name);
    await pipeline(Readable.from(content), createWriteStream(path));
    await store.publish(found.slug, found.version, path);
  };
};

const describe = ({ header, manifest: { tables } }: CheckedBackup): string => {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
  return `the backup of ${header.createdAt}: ${formatCount(rows, 'row')} of ${formatCount(header.tables.length, 'table')} are the same as in its snapshot.`;
};
