import type { StoreLocation } from '../../config/package-store-config.ts';
import { Problem } from '../../lib/problems.ts';
import { createFolderPackageStore, probeFolder } from './folder-package-store.ts';
import type { PackageStore } from './package-store.ts';

/**
 * Opens the store of the settings without accessing it. The S3 client takes about 120 ms and 22 MB to load, so it is loaded
 * only for a bucket.
 */
export const openPackageStore = async (location: StoreLocation): Promise<PackageStore> => {
  if (location.kind === 'folder') return createFolderPackageStore(location);
  const { createS3PackageStore } = await import('./s3-package-store.ts');
  return createS3PackageStore(location);
};

export type ProbeResult = { readError: unknown; writeError: unknown };

/**
 * Reads the listing of a store, and writes a file that is not a package.
 * @returns the errors, null for what works
 */
export const probePackageStore = async (location: StoreLocation): Promise<ProbeResult> => {
  const store = await openPackageStore(location);
  const readError = await errorOf(store.versions('any'));
  return { readError, writeError: readError ?? (await errorOf(probeWrite(location))) };
};

const probeWrite = async (location: StoreLocation): Promise<void> =>
  location.kind === 'folder'
    ? probeFolder(location.dir)
    : (await import('./s3-package-store.ts')).probeBucket(location);

/** Problems of the store say only that it failed; their causes say why. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof Problem ? (error.cause ?? error) : error),
  );
