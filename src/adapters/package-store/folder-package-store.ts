import { type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { nullIfMissing } from '../../lib/errno.ts';
import {
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import { readChecksum } from './checksum-file.ts';
import { publishInFolder } from './folder-package-publishing.ts';
import type { PackageStore, StoredPackage } from './package-store.ts';
import { noValidChecksum } from './package-store-errors.ts';

/** Packages as `{slug}-{version}.tgz` in a folder, each with its `.sha256` beside it. */
export const createFolderPackageStore = ({ dir }: { dir: string }): PackageStore => ({
  list: () => orAway(() => packagesIn(dir)),

  versions: (slug) =>
    orAway(async () => {
      const packages = await packagesIn(dir);
      return packages.filter((found) => found.slug === slug).map(({ version }) => version);
    }),

  open: async (slug, version) => {
    const name = packageFileName(slug, version);
    return name === null ? null : orAway(() => openPackage(join(dir, name)));
  },

  publish: async (slug, version, file) => {
    const name = requirePackageFileName(slug, version);
    // Opened out here, so that a source file that cannot be opened is not blamed on the store.
    const source = await open(file);
    return orAway(() => publishInFolder(source, dir, name)).finally(() => source.close());
  },
});

const packagesIn = async (dir: string): Promise<PackageName[]> => {
  const names = (await nullIfMissing(readdir(dir))) ?? [];
  return names.flatMap((name) => parsePackageFileName(name) ?? []);
};

const openPackage = async (file: string): Promise<StoredPackage | null> => {
  const handle = await nullIfMissing(open(file));
  if (handle === null) return null;
  try {
    return await withChecksum(file, handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
};

const withChecksum = async (file: string, handle: FileHandle): Promise<StoredPackage> => {
  const { size: sizeBytes } = await handle.stat();
  const sha256 = await readChecksum(file);
  if (sha256 === null) throw noValidChecksum(basename(file));
  return { body: handle.createReadStream(), sizeBytes, sha256 };
};

const orAway = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof Problem ? cause : new Problem('package-store-unavailable', { cause });
  }
};
