import { constants } from 'node:fs';
import { access, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
const ROOMY_BYTES = 4 * 1024 ** 3;

/** Some systems mount it so that no program runs from it. */
const canRunPrograms = async (folder: string): Promise<boolean> => {
  const probe = await mkdtemp(join(folder, 'steward-tests-'));
  try {
    const program = join(probe, 'program');
    await writeFile(program, '', { mode: 0o700 });
    return await access(program, constants.X_OK).then(
      () => true,
      (_denied: unknown) => false,
    );
  } finally {
    await rm(probe, { recursive: true });
  }
};

/**
 * Where tests write files: TMPDIR, or else memory, where a database takes a tenth of the CPU time of one on a disk. In
 * containers this file system is often too small.
 */
export const findTempFolder = async (): Promise<string> => {
  if (process.env.TMPDIR) return process.env.TMPDIR;
  const room = await statfs(IN_MEMORY).catch((_absent: unknown) => undefined);
  const isRoomy = room !== undefined && room.bavail * room.bsize >= ROOMY_BYTES;
  return isRoomy && (await canRunPrograms(IN_MEMORY)) ? IN_MEMORY : tmpdir();
};
