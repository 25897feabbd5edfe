import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

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
