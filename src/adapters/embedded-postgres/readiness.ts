import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Connection } from '../../config/connection.ts';
import { errorCodeOf } from '../../lib/errno.ts';
import { EmbeddedPostgresError } from './errors.ts';
import type { LogFile } from './server.ts';
import type { WatchedProcess } from './watchdog.ts';

/** Recovery after a power cut replays the WAL since the last checkpoint, which seldom takes more than a minute. */
const START_TIMEOUT_MS = 300_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A wrong password, an unknown role and a missing database: waiting does not help. */
const REFUSED_LOGINS = new Set(['28P01', '28000', '3D000']);
const BUSY = /lock file "postmaster.pid" already exists|pre-existing shared memory block/;

/** PostgreSQL found another server on the same cluster. */
export class ClusterBusy extends EmbeddedPostgresError {
  override readonly name = 'ClusterBusy';
}

export const openSession = async (connection: Connection, applicationName?: string): Promise<Client> => {
  const client = new Client({
    ...connection,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A lost connection also fails the statement that is running, which reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
};

const isReady = async (connection: Connection): Promise<boolean> => {
  try {
    await (await openSession(connection)).end();
    return true;
  } catch (cause) {
    if (!REFUSED_LOGINS.has(errorCodeOf(cause) ?? '')) return false;
    throw new EmbeddedPostgresError(
      `The embedded database refuses to log Steward in (${cause instanceof Error ? cause.message : cause}). Restore DATA_DIR from one backup, with its database-password.`,
      { cause },
    );
  }
};

const startFailure = async (status: number | undefined, log: LogFile): Promise<EmbeddedPostgresError> => {
  const lines = await log.tail();
  const Failure = BUSY.test(lines) ? ClusterBusy : EmbeddedPostgresError;
  return new Failure(
    `The embedded database does not start (status ${status ?? 'none yet'}). ${log.path} says:\n${lines}`,
  );
};

/**
 * Waits until the server accepts logins.
 * @throws EmbeddedPostgresError with the last lines of the log, ClusterBusy if another server uses the cluster
 */
export const waitUntilReady = async (server: WatchedProcess, connection: Connection, log: LogFile) => {
  let status: number | undefined;
  const ended = server.exited.then((code) => {
    status = code;
  });
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isReady(connection))) {
    if (status !== undefined || Date.now() > deadline) throw await startFailure(status, log);
    await Promise.race([sleep(5), ended]);
  }
};
