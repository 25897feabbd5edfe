import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Connection } from '../../config/connection.ts';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { readPassword } from './cluster.ts';
import { DATABASE, SERVICE_ROLE } from './roles.ts';

/** Lines of `postmaster.pid`, which PostgreSQL adds one after the other while it starts. */
const PORT_LINE = 3;
const SOCKET_DIR_LINE = 4;

/**
 * Not there yet or no longer: no socket, a server that starts or stops (57P0x), a database not made yet (3D000).
 * node-postgres has no code for a server that hangs up, or does not answer.
 */
const UNAVAILABLE = new Set(['', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03', '3D000']);
const isUnavailable = (error: unknown): boolean => UNAVAILABLE.has(errorCodeOf(error) ?? '');

const CONNECT_TIMEOUT_MS = 5_000;
const POLL_INTERVAL_MS = 100;
/** The name by which a server's owner knows who has joined. */
const ATTACHED = 'steward guest';

export type AttachedPostgres = { connection: Connection; detach(): Promise<void> };

const runningConnection = async (dataDir: string): Promise<Connection | null> => {
  const clusterDir = join(dataDir, 'postgres');
  const lines =
    (await nullIfMissing(readFile(join(clusterDir, 'postmaster.pid'), 'utf8')))?.split('\n') ?? [];
  const host = lines[SOCKET_DIR_LINE];
  if (!host) return null;

  // A stale file may name a folder that somebody else has made since.
  const socketDir = await nullIfMissing(stat(host));
  if (socketDir?.uid !== (await stat(clusterDir)).uid) return null;
  const password = await readPassword(dataDir);
  return { host, port: Number(lines[PORT_LINE]), user: SERVICE_ROLE, password, database: DATABASE };
};

const logIn = async (connection: Connection, applicationName: string): Promise<Client | null> => {
  const client = new Client({
    ...connection,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The server may stop at any moment. That fails the statement at hand, which is where it is reported.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end();
    if (isUnavailable(error)) return null;
    throw error;
  }
};

/**
 * Logs in to the server that another process runs on the cluster under `dataDir`, and stays until it leaves, so
 * that an owner who waits for its guests sees this one. Only for a directory whose owner is alive: the server of a
 * killed one takes logins for another moment.
 * @returns null where no server takes logins at the moment
 */
export const attachToEmbeddedPostgres = async (dataDir: string): Promise<AttachedPostgres | null> => {
  const connection = await runningConnection(resolve(dataDir));
  const session = connection && (await logIn(connection, ATTACHED));
  return session && { connection, detach: () => session.end() };
};

/** Waits until all who have joined have left; a server that is gone has no guests. */
export const waitForAttached = async (connection: Connection): Promise<void> => {
  const session = await logIn(connection, 'steward');
  if (!session) return;
  try {
    while (await hasAttached(session)) await sleep(POLL_INTERVAL_MS);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  } finally {
    await session.end();
  }
};

const hasAttached = async (session: Client): Promise<boolean> => {
  const { rowCount } = await session.query(
    'select from pg_stat_activity where application_name = $1 limit 1',
    [ATTACHED],
  );
  return rowCount === 1;
};
