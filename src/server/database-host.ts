import { setTimeout as sleep } from 'node:timers/promises';
import {
  attachToEmbeddedPostgres,
  DataDirInUse,
  fullDisk,
  hasCluster,
  startEmbeddedPostgres,
  waitForAttached,
} from '../adapters/embedded-postgres/index.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { loadSecretKey } from '../config/secret-file.ts';
import { resolveTlsMode } from '../db/client.ts';
import { problemOfDatabaseError } from '../db/database-errors.ts';
import { causeInWords, OperatorError, reasonOf } from '../lib/errno.ts';
import { hasDiskSpace } from '../lib/files.ts';
import { NO_DISK_SPACE } from '../lib/problems.ts';

/** The configured database, which is started if it is the embedded one, and its secret key. */
export type DatabaseHost = {
  connection: Connection;
  secretKey: string;
  stop: () => Promise<void>;
  /** Resolves if the embedded server exits unexpectedly. */
  lost: Promise<unknown>;
};

/**
 * Commands that need data never create a database: a mistyped DATA_DIR would look like an empty one.
 * @throws OperatorError
 */
export const requireDatabase = async ({ database, dataDir }: Config): Promise<void> => {
  if (database || (await hasCluster(dataDir))) return;
  throw new OperatorError(
    `There is no database in ${dataDir}. Set DATA_DIR to the folder of the service, or DATABASE_URL.`,
  );
};

export const NEVER = new Promise<never>(() => {});

/** How long a command waits for a service that is starting: a first start takes about 3 s. */
const STARTING_PATIENCE_MS = 15_000;
const RETRY_MS = 50;

type Options = {
  /** Called while the embedded server starts. */
  onLaunch?: () => unknown;
};

export const openDatabaseHost = async (config: Config, options: Options = {}): Promise<DatabaseHost> => {
  const { preparesStatements } = config;
  if (config.database) {
    // `readConfig` requires SECRET_KEY with DATABASE_URL, except for restores, which do not use it.
    return {
      connection: { ...(await resolveTlsMode(config.database)), preparesStatements },
      secretKey: config.secretKey ?? '',
      stop: async () => {},
      lost: NEVER,
    };
  }
  try {
    return await openEmbedded(config, options);
  } catch (error) {
    throw nameFolder(await nameFullDisk(error, config), config);
  }
};

const openEmbedded = async (config: Config, options: Options): Promise<DatabaseHost> => {
  // Read before the server starts: a rejected key must not leave the server running.
  const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
  const server = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    postgresSettings: { max_connections: String(sizePools(config.workers).serverSize) },
    onLaunch: options.onLaunch,
  });
  const connection = { ...server.connection, preparesStatements: config.preparesStatements };
  return { connection, secretKey, stop: server.stop, lost: server.exited };
};

/** The names of files in DATA_DIR are meaningless to the operator. */
const nameFolder = (error: unknown, { dataDir }: Config): unknown => {
  const cause = causeInWords(error);
  if (cause === null) return error;
  const placed = reasonOf(error);
  const isElsewhere = placed.startsWith('/') && !placed.startsWith(dataDir);
  const sentence = `DATA_DIR ${dataDir} cannot be used (${isElsewhere ? placed : cause}).`;
  return new OperatorError(sentence, { cause: error });
};

/** Names the folder on the full disk, if that is why the embedded database failed. */
export const nameFullDisk = async (error: unknown, { database, dataDir }: Config): Promise<unknown> => {
  const problem = problemOfDatabaseError(error);
  if (database || problem?.code !== 'database-unavailable') return error;
  return problem.message === NO_DISK_SPACE || !(await hasDiskSpace(dataDir))
    ? new OperatorError(fullDisk(dataDir), { cause: error })
    : error;
};

/**
 * Opens the database for a command. If a service is running, the command uses its server; otherwise it starts one, and stops it only after
 * other commands have disconnected.
 */
const openCommandDatabaseHost = async (config: Config, patienceMs: number): Promise<DatabaseHost> => {
  if (config.database) return openDatabaseHost(config);
  const deadline = performance.now() + patienceMs;
  for (;;) {
    // Tries to start first: this waits for the server of a killed service, and fails only if the lock's owner is alive.
    const own = await openDatabaseHost(config).catch((error: unknown) => {
      if (error instanceof DataDirInUse) return error;
      throw error;
    });
    if (!(own instanceof DataDirInUse)) {
      return { ...own, stop: () => waitForAttached(own.connection).finally(own.stop) };
    }
    const joined = await attachToEmbeddedPostgres(config.dataDir);
    if (joined) {
      const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
      const connection = { ...joined.connection, preparesStatements: config.preparesStatements };
      return { connection, secretKey, stop: joined.detach, lost: NEVER };
    }
    // The owner is starting or stopping.
    if (performance.now() > deadline) throw own;
    await sleep(RETRY_MS);
  }
};

/**
 * Opens the database, next to a running service if there is one, runs `work`, and closes it.
 * @throws DataDirInUse if the embedded database accepts no logins
 */
export const withDatabaseHost = async <T>(
  config: Config,
  work: (host: DatabaseHost) => Promise<T>,
  patienceMs = STARTING_PATIENCE_MS,
): Promise<T> => {
  const host = await openCommandDatabaseHost(config, patienceMs);
  try {
    return await work(host);
  } catch (error) {
    throw config.database ? error : nameStop(await nameFullDisk(error, config));
  } finally {
    await host.stop();
  }
};

/** When a service stops, its server stops too, even while a command uses it. */
const nameStop = (error: unknown): unknown =>
  !(error instanceof OperatorError) && problemOfDatabaseError(error)?.code === 'database-unavailable'
    ? new OperatorError(
        `The embedded database has stopped, probably with the service that ran it (${reasonOf(error)}). Run the command again.`,
        { cause: error },
      )
    : error;

/** Per process: more connections would only wait for each other in the server. */
const MAX_POOL_SIZE = 10;
/** Some requests need a second connection. */
const MIN_POOL_SIZE = 4;
/** For all pools together: PostgreSQL's default `max_connections` is 100. */
const MAX_POOLED = 72;
const SERVER_DEFAULT = 100;
/** For commands, migrations, and PostgreSQL's reserved superuser connections. */
const RESERVED = 20;

/** Computes the pool size of each worker and `max_connections` of the embedded server. */
export const sizePools = (workers: number): { poolSize: number; serverSize: number } => ({
  poolSize: Math.max(MIN_POOL_SIZE, Math.min(MAX_POOL_SIZE, Math.floor(MAX_POOLED / workers))),
  // Each worker has two more connections for LISTEN: for mails, and for streams of events.
  serverSize: Math.max(SERVER_DEFAULT, workers * (MIN_POOL_SIZE + 2) + RESERVED),
});
