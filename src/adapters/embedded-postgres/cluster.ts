import { mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecretFile, readSecretFile } from '../../config/secret-file.ts';
import { nullIfMissing } from '../../lib/errno.ts';
import { syncDirectory } from '../../lib/sync-folder.ts';
import { type Account, chownTree } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import { type InitdbOptions, runInitdb } from './initdb.ts';
import { setUpRoles } from './roles.ts';

const PASSWORD_FILE = 'database-password';
/** The password's place in clusters of Steward before 0.1, whose only database user was a superuser. */
const FORMER_PASSWORD_FILE = 'steward.password';
const UNFINISHED = 'postgres.initdb-';

export type ClusterOptions = InitdbOptions & {
  dataDir: string;
  clusterDir: string;
  /** The user that owns the cluster and runs the server, if not the current user. */
  account: Account | undefined;
  settings: Record<string, string>;
};

/** Left by starts that were killed. The instance lock guarantees that no other process is using them. */
const removeUnfinished = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue;
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Prepares the cluster in another folder and then renames it: after a crash it is complete or absent. */
const makeCluster = async (options: ClusterOptions, password: string): Promise<void> => {
  const { dataDir, clusterDir, account } = options;
  await removeUnfinished(dataDir);
  const work = await mkdtemp(join(dataDir, UNFINISHED));
  const data = join(work, 'data');
  const initial = await runInitdb(work, options);
  if (account) await chownTree(work, account);
  await setUpRoles({ ...options, clusterDir: data }, { initial, password });
  await rename(data, clusterDir);
  await syncDirectory(dataDir);
  await rm(work, { recursive: true });
};

/** @throws EmbeddedPostgresError when the folder is of another major version, or no cluster at all */
const checkVersion = async ({ clusterDir, binaries }: ClusterOptions): Promise<void> => {
  const version = (await nullIfMissing(readFile(join(clusterDir, 'PG_VERSION'), 'utf8')))?.trim();
  if (version === binaries.major) return;
  throw new EmbeddedPostgresError(
    version === undefined
      ? `${clusterDir} is not a database of PostgreSQL. Move it away, or set another DATA_DIR.`
      : `${clusterDir} was made by PostgreSQL ${version}; this Steward brings PostgreSQL ${binaries.major}. Move it over by pg_dump, or set DATABASE_URL.`,
  );
};

/** @throws EmbeddedPostgresError when the cluster was made before its password moved to DATA_DIR */
const checkLayout = async ({ clusterDir }: ClusterOptions): Promise<void> => {
  if (!(await nullIfMissing(stat(join(clusterDir, FORMER_PASSWORD_FILE))))) return;
  throw new EmbeddedPostgresError(
    `${clusterDir} was made by an earlier Steward, which used the database as a superuser. Export it with that version and pg_dump, and restore it into a new DATA_DIR.`,
  );
};

/**
 * The password of both database roles, kept outside of the cluster: the user that runs the server cannot read it.
 * @throws SecretFileError, EmbeddedPostgresError when the file is missing
 */
export const readPassword = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, PASSWORD_FILE);
  const password = await readSecretFile(path, 'Restore it from a backup.');
  if (password) return password;
  throw new EmbeddedPostgresError(
    `${path} is missing. It holds the password of the embedded database. Restore it from a backup.`,
  );
};

const hasFiles = async (dir: string): Promise<boolean> =>
  ((await nullIfMissing(readdir(dir)))?.length ?? 0) > 0;

/**
 * Makes the cluster unless it exists.
 * @returns the password of its roles
 */
export const ensureCluster = async (options: ClusterOptions): Promise<string> => {
  const { dataDir, clusterDir } = options;
  if (await hasFiles(clusterDir)) {
    await checkLayout(options);
    await checkVersion(options);
    return readPassword(dataDir);
  }
  await createSecretFile(join(dataDir, PASSWORD_FILE));
  const password = await readPassword(dataDir);
  await makeCluster(options, password);
  return password;
};
