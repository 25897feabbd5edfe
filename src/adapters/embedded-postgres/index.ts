import { resolve } from 'node:path';
import { ensureDirectory } from '../../lib/files.ts';
import { openTempDir, serverAccount } from './account.ts';
import { locateBinaries } from './binaries.ts';
import { type ClusterOptions, clusterIn, DATABASE, ensureCluster, SERVICE_ROLE } from './cluster.ts';
import { DataDirInUse, EmbeddedPostgresError } from './errors.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { waitForPreviousServer } from './running-server.ts';
import { ClusterBusy, openLogFile, spawnServer, stopServer, waitUntilReady } from './server.ts';

export { hasCluster } from './cluster.ts';
export { DataDirInUse, fullDisk } from './errors.ts';
export { attachToEmbeddedPostgres, waitForAttached } from './running-server.ts';

type EmbeddedPostgresOptions = {
  dataDir: string;
  postgresSettings?: Record<string, string>;
  /** Called while the server starts. */
  onLaunch?: (() => unknown) | undefined;
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
  const { postgresSettings: settings = {}, onLaunch = () => undefined } = options;
  const lock = await acquireInstanceLock(dataDir);
  closing.defer(lock.release);
  const log = await openLogFile(dataDir);
  closing.defer(log.close);

  const clusterDir = clusterIn(dataDir);
  const account = await serverAccount(dataDir, clusterDir);
  const binaries = await locateBinaries(account, dataDir);
  const cluster = { dataDir, clusterDir, account, binaries, log, settings, onLaunch };
  const password = await ensureCluster(cluster);
  return launchAfterPrevious(cluster, password, closing);
};

/** How long the server of a killed owner may take to exit. */
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
