import { open } from 'node:fs/promises';
import {
  isSlug,
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { missingChecksum, type PackageStore, type StoredPackage } from './package-store.ts';
import { openBucket, type S3Bucket, type S3Limits, type S3Location } from './s3-bucket.ts';
import { orS3Unavailable, toSafeError } from './s3-errors.ts';
import { publishInBucket, readBucketChecksum } from './s3-package-publishing.ts';

/** `settleMs`: see `claim` in s3-package-publishing.ts. */
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
