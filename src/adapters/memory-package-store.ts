import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { packageFileName, parsePackageFileName, requirePackageFileName } from '../core/package-name.ts';
import { Problem } from '../core/problems.ts';
import type { PackageStore } from './package-store.ts';

/** The package store's in-memory twin. */
export const createMemoryPackageStore = (): PackageStore => {
  const packages = new Map<string, { bytes: Buffer; sha256: string }>();

  return {
    versions: async (slug) =>
      [...packages.keys()].flatMap((name) => {
        const parsed = parsePackageFileName(name);
        return parsed?.slug === slug ? [parsed.version] : [];
      }),

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
      if (taken && taken.sha256 !== sha256) {
        throw new Problem('bad-package', { detail: `${name} is in the store already with other bytes.` });
      }
      packages.set(name, { bytes, sha256 });
      return { sha256, sizeBytes: bytes.length };
    },
  };
};
