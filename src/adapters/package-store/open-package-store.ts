import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, link, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { StoreLocation } from '../../config/store-config.ts';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { ensureDirectory, sha256OfFile, syncDirectory } from '../../lib/files.ts';
import {
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import {
  checksumFileOf,
  checksumLine,
  missingChecksum,
  orUnavailable,
  type PackageStore,
  type PublishedFile,
  readChecksum,
  type StoredPackage,
  versionTaken,
} from './package-store.ts';

/**
 * Opens the store of the settings without accessing it. The S3 client takes about 120 ms and 22 MB to load, so it is loaded
 * only for a bucket.
 */
export const openPackageStore = async (location: StoreLocation): Promise<PackageStore> => {
  if (location.kind === 'folder') return createFolderPackageStore(location);
  const { createS3PackageStore } = await import('./s3-package-store.ts');
  return createS3PackageStore(location);
};

type ProbeResult = { readError: unknown; writeError: unknown };

/**
 * Reads the listing of a store, and writes a file that is not a package.
 * @returns the errors, null for what works
 */
export const probePackageStore = async (location: StoreLocation): Promise<ProbeResult> => {
  const store = await openPackageStore(location);
  const readError = await errorOf(store.versions('any'));
  return { readError, writeError: readError ?? (await errorOf(probeWrite(location))) };
};

const probeWrite = async (location: StoreLocation): Promise<void> =>
  location.kind === 'folder'
    ? probeFolder(location.dir)
    : (await import('./s3-package-store.ts')).probeBucket(location);

/** Problems of the store say only that it failed; their causes say why. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error instanceof Problem ? (error.cause ?? error) : error),
  );

/** Packages as `{slug}-{version}.tgz` in a folder, each with its `.sha256` file. */
export const createFolderPackageStore = ({ dir }: { dir: string }): PackageStore => ({
  list: () => orUnavailable(() => listPackages(dir)),

  versions: (slug) =>
    orUnavailable(async () => {
      const packages = await listPackages(dir);
      return packages.filter((found) => found.slug === slug).map(({ version }) => version);
    }),

  open: async (slug, version) => {
    const name = packageFileName(slug, version);
    return name === null ? null : orUnavailable(() => openPackage(join(dir, name)));
  },

  publish: async (slug, version, file) => {
    const name = requirePackageFileName(slug, version);
    // Not in `orUnavailable`: a missing source file is not an error of the store.
    const source = await open(file);
    return orUnavailable(() => publish(source, dir, name)).finally(() => source.close());
  },
});

const listPackages = async (dir: string): Promise<PackageName[]> => {
  const names = (await nullIfMissing(readdir(dir))) ?? [];
  return names.flatMap((name) => parsePackageFileName(name) ?? []);
};

const openPackage = async (file: string): Promise<StoredPackage | null> => {
  const handle = await nullIfMissing(open(file));
  if (handle === null) return null;
  try {
    const { size: sizeBytes } = await handle.stat();
    const sha256 = await readChecksum(file);
    if (sha256 === null) throw missingChecksum(basename(file));
    return { body: handle.createReadStream(), sizeBytes, sha256 };
  } catch (error) {
    await handle.close();
    throw error;
  }
};

const publish = async (source: FileHandle, dir: string, name: string): Promise<PublishedFile> => {
  await ensureDirectory(dir).catch((cause: unknown) => {
    throw new Problem('package-store-unavailable', { cause });
  });
  const target = join(dir, name);
  const copy = join(dir, `.${name}.${randomUUID()}.tmp`);
  try {
    const copied = await copyDurably(source, copy);
    const existing = await nullIfMissing(sha256OfFile(target));
    // A file that was added without a checksum keeps its name too.
    if (existing !== null && existing !== copied.sha256) throw versionTaken(name);
    await claim(target, checksumFileOf(copy), copied.sha256);
    if (existing === null) await rename(copy, target);
    await syncDirectory(dir);
    return { ...copied, isNew: existing === null };
  } finally {
    await rm(copy, { force: true });
    await rm(checksumFileOf(copy), { force: true });
  }
};

/** Hashes the bytes that are copied, because the source file may change during the copy. */
const copyDurably = async (source: FileHandle, copy: string) => {
  const digest = createHash('sha256');
  const written = createWriteStream(copy, { flags: 'wx', flush: true });
  const hash = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      digest.update(chunk);
      yield chunk;
    }
  };
  await pipeline(source.createReadStream({ autoClose: false }), hash, written);
  return { sha256: digest.digest('hex'), sizeBytes: written.bytesWritten };
};

/**
 * Decides which bytes a version has: the first publisher to link its checksum file wins, because `link` fails if the
 * file exists. Readers look for the package first, so they never see it without a checksum. A publisher that crashes
 * after this leaves a checksum, and the same bytes can be published again.
 */
const claim = async (target: string, draft: string, sha256: string): Promise<void> => {
  const name = basename(target);
  await writeFile(draft, checksumLine(name, sha256), { flag: 'wx', flush: true });
  try {
    await link(draft, checksumFileOf(target));
    // Must be on disk before the package, in case of a power failure.
    await syncDirectory(dirname(target));
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error;
    if ((await readChecksum(target)) !== sha256) throw versionTaken(name, error);
  }
};

/** Writes a file and removes it. A missing folder is not created: the first publication does so. */
const probeFolder = async (dir: string): Promise<void> => {
  const file = join(dir, `.probe.${randomUUID()}.tmp`);
  try {
    await nullIfMissing(writeFile(file, '', { flag: 'wx', flush: true }));
  } finally {
    await rm(file, { force: true });
  }
};
