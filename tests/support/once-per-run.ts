import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './time.ts';

/** The environment variable that passes the folder from the runner, which removes it, to the test files. */
export const SHARED_FOLDER_VARIABLE = 'STEWARD_TEST_SHARED_FOLDER';

/** Only ends what hangs. */
const TIMEOUT_MS = 600_000;

/**
 * A folder that several test files of a run use and none changes. The first one fills it, and the others wait.
 * @returns its path
 */
export const makeOncePerRun = async (
  name: string,
  fill: (path: string) => Promise<unknown>,
): Promise<string> => {
  const path = join(process.env[SHARED_FOLDER_VARIABLE] ?? '', name);
  await until(`${name} is made`, async () => existsSync(path) || (await makeIfFirst(path, fill)), TIMEOUT_MS);
  return path;
};

/** Returns false if another file is filling the folder. */
const makeIfFirst = async (path: string, fill: (path: string) => Promise<unknown>): Promise<boolean> => {
  const unfinished = `${path}-unfinished`;
  const isFirst = await mkdir(unfinished).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  if (!isFirst) return false;
  try {
    // Another file may have finished since the caller looked.
    if (existsSync(path)) await rm(unfinished, { recursive: true });
    else {
      await fill(unfinished);
      await rename(unfinished, path);
    }
    return true;
  } catch (error) {
    // The next one tries again, and reports the same.
    await rm(unfinished, { recursive: true });
    throw error;
  }
};
