import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const SAMPLE_MS = 50;
/** Of /proc: USER_HZ, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** A process that ends while we look has used what its parent is told of. */
const readProc = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch((_gone: unknown) => '');

/** Memory that a process holds at the moment, in MB. */
export const residentMb = async (pid: number): Promise<number> => {
  const [, kb = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await readProc(pid, 'status')) ?? [];
  return Number(kb) / 1000;
};

/** The numbers of /proc/PID/stat from `ppid` on; the name before may hold blanks and brackets. */
const statOf = async (pid: number): Promise<number[]> => {
  const stat = await readProc(pid, 'stat');
  return stat
    .slice(stat.lastIndexOf(')') + 4)
    .split(' ')
    .map(Number);
};

/** Places of utime and stime, and of those of children that have ended, counted from `ppid`; see proc_pid_stat(5). */
const OWN = [10, 11];
const ENDED = [12, 13];

const secondsOf = (stat: number[], places: number[]): number =>
  places.reduce((sum, place) => sum + (stat[place] ?? 0), 0) / TICKS_PER_SECOND;

/** User and system time of one process, in seconds. */
export const cpuSeconds = async (pid: number): Promise<number> => secondsOf(await statOf(pid), OWN);

/** That of a PostgreSQL server: its postmaster, its backends, and those that have ended. */
export const serverCpuSeconds = async (postmaster: number): Promise<number> => {
  const before = await statOf(postmaster);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  const own = await statOf(postmaster);
  // One that ended meanwhile would be counted twice, or not at all.
  if (secondsOf(before, ENDED) !== secondsOf(own, ENDED)) return serverCpuSeconds(postmaster);
  const children = stats.filter(([parent]) => parent === postmaster);
  return children.reduce((sum, stat) => sum + secondsOf(stat, OWN), secondsOf(own, [...OWN, ...ENDED]));
};

/** Runs some work, and tells the most memory that a process held meanwhile, and how much more that was than before. */
export const watchingMemory = async <T>(pid: number, work: () => Promise<T>) => {
  const beforeMb = await residentMb(pid);
  let peakMb = beforeMb;
  const done = new AbortController();
  const watching = (async () => {
    while (!done.signal.aborted) {
      peakMb = Math.max(peakMb, await residentMb(pid));
      await sleep(SAMPLE_MS);
    }
  })();
  try {
    const result = await work();
    peakMb = Math.max(peakMb, await residentMb(pid));
    return { result, beforeMb, peakMb, growthMb: peakMb - beforeMb };
  } finally {
    done.abort();
    await watching;
  }
};
