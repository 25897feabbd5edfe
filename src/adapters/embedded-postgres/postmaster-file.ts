import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nullIfMissing } from '../../lib/errno.ts';
import { DataDirInUse } from './errors.ts';

const SOCKET_DIR_LINE = 4;

const commandLine = async (pid: number): Promise<string> => {
  try {
    if (process.platform === 'linux') return await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return (await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)])).stdout;
  } catch (_noSuchProcess) {
    return '';
  }
};

type Postmaster = { pid: number; lines: string[]; alive: boolean };

const readPostmaster = async (file: string): Promise<Postmaster | undefined> => {
  const text = await nullIfMissing(readFile(file, 'utf8'));
  if (!text) return undefined;
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  // Its socket directory has a random name, which tells it from whatever process has its pid today.
  const mark = lines[SOCKET_DIR_LINE] || 'postgres';
  return { pid, lines, alive: (await commandLine(pid)).includes(mark) };
};

/**
 * Waits for the server of a killed owner to end, which its watchdog has told to. Should the pid in the lock file
 * belong to an unrelated process by now (a restarted container counts from 1 again), it is replaced by our own,
 * which PostgreSQL takes for stale. The file itself stays, as PostgreSQL finds its shared memory by it.
 * @throws DataDirInUse when the server is still there at the deadline, a `Date.now()`
 */
export const waitForPreviousServer = async (
  dataDir: string,
  clusterDir: string,
  deadline: number,
): Promise<void> => {
  const file = join(clusterDir, 'postmaster.pid');
  let former = await readPostmaster(file);
  while (former?.alive) {
    if (Date.now() > deadline) throw new DataDirInUse(dataDir, former.pid);
    await sleep(25);
    former = await readPostmaster(file);
  }
  if (former) await writeFile(file, [process.pid, ...former.lines.slice(1)].join('\n'));
};
