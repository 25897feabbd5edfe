import { type ChildProcess, spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Connection } from '../../config/connection.ts';
import { errorCodeOf, reasonOf } from '../../lib/errno.ts';
import { hasDiskSpace } from '../../lib/files.ts';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError, fullDisk } from './errors.ts';

export type LogFile = Awaited<ReturnType<typeof openLogFile>>;

/** A larger log is truncated at the next start. */
const MAX_LOG_BYTES = 10 * 1024 * 1024;
const TAIL_BYTES = 4096;
const TAIL_LINES = 12;

/** Opens `postgres.log`, which receives the output of PostgreSQL's programs. */
export const openLogFile = async (dataDir: string) => {
  const path = join(dataDir, 'postgres.log');
  const file = await open(path, 'a+', 0o600);
  const { size } = await file.stat();
  if (size > MAX_LOG_BYTES) await file.truncate();
  const start = size > MAX_LOG_BYTES ? 0 : size;
  return {
    path,
    fd: file.fd,
    /** The last lines that were written since the file was opened. */
    tail: () => readTail(file, start),
    close: () => file.close(),
  };
};

const readTail = async (file: FileHandle, start: number): Promise<string> => {
  const { size } = await file.stat();
  const from = Math.max(start, size - TAIL_BYTES);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(TAIL_BYTES), position: from });
  return buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
};

export type ServerOptions = {
  clusterDir: string;
  binaries: Binaries;
  account: Account | undefined;
  log: LogFile;
  socketDir: string;
  settings: Record<string, string>;
};

const SETTINGS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Failing statements and error details contain tokens and hashes; Steward handles those errors itself.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

export const spawnServer = (options: ServerOptions): WatchedProcess => {
  const settings = { ...SETTINGS, unix_socket_directories: options.socketDir, ...options.settings };
  return spawnWatched({
    command: options.binaries.postgres,
    args: [
      '-D',
      workingDirectory(options.clusterDir),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: options.clusterDir,
    account: options.account,
    output: options.log.fd,
    removing: options.socketDir,
  });
};

/** A fast shutdown, which writes a checkpoint, then an immediate one, then SIGKILL, each with its timeout. */
const SHUTDOWN = [
  ['INT', 30_000],
  ['QUIT', 8_000],
  ['KILL', 2_000],
] as const;

export const stopServer = async (server: WatchedProcess): Promise<void> => {
  for (const [signal, timeoutMs] of SHUTDOWN) {
    server.send(signal);
    const timeout = sleep(timeoutMs, 'timeout', { ref: false });
    if ((await Promise.race([server.exited, timeout])) !== 'timeout') return;
  }
};

/** Recovery after a power cut replays the WAL since the last checkpoint, which seldom takes more than a minute. */
const START_TIMEOUT_MS = 300_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A wrong password, an unknown role and a missing database: waiting does not help. */
const REFUSED_LOGINS = new Set(['28P01', '28000', '3D000']);
const BUSY = /lock file "postmaster.pid" already exists|pre-existing shared memory block/;

/** PostgreSQL found another server on the same cluster. */
export class ClusterBusy extends EmbeddedPostgresError {}

/** Logs in until disposed of. */
export const openSession = async (connection: Connection, applicationName?: string) => {
  const client = new Client({
    ...connection,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A lost connection also fails the statement that is running, which reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
  } catch (error) {
    await client.end();
    throw error;
  }
};

const isReady = async (connection: Connection): Promise<boolean> => {
  try {
    await using _loggedIn = await openSession(connection);
    return true;
  } catch (cause) {
    if (!REFUSED_LOGINS.has(errorCodeOf(cause) ?? '')) return false;
    throw new EmbeddedPostgresError(
      `The embedded database refuses to log Steward in (${reasonOf(cause)}). Restore DATA_DIR from one backup, with its database-password.`,
      { cause },
    );
  }
};

/** Not for shared memory, which is outside of DATA_DIR. */
const DISK_FULL = /^(?!.*shared memory).*(No space left on device|Disk quota exceeded)/m;

/** Adds the reason to the sentence: a full disk, for which the log may have no line, or the last lines of the log. */
export const explainFailure = async (sentence: string, lines: string, log: LogFile): Promise<string> => {
  const dataDir = dirname(log.path);
  return DISK_FULL.test(lines) || !(await hasDiskSpace(dataDir))
    ? `${sentence} ${fullDisk(dataDir)}`
    : `${sentence} ${log.path} says:\n${lines}`;
};

const startFailure = async (status: number | undefined, log: LogFile): Promise<EmbeddedPostgresError> => {
  const lines = await log.tail();
  const Failure = BUSY.test(lines) ? ClusterBusy : EmbeddedPostgresError;
  const sentence = `The embedded database does not start (status ${status ?? 'none yet'}).`;
  return new Failure(await explainFailure(sentence, lines, log));
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
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await isReady(connection))) {
    if (status !== undefined || performance.now() > deadline) throw await startFailure(status, log);
    await Promise.race([sleep(5), ended]);
  }
};

/**
 * Runs `$2…`. Each line on stdin is a signal to forward. The end of stdin, which Node's death also causes, starts a fast shutdown: SIGINT
 * is repeated, because a process ignores it until its handlers are set. Finally removes the empty directory `$1`, if given.
 */
const SCRIPT = `
exec 3<&0
trap '' HUP INT TERM
directory=$1
shift
"$@" 3<&- </dev/null &
server=$!
(
  while read -r signal <&3; do kill "-$signal" "$server"; done
  while kill -INT "$server"; do sleep 1; done
) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$server"
status=$?
kill -KILL "$watcher"
[ -z "$directory" ] || rmdir "$directory" 2>/dev/null
exit "$status"
`;

type WatchedSignal = 'INT' | 'QUIT' | 'KILL';

type WatchedProcess = {
  send(signal: WatchedSignal): void;
  /** Exit status; 128 plus the number of the signal that ended it. Never rejects. */
  exited: Promise<number>;
};

type WatchedOptions = {
  command: string;
  args: string[];
  cwd: string;
  account: Account | undefined;
  /** File descriptor for stdout and stderr. */
  output: number;
  /** A directory to remove at the end, if empty. */
  removing?: string;
};

/** Steward's environment is not passed on, because it contains secrets. */
const environment = () => ({
  PATH: process.env.PATH,
  LC_ALL: 'C',
  // PostgreSQL recognizes a lock file with the pid of its parent or of this process as stale.
  PG_GRANDPARENT_PID: String(process.pid),
});

const CANNOT_RUN = 126;

const exitOf = (child: ChildProcess, output: number): Promise<number> =>
  new Promise((resolve) => {
    child.once('error', (error) => {
      writeSync(output, `${error.message}\n`);
      resolve(CANNOT_RUN);
    });
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });

/**
 * Spawns a command that never outlives this process. It gets a new session, because Ctrl-C in a terminal signals the whole
 * foreground process group, and the database must not stop before Steward.
 */
export const spawnWatched = (options: WatchedOptions): WatchedProcess => {
  const { command, args, cwd, account, output, removing = '' } = options;
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'steward-watchdog', removing, command, ...args], {
    ...account,
    cwd,
    detached: true,
    env: environment(),
    stdio: ['pipe', output, output],
  });
  // Writing to a process that has just exited fails; `exited` reports it.
  child.stdin?.on('error', () => child.stdin?.destroy());
  return { send: (signal) => void child.stdin?.write(`${signal}\n`), exited: exitOf(child, output) };
};

/**
 * The name of the working directory for PostgreSQL: the child enters it while still root, so the account needs no permission
 * for the directories above it (`/root`).
 */
export const workingDirectory = (dir: string): string =>
  process.platform === 'linux' ? '/proc/self/cwd' : dir;
