import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { ensureDirectory } from '../../src/lib/files.ts';
import { makeScratchFolder } from './scratch-folder.ts';

/** The environment variable that passes the DATA_DIR to copy from the runner to the test files. */
export const DATA_DIR_VARIABLE = 'STEWARD_TEST_DATA_DIR';

const DATABASE = ['postgres', 'database-password'];

/** Creates an empty database, as the first start of a service does. */
export const createDatabase = async (dataDir: string): Promise<void> => {
  const { stop } = await startEmbeddedPostgres({ dataDir, postgresSettings: { fsync: 'off' } });
  await stop();
};

/** Copies a database on which no server runs. */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  if (existsSync(join(to, 'postgres'))) throw new Error(`${to} already has a database.`);
  await ensureDirectory(to, 0o700);
  // Keeps the owner, which Node's `cp` does not.
  await promisify(execFile)('cp', ['-a', ...DATABASE.map((name) => join(from, name)), to]);
};

/**
 * Gives a DATA_DIR an empty database, as a first start does. It is a copy, which takes a quarter of the CPU time of `initdb`,
 * unless the runner has none, because of TEST_DATABASE_URL.
 * @returns the folder
 */
export const initializeDataDir = async (dataDir: string): Promise<string> => {
  const original = process.env[DATA_DIR_VARIABLE];
  await (original === undefined ? createDatabase(dataDir) : copyDatabase(original, dataDir));
  return dataDir;
};

/** Makes a temporary DATA_DIR with an empty database. Disposing it removes it. */
export const makeDataDir = async () => {
  const folder = await makeScratchFolder();
  await initializeDataDir(folder.path);
  return folder;
};
