/** The code of a failed system call (`ENOENT`), or a SQLSTATE. */
export const errorCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Resolves with null if the file or folder does not exist. */
export const nullIfMissing = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return null;
    throw error;
  });
