import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { LogFile } from './log-file.ts';
import { spawnWatched, type WatchedProcess, type WatchedSignal } from './watchdog.ts';
import { workingDirectory } from './working-directory.ts';

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
  // Failing statements and the details of errors carry tokens and hashes; we see those errors ourselves.
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

/** From a fast shutdown, which writes a checkpoint, to the hard ways, each with the time it gets. */
const SHUTDOWN: [WatchedSignal, patienceMs: number][] = [
  ['INT', 30_000],
  ['QUIT', 8_000],
  ['KILL', 2_000],
];

/** Ends the server, gently at first. Resolves when it is gone. */
export const stopServer = async (server: WatchedProcess): Promise<void> => {
  for (const [signal, patienceMs] of SHUTDOWN) {
    server.send(signal);
    const timer = new AbortController();
    const late = sleep(patienceMs, 'late', { signal: timer.signal });
    const outcome = await Promise.race([server.exited, late]);
    timer.abort();
    if (outcome !== 'late') return;
  }
};
