import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from './test-worker.ts';
import type { Ending } from './uvu-totals.ts';

export type TestProcessOptions = { env: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal };

export type TestProcess = Awaited<ReturnType<typeof startTestProcess>>;

type Told = Omit<Ending, 'output' | 'timedOut'>;

/** Files stay loaded, with much of what they have made. */
const FULL_HEAP_BYTES = 500 * 1024 * 1024;

const WORKER = join(import.meta.dirname, 'test-worker.ts');

/** Ends the process and whatever it has started in its group. */
const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!gone) throw error;
  }
};

/** A file, so that all that was written is there once the process says that it has done: a pipe may lag behind. */
const openOutput = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-output-'));
  const file: FileHandle = await open(join(folder, 'output'), 'w+');
  let position = 0;
  return {
    fd: file.fd,
    /** What was written since the last call. */
    next: async (): Promise<string> => {
      const { size } = await file.stat();
      const { buffer } = await file.read({ buffer: Buffer.alloc(size - position), position });
      position = size;
      return buffer.toString();
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await file.close();
      await rm(folder, { recursive: true });
    },
  };
};

/** Starts a process, in a group of its own, that runs one test file after the other. */
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

  /** Resolves once the file has done, or the process with it. */
  const follow = (file: string): Promise<Told> =>
    new Promise((resolve) => {
      const told: Told = { changed: [] };
      const finish = () => {
        child.off('message', listen);
        resolve(told);
      };
      const listen = (report: Report): void => {
        if ('totals' in report) {
          told.totals = report.totals;
        } else {
          told.changed = report.changed;
          heapBytes = report.heapBytes;
          finish();
        }
      };
      child.on('message', listen);
      ended.then((status) => {
        told.status = status;
        finish();
      });
      // That it cannot be told means that it has ended, which is told already.
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
    /** Whether another process had better take the next file. */
    isFull: (): boolean => heapBytes > FULL_HEAP_BYTES,
    /** Tells it that there are no more files. @throws when it ends badly */
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
