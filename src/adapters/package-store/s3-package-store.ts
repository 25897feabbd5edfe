import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isSlug,
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import {
  checksumFileOf,
  checksumLine,
  missingChecksum,
  type PackageStore,
  type PublishedFile,
  parseChecksum,
  type StoredPackage,
  versionTaken,
} from './package-store.ts';
import {
  hasErrorCode,
  openBucket,
  orS3Unavailable,
  type S3Bucket,
  type S3Limits,
  type S3Location,
  toSafeError,
} from './s3-bucket.ts';

/** `settleMs`: see `claim`. */
export type S3StoreLimits = S3Limits & { settleMs: number };

const DEFAULT_LIMITS: S3StoreLimits = {
  connectMs: 3000,
  silenceMs: 20_000,
  maxPages: 10_000,
  settleMs: 1000,
};

/**
 * Packages as `{slug}-{version}.tgz` under a prefix of a bucket, each with its `.sha256` object, so that a folder store can
 * be copied to it and back. Needs the permissions s3:ListBucket and s3:GetObject, and s3:PutObject for publishing.
 */
export const createS3PackageStore = (location: S3Location, limits = DEFAULT_LIMITS): PackageStore => {
  const bucket = openBucket(location, limits);

  return {
    list: () => orS3Unavailable(() => listPackages(bucket, '')),

    // Lists by prefix, because a bucket may have many packages.
    versions: async (slug) => {
      const packages = isSlug(slug) ? await orS3Unavailable(() => listPackages(bucket, `${slug}-`)) : [];
      return packages.filter((found) => found.slug === slug).map(({ version }) => version);
    },

    open: async (slug, version) => {
      const name = packageFileName(slug, version);
      return name === null ? null : orS3Unavailable(() => openPackage(bucket, name));
    },

    publish: async (slug, version, file) => {
      const name = requirePackageFileName(slug, version);
      // Not in `orS3Unavailable`: a missing source file is not an error of the store.
      const source = await open(file);
      return orS3Unavailable(() => publishInBucket(bucket, source, name, limits.settleMs)).finally(() =>
        source.close(),
      );
    },
  };
};

const listPackages = async (bucket: S3Bucket, start: string): Promise<PackageName[]> => {
  const objects = await Array.fromAsync(bucket.list(start));
  return objects.flatMap(({ name }) => parsePackageFileName(name) ?? []);
};

/**
 * Looks for the package in the listing first. A GET alone does not reveal whether it exists: without s3:ListBucket, S3 responds
 * with AccessDenied to missing and to forbidden objects. After the listing, AccessDenied is an error in the settings.
 */
const openPackage = async (bucket: S3Bucket, name: string): Promise<StoredPackage | null> => {
  const sizeBytes = await bucket.sizeOf(name);
  if (sizeBytes === null) return null;
  const sha256 = await readBucketChecksum(bucket, name);
  if (!sha256) throw missingChecksum(name);
  return { body: bucket.read(name, toSafeError), sizeBytes, sha256 };
};

/** Writes an empty object, which stays: the service needs no permission to delete objects. */
export const probeBucket = (location: S3Location): Promise<void> =>
  orS3Unavailable(() => openBucket(location, DEFAULT_LIMITS).put('.probe', { body: '', sizeBytes: 0 }));

/** A checksum file has 64 digits and a file name, which may include its folder. */
const MAX_CHECKSUM_BYTES = 4096;

/**
 * Uploads a file under its package name, so that it is never visible without its checksum. One request is enough: packages
 * have at most 100 MiB, and S3 accepts 5 GiB.
 * @throws Problem `invalid-package` if the version exists with other bytes, or the file changes during the upload
 */
const publishInBucket = async (
  bucket: S3Bucket,
  source: FileHandle,
  name: string,
  settleMs: number,
): Promise<PublishedFile> => {
  const measured = await measure(source.createReadStream({ autoClose: false, start: 0 }));
  // An object that was added without a checksum keeps its name too.
  const stored = await bucket.get(name);
  if (stored && (await measure(stored)).sha256 !== measured.sha256) throw versionTaken(name);

  await claim(bucket, name, measured.sha256, settleMs);
  if (!stored) await upload(bucket, source, name, measured);
  return { ...measured, isNew: stored === null };
};

/** The digest in the checksum object of a package: null if there is no such object, '' if it is invalid. */
const readBucketChecksum = async (bucket: S3Bucket, name: string): Promise<string | null> => {
  const text = await bucket.getText(checksumFileOf(name), MAX_CHECKSUM_BYTES);
  return text === null ? null : (parseChecksum(text, name) ?? '');
};

type Measured = { sha256: string; sizeBytes: number };

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
 * Decides which bytes a version has: the first publisher to write the checksum wins. The package is written afterwards, and
 * readers look for it first. A publisher that crashes in between leaves a checksum, and the same bytes can be published
 * again.
 *
 * Some servers ignore the condition `If-None-Match: *`. A second write shows it, because a server that knows the condition
 * rejects it. On other servers, each publisher waits until concurrent publishers have written too: the last write wins. A
 * publisher there that takes longer than `settleMs` between its read and its write can still replace a package, or leave a
 * checksum that does not match the package, which no fetch accepts.
 */
const claim = async (bucket: S3Bucket, name: string, sha256: string, settleMs: number): Promise<void> => {
  if ((await readBucketChecksum(bucket, name)) === null) {
    const put = () => putIfNew(bucket, checksumFileOf(name), checksumLine(name, sha256));
    const isConditionIgnored = (await put()) && (await put());
    if (isConditionIgnored) await sleep(settleMs);
  }
  const claimed = await readBucketChecksum(bucket, name);
  if (claimed === null)
    throw new Problem('package-store-unavailable', { cause: new Error(`${name} is being published.`) });
  if (claimed !== sha256) throw versionTaken(name);
};

/** False if the object exists, or (`ConditionalRequestConflict`) is being written by another publisher. */
const putIfNew = async (bucket: S3Bucket, name: string, body: string): Promise<boolean> => {
  const object = { body, sizeBytes: Buffer.byteLength(body) };
  try {
    await bucket.put(name, { ...object, onlyIfNew: true });
  } catch (error) {
    if (hasErrorCode(error, 'PreconditionFailed', 'ConditionalRequestConflict')) return false;
    if (!hasErrorCode(error, 'NotImplemented', 'InvalidArgument')) throw error;
    await bucket.put(name, object);
  }
  return true;
};

const upload = async (bucket: S3Bucket, source: FileHandle, name: string, measured: Measured) => {
  const end = Math.max(measured.sizeBytes - 1, 0);
  const bytes = source.createReadStream({ autoClose: false, start: 0, end });
  const body = Readable.from(verified(bytes, measured.sha256), { objectMode: false });
  await bucket.put(name, { body, sizeBytes: measured.sizeBytes });
};

/** Sends the last chunk only if all bytes have this digest: S3 does not store an incomplete object. */
const verified = async function* (bytes: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const digest = createHash('sha256');
  let last: Buffer | undefined;
  for await (const chunk of bytes) {
    digest.update(chunk);
    if (last) yield last;
    last = chunk;
  }
  if (digest.digest('hex') !== sha256)
    throw new Problem('invalid-package', { detail: 'The file has changed while it was being published.' });
  if (last) yield last;
};
