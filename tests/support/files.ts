import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import yauzl from 'yauzl';
import { until } from './time.ts';

/** Makes an empty folder. Disposing it removes it. */
export const makeScratchFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'steward-test-'));
  return {
    path,
    join: (...parts: string[]): string => join(path, ...parts),
    // Retries, because a server that is stopping may still write there.
    [Symbol.asyncDispose]: (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 10 }),
  };
};

/** Writes files by their paths in a folder, and creates the folders between. */
export const writeFiles = async (dir: string, files: Record<string, string | Buffer>): Promise<void> => {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
};

/** The files of a zip archive, read by another library than the one that writes it. Fails if a checksum is wrong. */
export const unzip = async (archive: Buffer): Promise<Map<string, string>> => {
  const zip = await yauzl.fromBufferPromise(archive);
  const files = new Map<string, string>();
  for await (const entry of zip.eachEntry())
    files.set(entry.fileName, await text(await zip.openReadStreamPromise(entry)));
  return files;
};

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
