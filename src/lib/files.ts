import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { causeInWords, nullIfMissing } from './errno.ts';
import { invalidInput } from './problems.ts';

/**
 * Creates a folder and its parents unless they exist.
 * @param mode of all created folders; the default is `0o777` without the umask
 * @throws Problem `invalid-input`
 */
export const ensureDirectory = async (dir: string, mode?: number): Promise<void> => {
  if (dir === '') throw invalidInput('The name of a folder is empty.');
  try {
    await mkdir(dir, { recursive: true, mode });
  } catch (error) {
    throw invalidInput(`The folder ${dir} cannot be created: ${causeInWords(error)}.`, error);
  }
};

/** Whether the path is a folder. */
export const isFolder = (dir: string): Promise<boolean> =>
  stat(dir).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

/** The folder, or the closest existing one above it. */
export const closestExisting = async (path: string): Promise<string> =>
  (await nullIfMissing(stat(path))) === null && dirname(path) !== path
    ? closestExisting(dirname(path))
    : path;

/**
 * Proves that a folder is writable, or, if it is missing, that one above it is: creates a file there and removes it. Permission bits prove
 * nothing, least of all for root.
 */
export const probeFolder = async (dir: string): Promise<void> => {
  const file = join(await closestExisting(dir), `.probe.${randomUUID()}.tmp`);
  try {
    await writeFile(file, '', { flag: 'wx', flush: true });
  } catch (error) {
    // After a failed write, as on a full disk, the file exists.
    await rm(file, { force: true }).catch(() => {});
    // The name of the file is meaningless to the operator.
    throw error instanceof Error ? Object.assign(error, { path: dirname(file) }) : error;
  }
  await rm(file);
};

/** Whether a folder is writable, or can be created. */
export const isWritable = (dir: string): Promise<boolean> =>
  probeFolder(dir).then(
    () => true,
    () => false,
  );

/** A WAL segment: PostgreSQL stops if it cannot create another. */
const NEEDED_BYTES = 16 * 1024 * 1024;

/** Whether PostgreSQL can run in a folder. */
export const hasDiskSpace = async (folder: string): Promise<boolean> => {
  const stats = await statfs(folder).catch((_unavailable: unknown) => null);
  return stats === null || stats.bavail * stats.bsize >= NEEDED_BYTES;
};

/** The SHA-256 of a file in hexadecimal digits. */
export const sha256OfFile = async (file: string): Promise<string> => {
  const digest = createHash('sha256');
  await pipeline(createReadStream(file), digest);
  return digest.digest('hex');
};

/** Flushes new and renamed entries of a folder to disk, which fsync of a file does not. */
export const syncDirectory = async (dir: string): Promise<void> => {
  await using handle = await open(dir, 'r');
  await handle.sync();
};

/** Creates a temporary folder, which is removed at the end of the using scope. @param prefix of its name */
export const openTempFolder = async (prefix: string) => {
  const path = await mkdtemp(join(tmpdir(), prefix));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
};

/** A response that is a file. */
export class Download {
  readonly fileName: string;
  readonly content: Readable;

  constructor(fileName: string, content: Readable) {
    this.fileName = fileName;
    this.content = content;
  }
}
