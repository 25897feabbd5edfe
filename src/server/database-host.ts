import { setTimeout as sleep } from 'node:timers/promises';
import {
  attachToEmbeddedPostgres,
  DataDirInUse,
  startEmbeddedPostgres,
  waitForAttached,
} from '../adapters/embedded-postgres/index.ts';
import type { Config } from '../config/config.ts';
import type { Connection } from '../config/connection.ts';
import { loadSecretKey } from '../config/secret-key.ts';
import { settleTls } from '../db/single-client.ts';
import { sizePools } from './workers/pool-sizing.ts';

/** The database that the settings name, started if it is the embedded one, and the key that goes with it. */
export type DatabaseHost = {
  connection: Connection;
  secretKey: string;
  stop: () => Promise<void>;
  /** Resolves should the embedded server end by itself. */
  lost: Promise<unknown>;
};

const NEVER = new Promise<never>(() => {});

/** How long a command waits for a service that is just starting: a first start takes about 3 s. */
const STARTING_PATIENCE_MS = 15_000;
const RETRY_MS = 50;

/** @param onLaunch is called while the embedded server, once it is launched, makes itself ready */
export const openDatabaseHost = async (
  config: Config,
  { onLaunch }: { onLaunch?: () => unknown } = {},
): Promise<DatabaseHost> => {
  const { preparesStatements } = config;
  if (config.database) {
    // The settings were refused unless a key goes with a database of one's own.
    return {
      connection: { ...(await settleTls(config.database)), preparesStatements },
      secretKey: config.secretKey ?? '',
      stop: async () => {},
      lost: NEVER,
    };
  }
  // Before the server starts: a refused key must not leave it running.
  const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
  const {
    connection: socket,
    stop,
    exited,
  } = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    postgresSettings: { max_connections: String(sizePools(config.workers).serverSize) },
    onLaunch,
  });
  const connection = { ...socket, preparesStatements };
  return { connection, secretKey, stop, lost: exited };
};

/**
 * The workplace of a command, which works beside a running service on the service's server. Where it has to start
 * one itself, it is not the one to end it under another command that has joined.
 */
const openCommandDatabaseHost = async (config: Config, patienceMs: number): Promise<DatabaseHost> => {
  if (config.database) return openDatabaseHost(config);
  const deadline = Date.now() + patienceMs;
  for (;;) {
    // Starting comes first: whoever has the lock is alive, and a killed service's server is waited for to end.
    const own = await openDatabaseHost(config).catch(orInUse);
    if (!(own instanceof DataDirInUse)) {
      return { ...own, stop: () => waitForAttached(own.connection).finally(own.stop) };
    }
    const joined = await attachToEmbeddedPostgres(config.dataDir);
    if (joined) {
      const secretKey = config.secretKey ?? (await loadSecretKey(config.dataDir));
      const connection = { ...joined.connection, preparesStatements: config.preparesStatements };
      return { connection, secretKey, stop: joined.detach, lost: NEVER };
    }
    // Its owner is starting or stopping.
    if (Date.now() > deadline) throw own;
    await sleep(RETRY_MS);
  }
};

const orInUse = (error: unknown): DataDirInUse => {
  if (error instanceof DataDirInUse) return error;
  throw error;
};

/**
 * Opens the workplace for one piece of work, beside a running service if need be, and closes it whatever comes of it.
 * @throws DataDirInUse when the service of the embedded database takes no logins
 */
export const withDatabaseHost = async <T>(
  config: Config,
  work: (place: DatabaseHost) => Promise<T>,
  { startingPatienceMs = STARTING_PATIENCE_MS } = {},
): Promise<T> => {
  const place = await openCommandDatabaseHost(config, startingPatienceMs);
  try {
    return await work(place);
  } finally {
    await place.stop();
  }
};
