/** The folder or bucket of backups cannot be used. The message is one line for the operator. */
export class BackupStoreError extends Error {
  override readonly name = 'BackupStoreError';
}
