import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Finding } from '../../src/doctor/finding.ts';
import { createRestClient } from './http-clients.ts';

export type Settings = Record<string, string>;

/** How a command ended. */
export type Outcome = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

/** What runs a command. Default: this Node and the CLI of this checkout. `settings` are added to those of the test. */
export type Program = { launcher?: string[]; cli?: string; settings?: Settings };

const CLI = join(import.meta.dirname, '../../src/cli.js');
/** The log is JSON, because standard output is not a terminal, unless LOG_FORMAT says otherwise. */
const LISTENS = /(?:^\[\S+\] INFO: |"msg":")Steward listens on ([^"\n]+)["\n]/m;
/** Only ends what hangs. A first start takes about 3 s on an idle machine, and several times as long without a code cache. */
export const START_TIMEOUT_MS = 180_000;

/** Passes on only what a program needs to run: the service would obey any setting in the test's environment. */
const environment = (settings: Settings): NodeJS.ProcessEnv => {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    ...(TMPDIR && { TMPDIR }),
    PORT: '0',
    LOG_LEVEL: 'info',
    ...settings,
  };
};

const spawnCommand = (
  args: string[],
  settings: Settings,
  cwd: string | undefined,
  nodeOptions: string[] = [],
  { launcher = [process.execPath], cli = CLI, settings: own = {} }: Program = {},
) => {
  const [command = '', ...options] = launcher;
  const child = spawn(command, [...options, ...nodeOptions, cli, ...args], {
    env: environment({ ...settings, ...own }),
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const read = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      read[name] += text;
    });
  }
  const ended = once(child, 'close').then(
    ([code, signal]: unknown[]) => ({ ...read, code, signal }) as Outcome, // of node's `close` event
  );
  return { child, read, ended };
};

/** Runs `steward ARGS…` to its end. */
export const runCommand = async (
  args: string[],
  settings: Settings = {},
  cwd?: string,
  program?: Program,
): Promise<Outcome> => spawnCommand(args, settings, cwd, [], program).ended;

/** Runs `steward ARGS…`, and kills it when the promise of `moment` resolves, unless it has ended. */
export const killCommand = async (
  args: string[],
  settings: Settings,
  moment: () => Promise<unknown>,
): Promise<Outcome> => {
  const { child, ended } = spawnCommand(args, settings, undefined);
  await Promise.race([moment(), ended]);
  child.kill('SIGKILL');
  return ended;
};

/** Resolves with the address that the service logs. If it ends before, fails with its output. */
const addressOf = (child: ChildProcess, read: { stdout: string; stderr: string }): Promise<string> =>
  new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${why}\n${read.stdout}${read.stderr}`));
    const timer = setTimeout(() => fail('The service did not start in time.'), START_TIMEOUT_MS);
    child.once('close', () => fail('The service ended instead of starting.'));
    child.once('close', () => clearTimeout(timer));
    child.stdout?.on('data', () => {
      const [, address] = LISTENS.exec(read.stdout) ?? [];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });

/** Polls `/readyz` on a known port, because a service that logs only warnings does not log its address. */
const untilReady = async (child: ChildProcess, port: string): Promise<string> => {
  const address = `http://localhost:${port}`;
  const end = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < end && child.exitCode === null) {
    const response = await fetch(`${address}/readyz`).catch(() => null);
    if (response?.ok) return address;
    await sleep(50);
  }
  throw new Error(`The service did not get ready at ${address}.`);
};

export type Service = Awaited<ReturnType<typeof startService>>;

/** Starts `steward serve` or `steward demo` and waits until it listens. Disposing it kills the process. */
export const startService = async (
  command: 'serve' | 'demo',
  settings: Settings,
  nodeOptions: string[] = [],
  program?: Program,
) => {
  const started = performance.now();
  const { child, read, ended } = spawnCommand([command], settings, undefined, nodeOptions, program);
  const kill = async (signal: NodeJS.Signals): Promise<Outcome> => {
    child.kill(signal);
    return ended;
  };
  const { LOG_LEVEL, PORT } = settings;
  const listens = LOG_LEVEL === 'warn' && PORT ? untilReady(child, PORT) : addressOf(child, read);
  const address = await listens.catch(async (error: unknown) => {
    await kill('SIGKILL');
    throw error;
  });

  return {
    ...createRestClient(address),
    address,
    pid: child.pid ?? 0,
    startMs: Math.round(performance.now() - started),
    /** Its output so far. */
    output: read,
    ended,
    isRunning: (): boolean => child.exitCode === null && child.signalCode === null,
    /** Sends the signal and waits for the process to end. */
    kill,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await kill('SIGKILL');
    },
  };
};

export const STACK = /^\s+at /m;

/** Asserts that a command refused: this many lines on standard error, no stack and no output. */
export const assertRefused = ({ code, stdout, stderr }: Outcome, lines: number, expected = 1): void => {
  assert.is(code, expected, stderr);
  assert.is(stdout, '');
  assert.not.match(stderr, STACK);
  assert.is(stderr.trimEnd().split('\n').length, lines, stderr);
};

/** Runs `steward doctor`, and selects messages from its findings. */
export const examine = async (settings: Settings) => {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], settings);
  assert.is(stderr, '');
  const findings: Finding[] = JSON.parse(stdout);
  const lines = (status: Finding['status'], check?: string): string[] =>
    findings
      .filter((finding) => finding.status === status && (check === undefined || finding.check === check))
      .map(({ message, action }) => `${message} ${action ?? ''}`.trim());
  return { code, stdout, findings, lines };
};

/** The working directory of a process; '' if it has ended or belongs to another user. */
const cwdOf = (pid: string): Promise<string> => readlink(`/proc/${pid}/cwd`).catch((_gone: unknown) => '');

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** The process in the lock file of a cluster, for systems without /proc. */
const postmasterOf = async (cluster: string): Promise<number[]> => {
  const file = join(cluster, 'postmaster.pid');
  const [pid = ''] = existsSync(file) ? (await readFile(file, 'utf8')).split('\n') : [];
  return pid !== '' && isAlive(Number(pid)) ? [Number(pid)] : [];
};

/** The ids of the PostgreSQL processes of the embedded database in `dataDir`. */
export const serverProcesses = async (dataDir: string): Promise<number[]> => {
  const cluster = join(dataDir, 'postgres');
  if (!existsSync('/proc/self/cwd')) return postmasterOf(cluster);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const cwds = await Promise.all(pids.map(cwdOf));
  return pids.filter((_pid, index) => cwds[index] === cluster).map(Number);
};

/** The worker processes, without the watchdog of the embedded server. */
export const workerProcesses = async ({ pid }: Service): Promise<number[]> => {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => '');
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    if (new RegExp(`^PPid:\\s${pid}$`, 'm').test(status) && line.includes('cli.js')) found.push(Number(name));
  }
  return found;
};

/**
 * The peak memory of a process in MB; undefined on systems without /proc. `getrusage` is no alternative: Linux keeps the peak
 * of the parent across `exec`.
 */
export const peakMemoryMb = (pid: number): number | undefined => {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return undefined;
  const [, kb] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8')) ?? [];
  return kb === undefined ? undefined : Math.round(Number(kb) / 1000);
};
