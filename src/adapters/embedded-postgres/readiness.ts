import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Connection } from '../../config/connection.ts';
import { errorCodeOf } from '../../lib/errno.ts';
import { ClusterBusy, EmbeddedPostgresError } from './errors.ts';
import type { LogFile } from './log-file.ts';
import type { WatchedProcess } from './watchdog.ts';

/** Recovery after a power cut replays what was written since the last checkpoint, seldom more than a minute. */
const START_PATIENCE_MS = 300_000;
/** A wrong password, an unknown role and a missing database: waiting does not help. */
const REFUSED_LOGINS = new Set(['28P01', '28000', '3D000']);

const logIn = async (connection: Connection): Promise<void> => {
  const client = new Client({ ...connection, connectionTimeoutMillis: 5000 });
  // A server that goes away in between also fails the call at hand, which is where it is reported.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } finally {
    await client.end();
  }
};

const isReady = async (connection: Connection): Promise<boolean> => {
  try {
    await logIn(connection);
    return true;
  } catch (cause) {
    if (!REFUSED_LOGINS.has(errorCodeOf(cause) ?? '')) return false;
    throw new EmbeddedPostgresError(
      `The embedded database refuses to log Steward in (${cause instanceof Error ? cause.message : cause}). Restore DATA_DIR from one backup, with its database-password.`,
      { cause },
    );
  }
};

const BUSY = /lock file "postmaster.pid" already exists|pre-existing shared memory block/;

const startFailure = async (status: number | undefined, log: LogFile): Promise<EmbeddedPostgresError> => {
  const lines = await log.tail();
  const Failure = BUSY.test(lines) ? ClusterBusy : EmbeddedPostgresError;
  return new Failure(
    `The embedded database does not start (status ${status ?? 'none yet'}). ${log.path} says:\n${lines}`,
  );
};

/**
 * Waits until the server takes logins.
 * @throws EmbeddedPostgresError with the last lines of the log, ClusterBusy when another server has the cluster
 */
export const waitUntilReady = async (
  server: WatchedProcess,
  connection: Connection,
  log: LogFile,
): Promise<void> => {
  let status: number | undefined;
  const ended = server.exited.then((code) => {
    status = code;
  });
  const deadline = Date.now() + START_PATIENCE_MS;
  while (!(await isReady(connection))) {
    if (status !== undefined || Date.now() > deadline) throw await startFailure(status, log);
    await Promise.race([sleep(5), ended]);
  }
};
