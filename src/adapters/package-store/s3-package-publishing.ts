import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../lib/problems.ts';
import { checksumFileOf, checksumLine, parseChecksum } from './checksum-file.ts';
import { alreadyTaken } from './package-store-errors.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { readChecksumText } from './s3-checksum.ts';
import { isRefusal } from './s3-failure.ts';

type Measured = { sha256: string; sizeBytes: number };

/**
 * Puts a file into a store's bucket under its package name: whole, and never seen without its checksum. One request
 * takes it, as packages have 100 MiB at most and S3 takes 5 GiB.
 * @throws Problem `invalid-package` when the name has other bytes already, or the file changes meanwhile
 */
export const publishInBucket = async (
  bucket: S3Bucket,
  source: FileHandle,
  name: string,
  settleMs: number,
): Promise<Measured & { isNew: boolean }> => {
  const measured = await measure(source.createReadStream({ autoClose: false, start: 0 }));
  // Bytes that somebody put there without a checksum keep their name as well.
  const stored = await bucket.get(name);
  if (stored && (await measure(stored)).sha256 !== measured.sha256) throw alreadyTaken(name);

  await claim(bucket, name, measured.sha256, settleMs);
  if (!stored) await upload(bucket, source, name, measured);
  return { ...measured, isNew: stored === null };
};

const measure = async (bytes: AsyncIterable<Buffer>): Promise<Measured> => {
  const digest = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    digest.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: digest.digest('hex'), sizeBytes };
};

/**
 * Settles which bytes a version has: those of whoever puts the checksum first. The bytes follow, and readers look for
 * them first. A publisher that dies in between leaves its checksum, and the same bytes can be published again.
 *
 * "Only if it is new" is a condition that some servers do not know, or pass over. What is put twice tells: the second
 * time a server that knows it refuses. On others each publisher waits until whoever looked when it did has written as
 * well, and the last one has won. There, one that takes longer than `settleMs` between its look and its write can
 * still replace another's package, or leave its checksum with the other's bytes, which no fetch accepts.
 */
const claim = async (bucket: S3Bucket, name: string, sha256: string, settleMs: number): Promise<void> => {
  if ((await isClaimed(bucket, name, sha256)) === null) {
    const put = () => putIfNew(bucket, checksumFileOf(name), checksumLine(name, sha256));
    const isNew = await put();
    const isPassedOver = isNew && (await put());
    if (isPassedOver) await sleep(settleMs);
  }
  const isOurs = await isClaimed(bucket, name, sha256);
  if (isOurs === null)
    throw new Problem('package-store-unavailable', { cause: new Error(`${name} is being published.`) });
  if (!isOurs) throw alreadyTaken(name);
};

/** Whether the version is claimed for these bytes; null when it is free. */
const isClaimed = async (bucket: S3Bucket, name: string, sha256: string): Promise<boolean | null> => {
  const text = await readChecksumText(bucket, checksumFileOf(name));
  return text === null ? null : parseChecksum(text, name) === sha256;
};

/** False when it was there; S3 answers `ConditionalRequestConflict` while somebody else is putting it there. */
const putIfNew = async (bucket: S3Bucket, name: string, body: string): Promise<boolean> => {
  const object = { body, sizeBytes: Buffer.byteLength(body) };
  try {
    await bucket.put(name, { ...object, onlyIfNew: true });
  } catch (error) {
    if (isRefusal(error, 'PreconditionFailed', 'ConditionalRequestConflict')) return false;
    if (!isRefusal(error, 'NotImplemented', 'InvalidArgument')) throw error;
    await bucket.put(name, object);
  }
  return true;
};

const upload = async (bucket: S3Bucket, source: FileHandle, name: string, measured: Measured) => {
  const end = Math.max(measured.sizeBytes - 1, 0);
  const bytes = source.createReadStream({ autoClose: false, start: 0, end });
  const body = Readable.from(unchanged(bytes, measured.sha256), { objectMode: false });
  await bucket.put(name, { body, sizeBytes: measured.sizeBytes });
};

/** Holds back the last piece until all are known to be those that were measured: what is not whole is not stored. */
const unchanged = async function* (bytes: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const digest = createHash('sha256');
  let last: Buffer | undefined;
  for await (const chunk of bytes) {
    digest.update(chunk);
    if (last) yield last;
    last = chunk;
  }
  if (digest.digest('hex') !== sha256) {
    throw new Problem('invalid-package', { detail: 'The file has changed while it was published.' });
  }
  if (last) yield last;
};
