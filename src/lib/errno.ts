/** The code of a failed system call (`ENOENT`), or a SQLSTATE. */
export const errorCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Resolves with null if the file or folder does not exist. */
export const nullIfMissing = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  });

/** The message of an error. A host with several addresses fails with an error for each, which has no message itself. */
export const reasonOf = (cause: unknown): string => {
  if (cause instanceof AggregateError) return cause.errors.map(reasonOf).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
};

/** A failure that the operator can fix. The message is one line for the operator. */
export class OperatorError extends Error {
  override readonly name: string = this.constructor.name;
}

/** The folder or bucket of backups cannot be used. */
export class BackupStoreError extends OperatorError {}
