import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratchFolder } from './files.ts';
import type { Report } from './test-worker.ts';

export type TestProcessOptions = { env: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal };

export type TestProcess = Awaited<ReturnType<typeof startTestProcess>>;

type Reported = Omit<Ending, 'output' | 'timedOut'>;

/** Test files stay loaded with much of their data, so that the heap grows. */
const FULL_HEAP_BYTES = 500 * 1024 * 1024;

const WORKER = join(import.meta.dirname, 'test-worker.ts');

/** Kills the process and all processes that it started in its group. */
const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!gone) throw error;
  }
};

/** A file and not a pipe: it holds all output when the process reports that it is done. A pipe may lag behind. */
const openOutput = async () => {
  const folder = await makeScratchFolder();
  const file = await open(folder.join('output'), 'w+');
  let position = 0;
  return {
    fd: file.fd,
    /** The output since the last call. */
    next: async (): Promise<string> => {
      const { size } = await file.stat();
      const { buffer } = await file.read({ buffer: Buffer.alloc(size - position), position });
      position = size;
      return buffer.toString();
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await file.close();
      await folder[Symbol.asyncDispose]();
    },
  };
};

/** Starts a process, in a new process group, that runs one test file after another. */
export const startTestProcess = async ({ env, timeoutMs, signal }: TestProcessOptions) => {
  const output = await openOutput();
  const child = spawn(process.execPath, [WORKER], {
    detached: true,
    env,
    stdio: ['ignore', output.fd, output.fd, 'ipc'],
  });
  const ended = once(child, 'exit').then(([status]) => status as number | null); // of node's `exit` event
  let heapBytes = 0;
  const abort = () => killGroup(child);
  signal.addEventListener('abort', abort, { once: true });

  /** Runs a file, and resolves when it is done or the process has ended. */
  const follow = (file: string): Promise<Reported> =>
    new Promise((resolve) => {
      const reported: Reported = { changed: [] };
      const finish = () => {
        child.off('message', listen);
        resolve(reported);
      };
      const listen = (report: Report): void => {
        if ('totals' in report) {
          reported.totals = report.totals;
          // The process ends after a failure, so nobody waits for what the failed test has left open.
          if (faultsIn(report.totals).length > 0) finish();
        } else {
          reported.changed = report.changed;
          heapBytes = report.heapBytes;
          finish();
        }
      };
      child.on('message', listen);
      ended.then((status) => {
        reported.status = status;
        finish();
      });
      // Sending fails only if the process has ended, which is handled above.
      child.send(file, () => undefined);
    });

  return {
    run: async (file: string): Promise<Ending> => {
      let timedOut = false;
      const timer = setTimeout(() => {
        timedOut = true;
        killGroup(child);
      }, timeoutMs);
      const ending = await follow(file);
      clearTimeout(timer);
      return { ...ending, timedOut, output: await output.next() };
    },
    /** Whether the next file should run in a new process. */
    isFull: (): boolean => heapBytes > FULL_HEAP_BYTES,
    /** Ends the process after the last file. @throws if its exit status is not 0 */
    end: async (): Promise<void> => {
      if (child.connected) child.disconnect();
      const timer = setTimeout(abort, timeoutMs);
      const status = await ended;
      clearTimeout(timer);
      if (status !== 0)
        throw new Error(`A test process ended badly: status ${status ?? 'none'}\n${await output.next()}`);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      signal.removeEventListener('abort', abort);
      killGroup(child);
      await ended;
      await output[Symbol.asyncDispose]();
    },
  };
};

export type Totals = { total: number; passed: number; skipped: number };

/** How the run of a test file ended. */
export type Ending = {
  /** Absent if its suites did not finish. */
  totals?: Totals;
  /** Names of the process state that the file did not restore. */
  changed: string[];
  /** Exit status of the process if it ended before the file was done; null after a signal. */
  status?: number | null;
  timedOut: boolean;
  output: string;
};

export type Verdict = { passed: number; failed: number; faults: string[] };

const faultsIn = (totals: Totals): string[] => {
  const faults: string[] = [];
  if (totals.total === 0) faults.push('has no tests');
  if (totals.passed !== totals.total)
    faults.push(`${totals.total - totals.passed} of ${totals.total} did not pass`);
  if (totals.skipped > 0) faults.push(`${totals.skipped} left out by skip or only`);
  return faults;
};

/**
 * Whether a file passed. uvu alone reports success after a throwing `before`, a missing `.run()`, an early `process.exit()`
 * and a forgotten `.only`.
 */
export const judge = ({ totals, changed, status, timedOut }: Ending): Verdict => {
  const faults = totals ? faultsIn(totals) : ['ended without a summary'];
  if (changed.length > 0) faults.push(`has left changed: ${changed.join(', ')}`);
  if (timedOut) faults.push('took too long');
  else if (status !== undefined) faults.push(`ended the process: status ${status ?? 'none, but a signal'}`);

  const passed = totals?.passed ?? 0;
  const failed = Math.max((totals?.total ?? 0) - passed, faults.length > 0 ? 1 : 0);
  return { passed, failed, faults };
};
