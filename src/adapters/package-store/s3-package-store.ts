import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  isSlug,
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { checksumFileOf, parseChecksum } from './checksum-file.ts';
import type { PackageStore, StoredPackage } from './package-store.ts';
import { noValidChecksum } from './package-store-errors.ts';
import { openBucket, type S3Bucket, type S3Patience, type S3Place } from './s3-bucket.ts';
import { readChecksumText } from './s3-checksum.ts';
import { failureOf, orAway } from './s3-failure.ts';
import { publishInBucket } from './s3-package-publishing.ts';

export type S3StorePatience = S3Patience & {
  /** See `claim` in s3-package-publishing.ts. */
  settleMs: number;
};

const PATIENCE: S3StorePatience = { connectMs: 3000, silenceMs: 20_000, maxPages: 10_000, settleMs: 1000 };

/**
 * Packages as `{slug}-{version}.tgz` under a prefix of a bucket, each with its `.sha256` beside it: as in a folder, so
 * that either can be copied to the other. Needs s3:ListBucket, s3:GetObject, and for publishing s3:PutObject.
 */
export const createS3PackageStore = (place: S3Place, patience = PATIENCE): PackageStore => {
  const bucket = openBucket(place, patience);

  return {
    list: () => orAway(() => packagesIn(bucket, '')),

    // The listing is bounded by the prefix: a bucket may hold many other packages.
    versions: async (slug) => {
      const packages = isSlug(slug) ? await orAway(() => packagesIn(bucket, `${slug}-`)) : [];
      return packages.filter((found) => found.slug === slug).map(({ version }) => version);
    },

    open: async (slug, version) => {
      const name = packageFileName(slug, version);
      return name === null ? null : orAway(() => openPackage(bucket, name));
    },

    publish: async (slug, version, file) => {
      const name = requirePackageFileName(slug, version);
      // Opened out here, so that a source file that cannot be opened is not blamed on the store.
      const source = await open(file);
      return orAway(() => publishInBucket(bucket, source, name, patience.settleMs)).finally(() =>
        source.close(),
      );
    },
  };
};

const packagesIn = async (bucket: S3Bucket, start: string): Promise<PackageName[]> => {
  const found: PackageName[] = [];
  for await (const { name } of bucket.list(start)) {
    const parsed = parsePackageFileName(name);
    if (parsed) found.push(parsed);
  }
  return found;
};

/**
 * The bytes are looked for first, in the listing: a publisher puts them there last. Whether they are missing could
 * not be told from a GET alone: without s3:ListBucket, S3 answers AccessDenied for what is missing and for what is
 * forbidden. With the listing, AccessDenied is never a missing package, but a fault of the settings.
 */
const openPackage = async (bucket: S3Bucket, name: string): Promise<StoredPackage | null> => {
  const sizeBytes = await sizeOf(bucket, name);
  if (sizeBytes === null) return null;
  const sha256 = parseChecksum((await readChecksumText(bucket, checksumFileOf(name))) ?? '', name);
  if (sha256 === null) throw noValidChecksum(name);
  return { body: Readable.from(bytesOf(bucket, name), { objectMode: false }), sizeBytes, sha256 };
};

const sizeOf = async (bucket: S3Bucket, name: string): Promise<number | null> => {
  for await (const found of bucket.list(name)) if (found.name === name) return found.sizeBytes;
  return null;
};

/**
 * Asks for the bytes once somebody reads: a request that nobody reads would hold one of the client's connections,
 * and enough of them all that are needed to open anything.
 */
const bytesOf = async function* (bucket: S3Bucket, name: string): AsyncGenerator<Buffer> {
  try {
    const body = await bucket.get(name);
    if (body === null) throw new Error(`${name} has just been taken out of the store.`);
    yield* body;
  } catch (error) {
    throw failureOf(error);
  }
};
