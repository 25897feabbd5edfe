import type { Readable } from 'node:stream';
import type { PackageName } from '../../lib/package-name.ts';

export type StoredPackage = {
  /**
   * The bytes of the archive. Whoever opened the package reads it to the end or destroys it. Where the store fails
   * in between, it breaks with an error.
   */
  body: Readable;
  sizeBytes: number;
  /** hex SHA-256 published beside it */
  sha256: string;
};

export type PackageStore = {
  /** Every package that is in the store, in no order. @throws Problem `package-store-unavailable` */
  list(): Promise<PackageName[]>;
  /** Every version of a slug that is in the store, in no order. @throws Problem `package-store-unavailable` */
  versions(slug: string): Promise<string[]>;
  /**
   * null when there is no such package.
   * @throws Problem `package-store-unavailable`, `invalid-package` (no or no valid checksum file)
   */
  open(slug: string, version: string): Promise<StoredPackage | null>;
  /**
   * Puts a finished package there, atomically, checksum and bytes together from a reader's view. Publishing
   * the same version with the same bytes changes nothing (`isNew` is false); other bytes are refused.
   * @throws Problem `invalid-package`, `package-store-unavailable`
   */
  publish(
    slug: string,
    version: string,
    file: string,
  ): Promise<{ sha256: string; sizeBytes: number; isNew: boolean }>;
};
