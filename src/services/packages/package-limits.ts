import { Problem } from '../../lib/problems.ts';

/** Bounds an archive, and also what it unpacks to: its tar stream, headers included. */
export const MAX_PACKAGE_BYTES = 100 * 1024 ** 2;

/** Entries of any kind, folders included. */
export const MAX_ENTRIES = 10_000;

export const invalidPackage = (detail: string, cause?: unknown): Problem =>
  new Problem('invalid-package', { detail, cause });

/** @throws Problem `invalid-package` once `what` is too large */
export const refuseOversize = (what: string, sizeBytes: number): void => {
  const maxMiB = MAX_PACKAGE_BYTES / 1024 ** 2;
  if (sizeBytes > MAX_PACKAGE_BYTES) throw invalidPackage(`${what} is larger than ${maxMiB} MiB.`);
};
