import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { spawnWatched, type WatchedProcess, workingDirectory } from './watchdog.ts';

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
    /** The last lines written since it was opened. */
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

/** Stops the server and waits for its exit. */
export const stopServer = async (server: WatchedProcess): Promise<void> => {
  for (const [signal, timeoutMs] of SHUTDOWN) {
    server.send(signal);
    const timeout = sleep(timeoutMs, 'timeout', { ref: false });
    if ((await Promise.race([server.exited, timeout])) !== 'timeout') return;
  }
};
