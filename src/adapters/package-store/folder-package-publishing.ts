import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, type FileHandle, link, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ensureDirectory } from '../../lib/ensure-directory.ts';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { sha256OfFile } from '../../lib/file-digest.ts';
import { Problem } from '../../lib/problems.ts';
import { syncDirectory } from '../../lib/sync-folder.ts';
import { checksumFileOf, readChecksum, writeChecksum } from './checksum-file.ts';
import { alreadyTaken } from './package-store-errors.ts';

/**
 * Puts a file into a store's folder under its package name: whole, flushed, and never seen without its checksum.
 * @throws Problem `invalid-package` when the name has other bytes already, `package-store-unavailable`
 */
export const publishInFolder = async (source: FileHandle, dir: string, name: string) => {
  await ensureDirectory(dir).catch((cause: unknown) => {
    throw new Problem('package-store-unavailable', { cause });
  });
  const target = join(dir, name);
  const copy = join(dir, `.${name}.${randomUUID()}.tmp`);
  try {
    const copied = await copyDurably(source, copy);
    await claim(target, checksumFileOf(copy), copied.sha256);
    const isNew = await isMissing(target);
    if (isNew) await rename(copy, target);
    await syncDirectory(dir);
    return { ...copied, isNew };
  } finally {
    await rm(copy, { force: true });
    await rm(checksumFileOf(copy), { force: true });
  }
};

/** Hashes what it copies, so that the checksum is that of the copy and not of a file that changes meanwhile. */
const copyDurably = async (source: FileHandle, copy: string) => {
  const digest = createHash('sha256');
  const written = createWriteStream(copy, { flags: 'wx', flush: true });
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      digest.update(chunk);
      yield chunk;
    }
  };
  await pipeline(source.createReadStream({ autoClose: false }), hashed, written);
  return { sha256: digest.digest('hex'), sizeBytes: written.bytesWritten };
};

/**
 * Settles which bytes a version has. The checksum goes first and by `link`, which fails when it is there: of
 * several publishers one wins, and readers, who look for the bytes first, never find them without checksum.
 * A publisher that dies in between leaves its checksum, and the same bytes can be published again.
 */
const claim = async (target: string, checksumFile: string, sha256: string): Promise<void> => {
  // Bytes that somebody put there without a checksum keep their name as well.
  if (!(await isMissing(target)) && (await sha256OfFile(target)) !== sha256)
    throw alreadyTaken(basename(target));

  await writeChecksum(checksumFile, basename(target), sha256);
  try {
    await link(checksumFile, checksumFileOf(target));
    // On disk before the bytes are: a power cut must not leave bytes without checksum either.
    await syncDirectory(dirname(target));
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
    if ((await readChecksum(target)) !== sha256) throw alreadyTaken(basename(target), error);
  }
};

const isMissing = async (file: string): Promise<boolean> =>
  (await nullIfMissing(access(file).then(() => true))) === null;
