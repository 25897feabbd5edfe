import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import type { Connection } from '../src/config/connection.ts';

/** Of /proc: USER_HZ, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** Returns '' for a process that has exited; its CPU time is then part of its parent's. */
const readProc = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');

/** Resident memory of a process. */
export const residentMb = async (pid: number): Promise<number> => {
  const [, kb = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(await readProc(pid, 'status')) ?? [];
  return Number(kb) / 1000;
};

/** The fields of /proc/PID/stat from `ppid` on; the name before may contain spaces and parentheses. */
const statOf = async (pid: number): Promise<number[]> => {
  const stat = await readProc(pid, 'stat');
  return stat
    .slice(stat.lastIndexOf(')') + 4)
    .split(' ')
    .map(Number);
};

/** Indexes of utime and stime, and of cutime and cstime, counted from `ppid`; see proc_pid_stat(5). */
const OWN = [10, 11];
const EXITED_CHILDREN = [12, 13];

const secondsOf = (stat: number[], fields: number[]): number =>
  sum(fields.map((field) => stat[field] ?? 0)) / TICKS_PER_SECOND;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** User and system time of one process, in seconds. */
export const cpuSeconds = async (pid: number): Promise<number> => secondsOf(await statOf(pid), OWN);

/** CPU time of a PostgreSQL server: its postmaster, and its running and exited backends. */
export const serverCpuSeconds = async (postmaster: number): Promise<number> => {
  const before = await statOf(postmaster);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(statOf));
  const own = await statOf(postmaster);
  // A backend that exited in between would be counted twice or not at all.
  if (secondsOf(before, EXITED_CHILDREN) !== secondsOf(own, EXITED_CHILDREN))
    return serverCpuSeconds(postmaster);
  const children = stats.filter(([parent]) => parent === postmaster);
  return sum(children.map((stat) => secondsOf(stat, OWN))) + secondsOf(own, [...OWN, ...EXITED_CHILDREN]);
};

const parentOf = async (pid: number): Promise<number> => (await statOf(pid))[0] ?? 0;
const programOf = (pid: number): Promise<string> => readlink(`/proc/${pid}/exe`).catch(() => '');

/** A server and its workers: its child processes that run the same program. */
export const processTree = async (pid: number): Promise<number[]> => {
  const program = await programOf(pid);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const isWorker = await Promise.all(
    pids.map(async (other) => (await parentOf(other)) === pid && (await programOf(other)) === program),
  );
  return [pid, ...pids.filter((_, index) => isWorker[index])];
};

/** See proc_pid_clear_refs(5). */
const RESET_PEAK_MEMORY = '5';

const peakMb = async (pid: number): Promise<number> => {
  const [, kb = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(await readProc(pid, 'status')) ?? [];
  return Number(kb) / 1000;
};

export type Costs = {
  serverSeconds: number;
  /** NaN for an external server. */
  postgresSeconds: number;
  /** At the start of the work. */
  initialMb: number;
  /** Memory pages that workers share are counted for each of them. */
  peakMb: number;
};

/** Runs `work` and measures what it costs a server's processes and PostgreSQL. */
export const measureCosts = async <T>(
  pids: readonly number[],
  postmaster: number | null,
  work: () => Promise<T>,
): Promise<{ result: T; costs: Costs }> => {
  const usedCpu = async () => ({
    server: sum(await Promise.all(pids.map(cpuSeconds))),
    postgres: postmaster === null ? Number.NaN : await serverCpuSeconds(postmaster),
  });
  await Promise.all(pids.map((pid) => writeFile(`/proc/${pid}/clear_refs`, RESET_PEAK_MEMORY)));
  const initialMb = sum(await Promise.all(pids.map(residentMb)));
  const before = await usedCpu();
  const result = await work();
  const after = await usedCpu();
  return {
    result,
    costs: {
      serverSeconds: after.server - before.server,
      postgresSeconds: after.postgres - before.postgres,
      initialMb,
      peakMb: sum(await Promise.all(pids.map(peakMb))),
    },
  };
};

/** `baseUrl` is the prefix of avatar URLs. */
export type PeerSettings = { connection: Connection; baseUrl: string };

/** Starts a peer when the parent process sends its settings over IPC, and sends back its address. */
export const runPeer = (listen: (settings: PeerSettings) => Promise<string>): void => {
  // The parent process has exited, perhaps by a crash.
  process.once('disconnect', () => process.exit());
  process.once('message', async (settings: PeerSettings) => {
    process.send?.(await listen(settings));
  });
};
