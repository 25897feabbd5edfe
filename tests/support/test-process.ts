import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeScratchFolder } from './scratch-folder.ts';
import type { Report } from './test-worker.ts';
import type { Ending } from './uvu-totals.ts';

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
