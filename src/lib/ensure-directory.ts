import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCodeOf } from './errno.ts';
import { Problem } from './problems.ts';

/**
 * Makes a folder, and those above it, unless it is there. Node's own recursive `mkdir` never ends where a file system
 * refuses a folder with ENOENT, as /proc does.
 * @param mode of all that are made: `0o777` less the umask unless told
 * @throws Problem `invalid-input`
 */
export const ensureDirectory = async (dir: string, mode?: number): Promise<void> => {
  if (dir === '') throw refusal('A folder has no name: it is empty.');
  if (await isFolder(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) await ensureDirectory(parent, mode);
  try {
    await mkdir(dir, { mode });
  } catch (error) {
    // Somebody else may have made it at the same time.
    if (await isFolder(dir)) return;
    const code = errorCodeOf(error) ?? 'unknown';
    throw refusal(`The folder ${dir} cannot be made: ${REASONS[code] ?? code}.`, error);
  }
};

const REASONS: Record<string, string> = {
  EEXIST: 'there is a file of that name, or a link that leads nowhere',
  ENOENT: 'nothing can be made there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'nothing can be written there',
};

const isFolder = (dir: string): Promise<boolean> =>
  stat(dir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

const refusal = (detail: string, cause?: unknown): Problem => new Problem('invalid-input', { detail, cause });
