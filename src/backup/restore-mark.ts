import { rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnfinishedRestore } from '../db/database-errors.ts';
import { errorCodeOf, nullIfMissing } from '../lib/errno.ts';
import { ensureDirectory, syncDirectory } from '../lib/files.ts';

const pathOf = (dataDir: string): string => join(dataDir, 'restore-in-progress');

/**
 * Marks a DATA_DIR without a database as being restored, so that no service creates a database there.
 * @returns a function that removes the mark, and the folder if it is new; nothing if the folder was already marked
 */
export const markFolder = async (dataDir: string): Promise<() => Promise<void>> => {
  const isNewFolder = (await nullIfMissing(stat(dataDir))) === null;
  await ensureDirectory(dataDir, 0o700);
  try {
    await writeFile(pathOf(dataDir), '', { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return async () => {};
    throw error;
  }
  await syncDirectory(dataDir);
  return async () => {
    await unmarkFolder(dataDir);
    // Fails if something else was added to the folder.
    if (isNewFolder) await rmdir(dataDir).catch(() => undefined);
  };
};

export const unmarkFolder = async (dataDir: string): Promise<void> => {
  await rm(pathOf(dataDir), { force: true });
  await syncDirectory(dataDir);
};

/** @throws UnfinishedRestore if a restore into this DATA_DIR is running or was interrupted */
export const requireUnmarkedFolder = async (dataDir: string): Promise<void> => {
  if (await nullIfMissing(stat(pathOf(dataDir)))) throw new UnfinishedRestore();
};
