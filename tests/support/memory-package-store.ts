import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type PackageStore, versionTaken } from '../../src/adapters/package-store/package-store.ts';
import { packageFileName, parsePackageFileName, requirePackageFileName } from '../../src/lib/package-name.ts';

/** A package store in memory. */
export const createMemoryPackageStore = (): PackageStore => {
  const packages = new Map<string, { bytes: Buffer; sha256: string }>();

  const list = async () => [...packages.keys()].flatMap((name) => parsePackageFileName(name) ?? []);

  return {
    list,

    versions: async (slug) =>
      (await list()).filter((found) => found.slug === slug).map(({ version }) => version),

    open: async (slug, version) => {
      const found = packages.get(packageFileName(slug, version) ?? '');
      if (!found) return null;
      // In an array: a bare Buffer would be iterated byte by byte.
      const body = Readable.from([found.bytes], { objectMode: false });
      return { body, sizeBytes: found.bytes.length, sha256: found.sha256 };
    },

    publish: async (slug, version, file) => {
      const name = requirePackageFileName(slug, version);
      const bytes = await readFile(file);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const taken = packages.get(name);
      if (taken && taken.sha256 !== sha256) throw versionTaken(name);
      packages.set(name, { bytes, sha256 });
      return { sha256, sizeBytes: bytes.length, isNew: taken === undefined };
    },
  };
};
