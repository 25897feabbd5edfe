import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import * as assert from 'uvu/assert';
import { sealKey } from '../../src/backup/backup-format.ts';
import { checkBackup, restoreBackup } from '../../src/backup/restore-backup.ts';
import { createBackup } from '../../src/backup/write-backup.ts';
import type { Connection } from '../../src/config/connection.ts';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { initializeDemoDir } from './demo-data.ts';
import type { makeScratchFolder } from './files.ts';
import { runCommand, startService } from './service-process.ts';
import type { TestDatabase } from './test-database.ts';
import { administer, dropStatements } from './test-server.ts';

export const KEY = 'a secret key that only tests ever use';
export const NOW = new Date('2026-03-01T12:00:00Z');

import { createFolderPackageStore } from './package-stores.ts';

/** Runs one statement. */
export const querying = async <T>(connection: Connection, sql: string): Promise<T[]> => {
  const client = await openUnlimitedSession(connection);
  try {
    return (await client.query(sql)).rows as T[]; // of the shape that the test's own statement selects
  } finally {
    await client.end();
  }
};

/** Derived once for all backups, because that takes 0.4 s of CPU time. */
let sealedKey: Promise<Buffer> | undefined;

/** Writes a backup with the key and the packages of a folder. */
export const write = async (connection: Connection, file: string, store: string, onTable = () => {}) => {
  const client = await openUnlimitedSession(connection);
  sealedKey ??= sealKey(KEY, 'a passphrase');
  const options = {
    client,
    packages: createFolderPackageStore({ dir: store }),
    version: '1.2.3',
    now: NOW,
    secretKey: KEY,
  };
  try {
    return await createBackup(createWriteStream(file), { ...options, sealedKey: await sealedKey, onTable });
  } finally {
    await client.end();
  }
};

/** An empty database on the same server. */
export const emptyDatabase = async (demo: TestDatabase): Promise<TestDatabase> => {
  const database = `restored_${randomBytes(6).toString('hex')}`;
  await administer(demo.connection, `create database ${database}`);
  return {
    connection: { ...demo.connection, database },
    drop: () => administer(demo.connection, ...dropStatements(database)),
  };
};

/** @returns the tables that were left out */
export const restore = async (
  file: string,
  connection: Connection,
  onTable = () => {},
): Promise<string[]> => {
  const checked = await checkBackup(createReadStream(file), null);
  return restoreBackup(createReadStream(file), checked, {
    connection,
    publishPackage: async () => {},
    onTable,
  });
};

export const ADMIN = 'root@steward.test';
export const PASSWORD = 'steward-demo-1';
export const BACKUP_PASSPHRASE = 'correct horse battery staple';

type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

/** Makes a backup of a running demo in `data`, with its secret key. @returns the file, and a token of the superuser */
export const makeDemoBackup = async (folder: Folder): Promise<{ file: string; token: string }> => {
  const settings = { DATA_DIR: await initializeDemoDir(folder.join('data')) };
  await using service = await startService('demo', settings);
  const { token } = await service.logIn(ADMIN, PASSWORD);
  const { code, stdout, stderr } = await runCommand(['backup', folder.join('backups'), '--with-key'], {
    ...settings,
    BACKUP_PASSPHRASE,
  });
  assert.is(code, 0, stderr);
  const [, file = ''] =
    /^Wrote (\S+): [\d,]+ rows of \d+ tables, 6 packages, [\d.]+ MB\.\n$/.exec(stdout) ?? [];
  assert.ok(file, stdout);
  return { file, token };
};
