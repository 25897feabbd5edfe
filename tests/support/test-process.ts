import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Ending } from './uvu-totals.ts';

export type TestProcessOptions = { env: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal };

/** A process that outlived the file may hold the pipe open; its output is of no interest. */
const LAST_OUTPUT_MS = 1000;

/** Ends the file's process and whatever it has started in its group. */
const killGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!gone) throw error;
  }
};

const collectOutput = (child: ChildProcess): (() => string) => {
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk) => chunks.push(chunk));
  child.stderr?.on('data', (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
};

/** Runs one test file in a process group of its own, with a time limit. */
export const runTestProcess = async (file: string, options: TestProcessOptions): Promise<Ending> => {
  const { env, timeoutMs, signal } = options;
  const child = spawn(process.execPath, [file], { detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collectOutput(child);
  const closed = once(child, 'close');
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child);
  }, timeoutMs);
  const abort = () => killGroup(child);
  signal.addEventListener('abort', abort, { once: true });

  const [status] = await once(child, 'exit');
  clearTimeout(timer);
  signal.removeEventListener('abort', abort);
  killGroup(child);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS).unref())]);
  return { status, timedOut, output: output() };
};
