import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { Connection } from '../src/config/connection.ts';

/** Of /proc: USER_HZ, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** Returns '' for a process that has exited; its CPU time is then part of its parent's. */
const readProc = (pid: number, file: string): Promise<string> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');

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
const cpuSeconds = async (pid: number): Promise<number> => secondsOf(await statOf(pid), OWN);

const statsOfAll = async (): Promise<{ pid: number; stat: number[] }[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  return Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })));
};

/** CPU time of a PostgreSQL server: its postmaster, and its running and exited backends. */
export const serverCpuSeconds = async (postmaster: number): Promise<number> => {
  const before = await statOf(postmaster);
  const all = await statsOfAll();
  const own = await statOf(postmaster);
  // A backend that exited in between would be counted twice or not at all.
  if (secondsOf(before, EXITED_CHILDREN) !== secondsOf(own, EXITED_CHILDREN))
    return serverCpuSeconds(postmaster);
  const children = all.filter(({ stat: [parent] }) => parent === postmaster);
  return sum(children.map(({ stat }) => secondsOf(stat, OWN))) + secondsOf(own, [...OWN, ...EXITED_CHILDREN]);
};

/** A process and its descendants. */
const processTree = async (pid: number): Promise<number[]> => {
  const all = await statsOfAll();
  const descendantsOf = (ancestor: number): number[] =>
    all
      .filter(({ stat: [parent] }) => parent === ancestor)
      .flatMap((child) => [child.pid, ...descendantsOf(child.pid)]);
  return [pid, ...descendantsOf(pid)];
};

/** See proc_pid_clear_refs(5). */
const RESET_PEAK_MEMORY = '5';

const peakMb = async (pid: number): Promise<number> => {
  const [, kb = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(await readProc(pid, 'status')) ?? [];
  return Number(kb) / 1000;
};

export type Costs = {
  serverSeconds: number;
  postgresSeconds: number;
  /** Memory pages that processes share are counted for each of them. */
  peakMb: number;
};

/** Runs `work` and measures what it costs a server, with its child processes, and PostgreSQL. */
export const measureCosts = async <T>(
  pid: number,
  postmaster: number,
  work: () => Promise<T>,
): Promise<{ result: T; costs: Costs }> => {
  const pids = await processTree(pid);
  const usedCpu = async () => ({
    server: sum(await Promise.all(pids.map(cpuSeconds))),
    postgres: await serverCpuSeconds(postmaster),
  });
  await Promise.all(pids.map((each) => writeFile(`/proc/${each}/clear_refs`, RESET_PEAK_MEMORY)));
  const before = await usedCpu();
  const result = await work();
  const after = await usedCpu();
  return {
    result,
    costs: {
      serverSeconds: after.server - before.server,
      postgresSeconds: after.postgres - before.postgres,
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
