import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Processes of others end, and are none of our business, while we look. */
const cwdOf = (pid: string): Promise<string> => readlink(`/proc/${pid}/cwd`).catch((_gone: unknown) => '');

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user is there, and may not be signalled.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};

/** The one process that the lock file of a cluster names, for systems without /proc. */
const postmasterOf = async (cluster: string): Promise<number[]> => {
  const file = join(cluster, 'postmaster.pid');
  const [pid = ''] = existsSync(file) ? (await readFile(file, 'utf8')).split('\n') : [];
  return pid !== '' && isAlive(Number(pid)) ? [Number(pid)] : [];
};

/** The ids of the PostgreSQL processes that work on the embedded database of `dataDir`. */
export const serverProcesses = async (dataDir: string): Promise<number[]> => {
  const cluster = join(dataDir, 'postgres');
  if (!existsSync('/proc/self/cwd')) return postmasterOf(cluster);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const cwds = await Promise.all(pids.map(cwdOf));
  return pids.filter((_pid, index) => cwds[index] === cluster).map(Number);
};

/**
 * The most memory that a process has held so far, in MB; undefined on systems that do not tell. What `getrusage` tells is
 * at least what its parent held when it started it (Linux keeps that over `exec`).
 */
export const peakMemoryMb = (pid: number): number | undefined => {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return undefined;
  const [, kb] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8')) ?? [];
  return kb === undefined ? undefined : Math.round(Number(kb) / 1000);
};
