import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createSecretFile, readSecretFile } from '../../config/secret-file.ts';
import { nullIfMissing } from '../../lib/errno.ts';
import { syncDirectory } from '../../lib/files.ts';
import { type Account, chownTree, openTempDir } from './account.ts';
import { EmbeddedPostgresError } from './errors.ts';
import {
  explainFailure,
  type LogFile,
  openSession,
  type ServerOptions,
  spawnServer,
  spawnWatched,
  stopServer,
  waitUntilReady,
  workingDirectory,
} from './server.ts';

/** The role of the service: it owns its database but is not a superuser, so SQL cannot access files or programs. */
export const SERVICE_ROLE = 'steward';
export const DATABASE = 'steward';

const PASSWORD_FILE = 'database-password';
const UNFINISHED = 'postgres.initdb-';

export type ClusterOptions = Omit<ServerOptions, 'socketDir'> & { dataDir: string };

/**
 * Creates the cluster unless it exists.
 * @returns the password of its roles
 */
export const ensureCluster = async (options: ClusterOptions): Promise<string> => {
  const { dataDir, clusterDir } = options;
  const version = await clusterVersion(clusterDir);
  if (version !== null) {
    checkVersion(version, options);
    return readPassword(dataDir);
  }
  await createSecretFile(join(dataDir, PASSWORD_FILE));
  const password = await readPassword(dataDir);
  await createCluster(options, password);
  return password;
};

/**
 * The password of both database roles, kept outside of the cluster: the user that runs the server cannot read it.
 * @throws SecretFileError, EmbeddedPostgresError if the file is missing
 */
export const readPassword = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, PASSWORD_FILE);
  const password = await readSecretFile(path, 'Restore it from a backup.');
  if (password) return password;
  throw new EmbeddedPostgresError(
    `${path} is missing. It holds the password of the embedded database. Restore it from a backup.`,
  );
};

/** @throws EmbeddedPostgresError if the directory is from another major version, or is not a cluster */
const checkVersion = (version: string, { clusterDir, binaries }: ClusterOptions): void => {
  if (version === binaries.major) return;
  throw new EmbeddedPostgresError(
    version === ''
      ? `${clusterDir} is not a PostgreSQL database. Move it away, or set another DATA_DIR.`
      : `${clusterDir} was created by PostgreSQL ${version}; this Steward includes PostgreSQL ${binaries.major}. Run \`steward backup\` with the version of Steward that created it, and \`steward restore\` with this one and a new DATA_DIR: see docs/upgrades.md.`,
  );
};

/** Prepares the cluster in another directory and then renames it: after a crash it is complete or absent. */
export const createCluster = async (options: ClusterOptions, password: string): Promise<void> => {
  const { dataDir, clusterDir, account } = options;
  await removeUnfinished(dataDir);
  const work = await mkdtemp(join(dataDir, UNFINISHED));
  const data = join(work, 'data');
  try {
    const initialPassword = await runInitdb(work, options);
    if (account) await chownTree(work, account);
    await createRoles({ ...options, clusterDir: data }, initialPassword, password);
    await rename(data, clusterDir);
    await syncDirectory(dataDir);
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Removes the directories of killed starts. The instance lock guarantees that no other process is using them. */
const removeUnfinished = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue;
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
};

/** Starts the server once to create the service's role and database and to set the passwords. */
const createRoles = async (options: ClusterOptions, initialPassword: string, password: string) => {
  await using closing = new AsyncDisposableStack();
  const { path: host } = closing.use(await openTempDir(options.account));
  const server = spawnServer({ ...options, socketDir: host });
  closing.defer(() => stopServer(server));
  const connection = { host, port: 5432, user: SUPERUSER, database: 'postgres', password: initialPassword };
  await waitUntilReady(server, connection, options.log);
  const session = closing.use(await openSession(connection));
  // Passwords are hexadecimal. CREATEDB permits restoring a backup next to the live database.
  await session.query(`alter role ${SUPERUSER} password '${password}'`);
  await session.query(`create role ${SERVICE_ROLE} login createdb password '${password}'`);
  await session.query(`create database ${DATABASE} owner ${SERVICE_ROLE}`);
};

export const SUPERUSER = 'postgres';

const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The built-in provider has the same order and case rules on every system.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--no-instructions',
];

/** `nobody`, which has an entry in /etc/passwd on every Linux distribution. */
const NOBODY: Account = { uid: 65534, gid: 65534 };

/**
 * initdb fails for a user without an entry in /etc/passwd. In a user namespace it sees the uid of `nobody`; files still belong
 * to the real uid.
 */
const AS_NOBODY = ['unshare', '--user', `--map-user=${NOBODY.uid}`, `--map-group=${NOBODY.gid}`];

const hasPasswdEntry = (): boolean => {
  try {
    userInfo();
    return true;
  } catch (_noEntry) {
    return false;
  }
};

/** initdb refuses to run as root. */
const chooseRunner = () => {
  if (process.getuid?.() === 0) return { account: NOBODY, prefix: [] };
  return { account: undefined, prefix: hasPasswdEntry() ? [] : AS_NOBODY };
};

/** Printed by `unshare`, or by the shell if it is missing. */
const UNSHARE_FAILURE = /\bunshare: .+/;

const failureOf = async (status: number, log: LogFile): Promise<string> => {
  const lines = await log.tail();
  const [denied] = UNSHARE_FAILURE.exec(lines) ?? [];
  if (denied !== undefined)
    return `uid ${process.getuid?.()} has no entry in /etc/passwd, which is needed to create the embedded database, and user namespaces are denied (${denied}). Add an entry (in a container, mount an /etc/passwd that has one), start Steward as root, or set DATABASE_URL to another PostgreSQL server.`;
  const sentence = `The embedded database could not be created (initdb exited with ${status}). Set DATABASE_URL to use another PostgreSQL server.`;
  return explainFailure(sentence, lines, log);
};

/**
 * Creates a cluster in `work`/data, owned by the user that ran initdb.
 * @returns the password of its superuser, which must be replaced: other processes of `nobody` could have read it
 * @throws EmbeddedPostgresError with the last lines of the log
 */
const runInitdb = async (work: string, { binaries, log }: Pick<ServerOptions, 'binaries' | 'log'>) => {
  const { account, prefix } = chooseRunner();
  const password = randomBytes(24).toString('base64url');
  const passwordFile = join(work, 'password');
  const data = join(work, 'data');
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account) for (const path of [work, data, passwordFile]) await chown(path, account.uid, account.gid);

  const dir = workingDirectory(data);
  const [command = '', ...args] = [
    ...prefix,
    binaries.initdb,
    ...['-D', dir, `--pwfile=${dir}/../password`],
    ...INITDB_OPTIONS,
  ];
  const status = await spawnWatched({ command, args, cwd: data, account, output: log.fd }).exited;
  if (status === 0) return password;
  throw new EmbeddedPostgresError(await failureOf(status, log));
};

/** The cluster of a data directory, which may not exist yet. */
export const clusterIn = (dataDir: string): string => join(dataDir, 'postgres');

/** Whether a data directory has a cluster, or another folder in its place. */
export const hasCluster = async (dataDir: string): Promise<boolean> =>
  (await clusterVersion(clusterIn(dataDir))) !== null;

/** The major version that created a cluster: null without a cluster, '' if the directory is something else. */
const clusterVersion = async (clusterDir: string): Promise<string | null> => {
  const files = await nullIfMissing(readdir(clusterDir));
  if (files === null || files.length === 0) return null;
  return (await nullIfMissing(readFile(join(clusterDir, 'PG_VERSION'), 'utf8')))?.trim() ?? '';
};
