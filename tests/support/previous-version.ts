import { execFileSync, spawnSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import previous from '../upgrade/previous-version.json' with { type: 'json' };
import { makeScratchFolder } from './scratch-folder.ts';

const PROJECT = join(import.meta.dirname, '../..');
const MAX_ARCHIVE_BYTES = 256 * 1024 * 1024;

/** The version that an upgrade starts from. `npm run release` writes it. */
export const PREVIOUS = previous;

/** Shallow clones and unpacked tarballs do not have the commit. */
export const hasPreviousVersion = (): boolean =>
  spawnSync('git', ['cat-file', '-e', `${PREVIOUS.commit}^{commit}`], { cwd: PROJECT }).status === 0;

/** Extracts the code of the previous version. It runs with the dependencies of this checkout. Disposing removes it. */
export const extractPreviousVersion = async () => {
  const folder = await makeScratchFolder();
  const options = { cwd: PROJECT, maxBuffer: MAX_ARCHIVE_BYTES };
  const input = execFileSync('git', ['archive', '--format=tar', PREVIOUS.commit], options);
  execFileSync('tar', ['-x', '-C', folder.path], { input });
  await symlink(join(PROJECT, 'node_modules'), folder.join('node_modules'));
  return { ...folder, program: { cli: folder.join('src/cli.js') } };
};
