import { type ChildProcess, spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Account } from './account.ts';

/**
 * Runs `$2…` until Node says otherwise over the pipe on stdin: each line is a signal to pass on, and its end,
 * which comes however Node dies, means a fast shutdown. That is repeated, since a process ignores SIGINT until it
 * has set its handlers. Removes the directory `$1`, empty by then, where one is named.
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

export type WatchedSignal = 'INT' | 'QUIT' | 'KILL';

export type WatchedProcess = {
  send(signal: WatchedSignal): void;
  /** Never rejects. Exit status; 128 and the signal's number where a signal ended it. */
  exited: Promise<number>;
};

export type WatchedOptions = {
  command: string;
  args: string[];
  cwd: string;
  account: Account | undefined;
  /** File descriptor of the file that takes stdout and stderr. */
  output: number;
  /** An otherwise empty directory to remove at the end. */
  removing?: string;
};

/** Nothing of our environment is passed on: it holds secrets that the database has no use for. */
const environment = () => ({
  PATH: process.env.PATH,
  LC_ALL: 'C',
  // PostgreSQL takes a stale lock file that names its parent or this process for what it is.
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
 * Spawns a command that never outlives this process. It has a session of its own: Ctrl-C in a terminal
 * reaches every process of the foreground group, and the database must wait for our graceful stop.
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
  // Writing to a process that has just ended fails; its exit is reported all the same.
  child.stdin?.on('error', () => child.stdin?.destroy());
  return { send: (signal) => void child.stdin?.write(`${signal}\n`), exited: exitOf(child, output) };
};
