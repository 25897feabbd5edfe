import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { cpuSeconds, serverCpuSeconds } from '../usage/processes.ts';

/** proc_pid_clear_refs(5): the peak becomes what is held at the moment. */
const RESET_PEAK = '5';

/** A server and its workers: those of its children that run the same program. */
export const processesOf = async (pid: number): Promise<number[]> => {
  const program = await programOf(pid);
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const isWorker = async (other: number): Promise<boolean> =>
    (await parentOf(other)) === pid && (await programOf(other)) === program;
  const workers = await Promise.all(all.map(async (other) => ((await isWorker(other)) ? [other] : [])));
  return [pid, ...workers.flat()];
};

/** One that has ended meanwhile runs nothing. */
const programOf = (pid: number): Promise<string> => readlink(`/proc/${pid}/exe`).catch(() => '');
const statusOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
const parentOf = async (pid: number): Promise<number> =>
  Number(/^PPid:\s+(\d+)$/m.exec(await statusOf(pid))?.[1]);

const peakMbOf = async (pid: number): Promise<number> =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(await statusOf(pid))?.[1] ?? 0) / 1000;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

export type Costs = { serverSeconds: number; postgresSeconds: number; peakMb: number };

/** Runs some work, and tells what it has cost a server and PostgreSQL; pages that workers share count for each. */
export const costing = async <T>(
  pids: readonly number[],
  postmaster: number | null,
  work: () => Promise<T>,
): Promise<{ result: T; costs: Costs }> => {
  const used = async () => ({
    server: sum(await Promise.all(pids.map(cpuSeconds))),
    postgres: postmaster === null ? Number.NaN : await serverCpuSeconds(postmaster),
  });
  await Promise.all(pids.map((pid) => writeFile(`/proc/${pid}/clear_refs`, RESET_PEAK)));
  const before = await used();
  const result = await work();
  const after = await used();
  const peakMb = sum(await Promise.all(pids.map(peakMbOf)));
  return {
    result,
    costs: {
      serverSeconds: after.server - before.server,
      postgresSeconds: after.postgres - before.postgres,
      peakMb,
    },
  };
};
