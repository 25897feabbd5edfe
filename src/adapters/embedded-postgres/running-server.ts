import { readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../config/connection.ts';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { run } from './account.ts';
import { clusterIn, DATABASE, readPassword, SERVICE_ROLE } from './cluster.ts';
import { DataDirInUse } from './errors.ts';
import { openSession } from './server.ts';

/**
 * The server is starting or stopping, or the database does not exist yet (3D000). node-postgres has no code for a server that closes the
 * connection or does not answer.
 */
const UNAVAILABLE = new Set(['', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03', '3D000']);

const nullIfUnavailable = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (UNAVAILABLE.has(errorCodeOf(error) ?? '')) return null;
    throw error;
  });

const POLL_INTERVAL_MS = 100;
/** The application name of attached sessions. */
const ATTACHED = 'steward guest';

/**
 * Logs in to the server that another process runs on the cluster under `dataDir`, and stays connected until `detach`, so that
 * the owner waits for it before it stops the server. The owner must be alive: the server of a killed one still accepts logins
 * for a moment.
 * @returns null if no server accepts logins now
 */
export const attachToEmbeddedPostgres = async (dataDir: string) => {
  const connection = await findConnection(resolve(dataDir));
  const session = connection && (await nullIfUnavailable(openSession(connection, ATTACHED)));
  return session && { connection, detach: () => session.end() };
};

const findConnection = async (dataDir: string): Promise<Connection | null> => {
  const clusterDir = clusterIn(dataDir);
  const { port, socketDir: host } = (await readPostmasterFile(clusterDir)) ?? {};
  if (!host) return null;

  // A stale file may name a directory that another user has created since.
  const socketDir = await nullIfMissing(stat(host));
  if (socketDir?.uid !== (await stat(clusterDir)).uid) return null;
  const password = await readPassword(dataDir);
  return { host, port: Number(port), user: SERVICE_ROLE, password, database: DATABASE };
};

/** Waits until all attached sessions have ended, or the server has stopped. */
export const waitForAttached = async (connection: Connection): Promise<void> => {
  await using session = await nullIfUnavailable(openSession(connection));
  if (!session) return;
  const isAttached = async () => {
    const sql = 'select from pg_stat_activity where application_name = $1 limit 1';
    return (await session.query(sql, [ATTACHED])).rowCount === 1;
  };
  while (await nullIfUnavailable(isAttached())) await sleep(POLL_INTERVAL_MS);
};

/**
 * Waits until the server of a killed owner has exited: its watchdog stops it. If an unrelated process has taken its pid (a restarted
 * container counts from 1 again), replaces the pid in the lock file by our own, which PostgreSQL considers stale. The file must stay,
 * because PostgreSQL finds its shared memory by it.
 * @param deadline on the clock of `performance.now()`
 * @throws DataDirInUse if the server is still running at the deadline
 */
export const waitForPreviousServer = async (dataDir: string, clusterDir: string, deadline: number) => {
  let previous = await readPostmasterFile(clusterDir);
  while (previous && (await isAlive(previous))) {
    if (performance.now() > deadline) throw new DataDirInUse(dataDir, previous.pid);
    await sleep(25);
    previous = await readPostmasterFile(clusterDir);
  }
  if (previous) await writeFile(previous.file, [process.pid, ...previous.lines.slice(1)].join('\n'));
};

type PostmasterFile = NonNullable<Awaited<ReturnType<typeof readPostmasterFile>>>;

/** PostgreSQL appends the lines one after the other while it starts. */
const readPostmasterFile = async (clusterDir: string) => {
  const file = join(clusterDir, 'postmaster.pid');
  const text = await nullIfMissing(readFile(file, 'utf8'));
  if (!text) return null;
  const lines = text.split('\n');
  const [pid, , , port, socketDir] = lines;
  return { file, lines, pid: Number(pid), port, socketDir };
};

/** The random name of the socket directory distinguishes the server from an unrelated process with its pid. */
const isAlive = async ({ pid, socketDir }: PostmasterFile): Promise<boolean> =>
  (await commandLine(pid)).includes(socketDir || 'postgres');

const commandLine = async (pid: number): Promise<string> => {
  try {
    if (process.platform === 'linux') return await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return (await run('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
  } catch (_noSuchProcess) {
    return '';
  }
};
