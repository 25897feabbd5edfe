import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { orMissing } from '../../core/file-errors.ts';
import type { Account } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { type InitdbOptions, runInitdb } from './initdb.ts';

const PASSWORD_FILE = 'steward.password';
const UNFINISHED = 'postgres.initdb-';

export type ClusterOptions = InitdbOptions & { dataDir: string; clusterDir: string };

const syncDirectory = async (dir: string): Promise<void> => {
  const handle = await open(dir, 'r');
  await handle.sync().finally(() => handle.close());
};

const give = async (path: string, account: Account | undefined): Promise<void> => {
  if (account) await chown(path, account.uid, account.gid);
};

/** Left by starts that were killed in the middle; the instance lock says that no one is at work there. */
const removeUnfinished = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue;
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Made beside its place and moved there as a whole, with its password: a cluster is complete or not there. */
const makeCluster = async (options: ClusterOptions): Promise<void> => {
  const { dataDir, clusterDir, account } = options;
  await removeUnfinished(dataDir);
  const work = await mkdtemp(join(dataDir, UNFINISHED));
  const data = join(work, 'data');
  const passwordFile = join(work, PASSWORD_FILE);
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  for (const path of [work, data, passwordFile]) await give(path, account);

  await runInitdb(data, PASSWORD_FILE, options);
  await rename(passwordFile, join(data, PASSWORD_FILE));
  await syncDirectory(data);
  await rename(data, clusterDir);
  await syncDirectory(dataDir);
  await rm(work, { recursive: true });
};

/** @throws EmbeddedPostgresError when the folder is of another major version, or no cluster at all */
const checkVersion = async ({ clusterDir, binaries }: ClusterOptions): Promise<void> => {
  const version = (await orMissing(readFile(join(clusterDir, 'PG_VERSION'), 'utf8')))?.trim();
  if (version === binaries.major) return;
  throw new EmbeddedPostgresError(
    version === undefined
      ? `${clusterDir} is not a database of PostgreSQL. Move it away, or set another DATA_DIR.`
      : `${clusterDir} was made by PostgreSQL ${version}; this Steward brings PostgreSQL ${binaries.major}. Move it over by pg_dump, or set DATABASE_URL.`,
  );
};

/** @throws EmbeddedPostgresError when its file is missing */
export const readPassword = async (clusterDir: string): Promise<string> => {
  const path = join(clusterDir, PASSWORD_FILE);
  const password = await orMissing(readFile(path, 'utf8'));
  if (password) return password;
  throw new EmbeddedPostgresError(`${path} is missing: without it no one can log in to the database.`);
};

const holdsFiles = async (dir: string): Promise<boolean> =>
  ((await orMissing(readdir(dir)))?.length ?? 0) > 0;

/**
 * Makes the cluster unless it is there.
 * @returns the password of its one user
 */
export const ensureCluster = async (options: ClusterOptions): Promise<string> => {
  if (!(await holdsFiles(options.clusterDir))) await makeCluster(options);
  await checkVersion(options);
  return readPassword(options.clusterDir);
};
