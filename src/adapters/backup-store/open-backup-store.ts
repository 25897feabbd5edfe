import type { StoreLocation } from '../../config/package-store-config.ts';
import type { BackupStore } from './backup-store.ts';
import { createFolderBackupStore } from './folder-backup-store.ts';

/** Opens a folder or bucket of backups without accessing it. The S3 client is loaded only for a bucket. */
export const openBackupStore = async (location: StoreLocation): Promise<BackupStore> => {
  if (location.kind === 'folder') return createFolderBackupStore(location.dir);
  const { createS3BackupStore } = await import('./s3-backup-store.ts');
  return createS3BackupStore(location);
};
