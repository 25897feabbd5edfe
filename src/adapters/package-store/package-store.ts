import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { nullIfMissing } from '../../lib/errno.ts';
import type { PackageName } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';

export type StoredPackage = {
  /** The archive, which the caller reads to the end or destroys. Fails with an error if the store fails. */
  body: Readable;
  sizeBytes: number;
  /** The SHA-256 published with it, in hexadecimal digits. */
  sha256: string;
};

/** A file that was published. `isNew` is false if the store already had the same bytes. */
export type PublishedFile = { sha256: string; sizeBytes: number; isNew: boolean };

/** Every function fails with Problem `package-store-unavailable` if the store does. */
export type PackageStore = {
  /** All packages, unsorted. */
  list(): Promise<PackageName[]>;
  /** All versions of a slug, unsorted. */
  versions(slug: string): Promise<string[]>;
  /**
   * Null if there is no such package.
   * @throws Problem `invalid-package` without a valid checksum file
   */
  open(slug: string, version: string): Promise<StoredPackage | null>;
  /**
   * Adds a package atomically: readers see the file and its checksum together, or neither.
   * @throws Problem `invalid-package` if the version exists with other bytes
   */
  publish(slug: string, version: string, file: string): Promise<PublishedFile>;
};

export const missingChecksum = (name: string): Problem =>
  new Problem('invalid-package', { detail: `${name} has no valid checksum file ${name}.sha256.` });

export const versionTaken = (name: string, cause?: unknown): Problem => {
  const detail = `${name} is in the store already with other bytes (see ${name}.sha256): publish a new version.`;
  return new Problem('invalid-package', { detail, cause });
};

/** Runs `work`, and reports any error but a Problem as `package-store-unavailable`, caused by `toCause(error)`. */
export const orUnavailable = async <T>(
  work: () => Promise<T>,
  toCause = (error: unknown): unknown => error,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('package-store-unavailable', { cause: toCause(error) });
  }
};

/** A line of `sha256sum`: the digest, a space, `*` for binary mode, and the file name, which may include its folder. */
const CHECKSUM_FORM = /^([0-9a-f]{64}) [ *](?:[^\r\n]*\/)?([^/\r\n]+)\r?\n?$/i;

export const checksumFileOf = (file: string): string => `${file}.sha256`;

/** The content of the checksum file of `name`. */
export const checksumLine = (name: string, sha256: string): string => `${sha256}  ${name}\n`;

/** The digest in a checksum file. Null if the file is invalid, or belongs to another file than `name`. */
export const parseChecksum = (text: string, name: string): string | null => {
  const [, sha256, named] = CHECKSUM_FORM.exec(text) ?? [];
  return sha256 !== undefined && named === name ? sha256.toLowerCase() : null;
};

/** The digest in the checksum file of a file; null if it is missing or invalid. */
export const readChecksum = async (file: string): Promise<string | null> =>
  parseChecksum((await nullIfMissing(readFile(checksumFileOf(file), 'utf8'))) ?? '', basename(file));
