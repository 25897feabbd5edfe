import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Connection } from '../../config/connection.ts';
import { ensureDirectory } from '../../lib/ensure-directory.ts';
import { serverAccount } from './account.ts';
import { locateBinaries } from './binaries.ts';
import { type ClusterOptions, ensureCluster } from './cluster.ts';
import { ClusterBusy, DataDirInUse, EmbeddedPostgresError } from './errors.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { openLogFile } from './log-file.ts';
import { waitForPreviousServer } from './postmaster-file.ts';
import { waitUntilReady } from './readiness.ts';
import { DATABASE, SERVICE_ROLE } from './roles.ts';
import { spawnServer, stopServer } from './server.ts';
import { makeTempDir } from './temp-dir.ts';

export { attachToEmbeddedPostgres, waitForAttached } from './attach.ts';
export { DataDirInUse, EmbeddedPostgresError } from './errors.ts';

export type EmbeddedPostgresOptions = {
  dataDir: string;
  postgresSettings?: Record<string, string>;
  /** Called when the server is launched, to do other things while it makes itself ready. */
  onLaunch?: (() => unknown) | undefined;
};

export type EmbeddedPostgres = {
  connection: Connection;
  stop(): Promise<void>;
  /** The exit status, should the server end by itself; pending for ever after a `stop`. */
  exited: Promise<number>;
};

/** How long a start waits for the server of a killed owner to end. */
const PREVIOUS_SERVER_TIMEOUT_MS = 10_000;

type LaunchOptions = ClusterOptions & { onLaunch: () => unknown };

const launch = async (place: LaunchOptions, password: string, closing: AsyncDisposableStack) => {
  const socketDir = await makeTempDir(place.account);
  closing.defer(() => rm(socketDir, { recursive: true, force: true }));
  const server = spawnServer({ ...place, socketDir });
  closing.defer(() => stopServer(server));
  place.onLaunch();
  const port = Number(place.settings.port ?? 5432);
  const connection = { host: socketDir, port, user: SERVICE_ROLE, password, database: DATABASE };
  await waitUntilReady(server, connection, place.log);
  return { connection, server };
};

const launchAfterPrevious = async (place: LaunchOptions, password: string, closing: AsyncDisposableStack) => {
  const deadline = Date.now() + PREVIOUS_SERVER_TIMEOUT_MS;
  for (;;) {
    await waitForPreviousServer(place.dataDir, place.clusterDir, deadline);
    try {
      return await launch(place, password, closing);
    } catch (error) {
      // Its owner was killed so early that the former server had not written its lock file yet.
      if (!(error instanceof ClusterBusy)) throw error;
      if (Date.now() > deadline) throw new DataDirInUse(place.dataDir);
    }
  }
};

const start = async (
  dataDir: string,
  { postgresSettings: settings = {}, onLaunch = () => undefined }: EmbeddedPostgresOptions,
  closing: AsyncDisposableStack,
) => {
  const lock = await acquireInstanceLock(dataDir);
  closing.defer(lock.release);
  const log = await openLogFile(dataDir);
  closing.defer(log.close);

  const clusterDir = join(dataDir, 'postgres');
  const account = await serverAccount(dataDir, clusterDir);
  const binaries = await locateBinaries(account, dataDir);
  const place = { dataDir, clusterDir, account, binaries, log, settings, onLaunch };
  const password = await ensureCluster(place);
  return launchAfterPrevious(place, password, closing);
};

/**
 * Starts PostgreSQL on the cluster under `dataDir`, which is made at the first time. It listens on a private Unix
 * socket only, and ends with this process, however that ends.
 * @throws DataDirInUse when another Steward has it, EmbeddedPostgresError when it cannot run
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
