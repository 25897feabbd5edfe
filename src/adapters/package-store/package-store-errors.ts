import { Problem } from '../../lib/problems.ts';

/** A package whose checksum file is missing, or is none, or is another file's. */
export const noValidChecksum = (name: string): Problem =>
  new Problem('invalid-package', { detail: `${name} has no valid checksum file ${name}.sha256.` });

/** What a publisher is told whose version the store has already. */
export const alreadyTaken = (name: string, cause?: unknown): Problem => {
  const detail = `${name} is in the store already with other bytes (see ${name}.sha256): publish a new version.`;
  return new Problem('invalid-package', { detail, cause });
};
