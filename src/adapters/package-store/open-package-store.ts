import type { AppStore } from '../../config/package-store-config.ts';
import { createFolderPackageStore } from './folder-package-store.ts';
import type { PackageStore } from './package-store.ts';

/**
 * Opens the store of the settings without accessing it. The S3 client takes about 120 ms and 22 MB to load, so it is loaded
 * only for a bucket.
 */
export const openPackageStore = async (location: AppStore): Promise<PackageStore> => {
  if (location.kind === 'folder') return createFolderPackageStore(location);
  const { createS3PackageStore } = await import('./s3-package-store.ts');
  return createS3PackageStore(location);
};
