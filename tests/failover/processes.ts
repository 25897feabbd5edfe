import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Waits until its input closes, however the test process ends; then kills what was started in the folder, and removes it. */
const REAPER = `cat >/dev/null
for pid in $(cat "$0/pids"); do kill -9 $pid; done 2>/dev/null
for file in "$0"/*/postmaster.pid; do kill -9 $(head -n 1 "$file"); done 2>/dev/null
for attempt in 1 2 3 4 5; do rm -rf "$0" && break; sleep 0.5; done 2>/dev/null`;

/** A folder for programs that write their pids into its file `pids`. Disposing of it kills them all. */
export const openProcesses = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-failover-'));
  const path = (...parts: string[]): string => join(folder, ...parts);
  appendFileSync(path('pids'), '');
  const reaper = spawn('sh', ['-c', REAPER, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });

  return {
    path,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      const ended = once(reaper, 'exit');
      reaper.stdin.end();
      await ended;
    },
  };
};

/** Kills a PostgreSQL server and all its backends at once, as a power cut would end them. */
export const killPostgres = async (dataDir: string): Promise<void> => {
  const postmaster = Number.parseInt(await readFile(join(dataDir, 'postmaster.pid'), 'utf8'), 10);
  const children = await childrenOf(postmaster);
  for (const pid of [postmaster, ...children]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended since.
    }
  }
};

const childrenOf = async (parent: number): Promise<number[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      return /^PPid:\s*(\d+)$/m.exec(status)?.[1];
    }),
  );
  return pids.filter((_pid, index) => Number(parents[index]) === parent).map(Number);
};
