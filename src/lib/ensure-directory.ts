import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCodeOf } from './errno.ts';
import { Problem } from './problems.ts';

/**
 * Creates a folder and its parents unless they exist. Node's recursive `mkdir` never returns if the file system fails with
 * ENOENT, as /proc does.
 * @param mode of all created folders; the default is `0o777` without the umask
 * @throws Problem `invalid-input`
 */
export const ensureDirectory = async (dir: string, mode?: number): Promise<void> => {
  if (dir === '') throw invalidInput('A folder has no name: it is empty.');
  if (await isFolder(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) await ensureDirectory(parent, mode);
  try {
    await mkdir(dir, { mode });
  } catch (error) {
    // Another process may have created it.
    if (await isFolder(dir)) return;
    const code = errorCodeOf(error) ?? 'unknown';
    throw invalidInput(`The folder ${dir} cannot be made: ${REASONS[code] ?? code}.`, error);
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

const invalidInput = (detail: string, cause?: unknown): Problem =>
  new Problem('invalid-input', { detail, cause });
