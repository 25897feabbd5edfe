import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Connection } from '../../config/connection.ts';
import { ensureDirectory } from '../../lib/files.ts';
import { makeTempDir, serverAccount } from './account.ts';
import { locateBinaries } from './binaries.ts';
import { type ClusterOptions, DATABASE, ensureCluster, readPassword, SERVICE_ROLE } from './cluster.ts';
import { findCluster, removeOldCluster, settleCluster } from './cluster-folders.ts';
import { DataDirInUse, EmbeddedPostgresError } from './errors.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { ClusterBusy, waitUntilReady } from './readiness.ts';
import { waitForPreviousServer } from './running-server.ts';
import { openLogFile, spawnServer, stopServer } from './server.ts';
import { type CopyDatabase, upgradeCluster, versionToUpgrade } from './upgrade.ts';

export { hasCluster } from './cluster-folders.ts';
export { DataDirInUse, EmbeddedPostgresError } from './errors.ts';
export { attachToEmbeddedPostgres, waitForAttached } from './running-server.ts';

type UpgradeOptions = {
  copy: CopyDatabase;
  /** Called with the major versions before an upgrade, which takes minutes. */
  onUpgrade?: ((from: string, to: string) => void) | undefined;
};

type EmbeddedPostgresOptions = {
  dataDir: string;
  postgresSettings?: Record<string, string>;
  /** Called while the server starts. */
  onLaunch?: (() => unknown) | undefined;
  /** How to upgrade a cluster of an older major version; without it, such a cluster is refused. */
  upgrade?: UpgradeOptions;
};

export type EmbeddedPostgres = {
  connection: Connection;
  stop(): Promise<void>;
  /** Resolves with the exit status if the server exits unexpectedly; never resolves after `stop`. */
  exited: Promise<number>;
};

/** For the server of a killed owner to exit. */
const PREVIOUS_SERVER_TIMEOUT_MS = 10_000;

type LaunchOptions = ClusterOptions & { onLaunch: () => unknown };

const launch = async (options: LaunchOptions, password: string, closing: AsyncDisposableStack) => {
  const socketDir = await makeTempDir(options.account);
  closing.defer(() => rm(socketDir, { recursive: true, force: true }));
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
  const deadline = Date.now() + PREVIOUS_SERVER_TIMEOUT_MS;
  for (;;) {
    await waitForPreviousServer(options.dataDir, options.clusterDir, deadline);
    try {
      return await launch(options, password, closing);
    } catch (error) {
      // The owner was killed before the previous server had written its lock file.
      if (!(error instanceof ClusterBusy)) throw error;
      if (Date.now() > deadline) throw new DataDirInUse(options.dataDir);
    }
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

/** @returns the new cluster, or null if no upgrade is needed */
const upgradeIfOlder = async (cluster: LaunchOptions, upgrade: UpgradeOptions | undefined) => {
  const { dataDir, clusterDir, binaries } = cluster;
  const version = upgrade && (await versionToUpgrade(clusterDir, binaries));
  if (!upgrade || !version) return null;
  upgrade.onUpgrade?.(version, binaries.major);
  const password = await readPassword(dataDir);
  const upgraded = await upgradeCluster(version, {
    ...cluster,
    password,
    copy: upgrade.copy,
    deadline: Date.now() + PREVIOUS_SERVER_TIMEOUT_MS,
    launch: async (options, closing) =>
      (await launchAfterPrevious({ ...options, onLaunch: () => undefined }, password, closing)).connection,
  });
  return { clusterDir: upgraded };
};

/**
 * Starts PostgreSQL on the cluster under `dataDir`, which the first start creates. It listens only on a private Unix socket,
 * and stops if this process exits or is killed.
 * @throws DataDirInUse if another Steward uses it, EmbeddedPostgresError if it cannot run
 */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
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
    const exited = new Promise<number>((resolve) => {
      server.exited.then((status) => stopping ?? resolve(status));
    });
    return { connection, stop, exited };
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
};
