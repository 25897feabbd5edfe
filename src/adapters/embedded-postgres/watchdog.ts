import { type ChildProcess, spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Account } from './account.ts';

/**
 * Runs `$2…`. Each line on stdin is a signal to forward. The end of stdin, which also follows if Node is killed, starts a
 * fast shutdown: SIGINT is repeated, because a process ignores it until its handlers are set. Then removes the empty
 * directory `$1`, if given.
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

export type WatchedProcess = {
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
