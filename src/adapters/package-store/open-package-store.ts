import type { AppStore } from '../../config/package-store-config.ts';
import { createFolderPackageStore } from './folder-package-store.ts';
import type { PackageStore } from './package-store.ts';

/**
 * The store that the settings name. S3's client, which takes about 120 ms and 22 MB, is loaded only for a bucket;
 * the store itself is not asked for anything yet.
 */
export const openPackageStore = async (place: AppStore): Promise<PackageStore> => {
  if (place.kind === 'folder') return createFolderPackageStore(place);
  const { createS3PackageStore } = await import('./s3-package-store.ts');
  return createS3PackageStore(place);
};
