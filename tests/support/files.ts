import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import yauzl from 'yauzl';

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
