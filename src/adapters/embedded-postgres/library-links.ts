import { readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCodeOf } from '../../lib/errno.ts';

const NOT_ALLOWED = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Makes the library links that npm packages cannot carry and that an install without scripts lacks.
 * Another process may be doing the same: a link that is already there is fine.
 * @returns false where the directory may not be written
 */
export const linkLibraries = async (native: string): Promise<boolean> => {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8');
  // The publisher's own list: its shape is fixed by the pinned version.
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      // Both paths begin with `native/`, and every link stays within one folder.
      await symlink(basename(source), join(dirname(native), target));
    } catch (error) {
      const code = errorCodeOf(error) ?? '';
      if (NOT_ALLOWED.has(code)) return false;
      if (code !== 'EEXIST') throw error;
    }
  }
  return true;
};
