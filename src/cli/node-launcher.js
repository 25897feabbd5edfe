// @ts-check
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** `await using` and `AsyncDisposableStack` came with it. */
const REQUIRED_MAJOR = 24;
/** Set for the process that `runOnBundledNode` starts. */
const LAUNCHED = 'STEWARD_LAUNCHED';
const FORWARDED = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']);

/** The commands that run for long. */
const SERVICES = new Set(['serve', 'demo']);

/**
 * What V8 and glibc read when a process starts. The figures are the peak of the service while it reads single users, lists
 * 100,000 users, creates 1,000 invitations at a time and logs users in: 635 MB without the options of Node.
 */
export const MEMORY_SETTINGS = {
  nodeOptions: [
    // With 12, 20 MB more, and 30 MB more under a flood of hostile requests, because more garbage gathers before a minor collection; but a
    // list of all users would take a fifth less CPU.
    '--max-semi-space-size=8',
    // Without it 411 MB after reads of single users, with it 263 MB: a major collection comes earlier.
    '--heap-growing-percent=30',
    // Without it a start takes 0.1 s longer, and requests up to a fifth more CPU: a small heap grows by 30 % soon, which starts a major collection.
    '--initial-heap-size=108',
    // With unread lists, logins and half bodies at the same time 408 MB instead of 450 MB.
    '--no-maglev',
  ],
  // One arena: alone 521 MB, with the first two options 271 MB. Each arena keeps the 19 MiB of a password hash for later; blocks
  // above the threshold go back to the operating system at once.
  env: { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '1048576' },
};

export const isSupportedNode = () => Number(process.versions.node.split('.')[0]) >= REQUIRED_MAJOR;

/**
 * Ends this process, gracefully, when its launcher dies: a launcher that was killed cannot forward a signal.
 * @returns whether this process has a launcher
 */
export const exitWithLauncher = () => {
  if (process.env[LAUNCHED] === undefined) return false;
  delete process.env[LAUNCHED];
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // A channel with a listener would keep a finished command alive.
  process.channel?.unref();
  return true;
};

/**
 * Replaces the program of this process by the same one with the memory settings of its command, if it runs without them. The
 * process stays the same, with its id and its standard streams.
 */
export const applyMemorySettings = () => {
  const { nodeOptions, env } = memorySettings();
  const hasThem = nodeOptions.every((option) => process.execArgv.includes(option));
  // An IPC channel would not survive. Worker processes have one, and the options already.
  if (hasThem || process.channel || !process.execve) return;
  const args = [process.execPath, ...nodeOptions, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...env, ...process.env });
};

/** @returns {{ nodeOptions: string[], env: Record<string, string> }} those of this command */
const memorySettings = () =>
  SERVICES.has(process.argv[2] ?? '') ? MEMORY_SETTINGS : { nodeOptions: [], env: {} };

/**
 * Runs the same command on the Node of the optional package `node-PLATFORM-ARCH`, as `exec` would: with the same
 * arguments, environment and standard streams, and ends as it ends. Node 20 has no `process.execve`.
 * @param {boolean} wasLaunched this is already the bundled Node, and too old
 */
export const runOnBundledNode = (wasLaunched) => {
  const node = wasLaunched ? undefined : findBundledNode();
  if (node === undefined) return fail();
  const { nodeOptions, env } = memorySettings();
  const child = spawn(node, [...nodeOptions, ...process.execArgv, ...process.argv.slice(1)], {
    env: { ...env, ...process.env, [LAUNCHED]: '1' },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  // For example ENOENT on a system without glibc.
  child.once('error', (error) => fail(`${node} cannot run here: ${error.message}. `));
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const forwarded of FORWARDED) process.removeAllListeners(forwarded);
    // For process 1 of a container, which the kernel does not let kill itself.
    process.exitCode = 128 + constants.signals[signal];
    process.kill(process.pid, signal);
  });
};

const findBundledNode = () => {
  try {
    return fileURLToPath(import.meta.resolve(`node-${process.platform}-${process.arch}/bin/node`));
  } catch {
    return undefined;
  }
};

const fail = (reason = '') => {
  const onLinux =
    process.platform === 'linux' ? ', or run npm install without --omit=optional, which brings it' : '';
  process.stderr.write(
    `${reason}Steward needs Node ${REQUIRED_MAJOR} or newer, and this is Node ${process.versions.node}. ` +
      `Install it from https://nodejs.org/en/download${onLinux}.\n`,
  );
  process.exitCode = 1;
};
