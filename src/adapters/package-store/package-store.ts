import { createHash, randomUUID } from 'node:crypto';
import { link, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { StoreLocation } from '../../config/store-config.ts';
import { errorCodeOf, nullIfMissing } from '../../lib/errno.ts';
import { ensureDirectory, probeFolder, syncDirectory } from '../../lib/files.ts';
import {
  isSlug,
  type PackageName,
  packageFileName,
  parsePackageFileName,
  requirePackageFileName,
} from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';

export type StoredPackage = {
  /** The archive, which the caller reads to the end or destroys. Fails with an error if the store fails. */
  body: Readable;
  sizeBytes: number;
  /** The SHA-256 published with it, in hexadecimal digits. */
  sha256: string;
};

/** A published file. `isNew` is false if the store already had the same bytes. */
type PublishedFile = { sha256: string; sizeBytes: number; isNew: boolean };

/** Every function fails with Problem `package-store-unavailable` if the store fails. */
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

/** The files of a folder, or the objects under a prefix of a bucket, by their names. */
export type PackageFiles = {
  names(start: string): Promise<string[]>;
  /** Null if there is no such file. */
  sizeOf(name: string): Promise<number | null>;
  /** The bytes of a file, not read yet; null if it does not exist. */
  get(name: string): Promise<Readable | null>;
  /** Writes a file completely or not at all. */
  put(name: string, body: string | Buffer): Promise<void>;
  /** Like `put`, unless the file exists or another process is writing it. @returns whether it was written */
  putIfNew(name: string, text: string): Promise<boolean>;
  /** The error, reduced to a cause that may be logged. */
  toCause(error: unknown): unknown;
};

/**
 * Opens the store of the settings without accessing it. The S3 client takes about 120 ms and 22 MB to load, so it is loaded
 * only for a bucket.
 */
export const openPackageStore = async (location: StoreLocation): Promise<PackageStore> =>
  createPackageStore(await openFiles(location));

const openFiles = async (location: StoreLocation): Promise<PackageFiles> => {
  if (location.kind === 'folder') return openFolder(location.dir);
  const { openBucket } = await import('./s3-bucket.ts');
  return openBucket(location);
};

type ProbeResult = { readError: unknown; writeError: unknown };

/**
 * Lists a store, and writes a file that is not a package. Does not create a missing folder: the first publication does so.
 * @returns the error of each operation; null if it works
 */
export const probePackageStore = async (location: StoreLocation): Promise<ProbeResult> => {
  const files = await openFiles(location);
  const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, files.toCause);
  const readError = await errorOf(files.names(''));
  // An object is not removed: the service needs no permission to delete objects.
  const write = () => (location.kind === 'folder' ? probeFolder(location.dir) : files.put('.probe', ''));
  return { readError, writeError: readError ?? (await errorOf(write())) };
};

/**
 * Packages as `{slug}-{version}.tgz`, each with its `.sha256` file, so that a folder can be copied to a bucket and back.
 */
export const createPackageStore = (files: PackageFiles): PackageStore => {
  const orUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem('package-store-unavailable', { cause: files.toCause(error) });
    }
  };
  const list = (start: string): Promise<PackageName[]> =>
    orUnavailable(async () => (await files.names(start)).flatMap((name) => parsePackageFileName(name) ?? []));

  return {
    list: () => list(''),

    // Lists by prefix, because a bucket may have many packages.
    versions: async (slug) => {
      const packages = isSlug(slug) ? await list(`${slug}-`) : [];
      return packages.filter((found) => found.slug === slug).map(({ version }) => version);
    },

    open: async (slug, version) => {
      const name = packageFileName(slug, version);
      return name === null ? null : orUnavailable(() => openPackage(files, name));
    },

    publish: async (slug, version, file) => {
      const name = requirePackageFileName(slug, version);
      // Not in `orUnavailable`: a missing source file is not an error of the store.
      const bytes = await readFile(file);
      return orUnavailable(() => publish(files, bytes, name));
    },
  };
};

/**
 * Looks up the package by its size first, which a bucket has in its listing. A GET alone does not reveal whether it exists: without
 * s3:ListBucket, S3 responds with AccessDenied to missing and to forbidden objects.
 */
const openPackage = async (files: PackageFiles, name: string): Promise<StoredPackage | null> => {
  const sizeBytes = await files.sizeOf(name);
  if (sizeBytes === null) return null;
  const sha256 = await readChecksum(files, name);
  if (!sha256)
    throw new Problem('invalid-package', { detail: `${name} has no valid checksum file ${name}.sha256.` });
  return { body: readLater(files, name, files.toCause), sizeBytes, sha256 };
};

/** The bytes of a file, opened at the first read: until then, they would occupy a connection or a file descriptor. */
export const readLater = (
  { get }: Pick<PackageFiles, 'get'>,
  name: string,
  toError: (error: unknown) => unknown,
): Readable => {
  const bytes = async function* () {
    try {
      const body = await get(name);
      if (body === null) throw new Error(`${name} was just removed.`);
      yield* body;
    } catch (error) {
      throw toError(error);
    }
  };
  return Readable.from(bytes(), { objectMode: false });
};

/** Writes the checksum first and the package last, so that it is never visible without its checksum. The first checksum wins. */
const publish = async (files: PackageFiles, bytes: Buffer, name: string): Promise<PublishedFile> => {
  const sha256 = sha256Of(bytes);
  // A file that was added without a checksum also reserves its name.
  const stored = await files.get(name);
  if (stored && sha256Of(await buffer(stored)) !== sha256) throw versionTaken(name);

  const isClaimed = await files.putIfNew(`${name}.sha256`, `${sha256}  ${name}\n`);
  if (!isClaimed && (await readChecksum(files, name)) !== sha256) throw versionTaken(name);
  if (!stored) await files.put(name, bytes);
  return { sha256, sizeBytes: bytes.length, isNew: stored === null };
};

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export const versionTaken = (name: string): Problem =>
  new Problem('invalid-package', {
    detail: `${name} is in the store already with other bytes (see ${name}.sha256): publish a new version.`,
  });

/** The digest in the checksum file of a package, a line of `sha256sum`: null if there is no such file, '' if it is invalid. */
const readChecksum = async (files: PackageFiles, name: string): Promise<string | null> => {
  const body = await files.get(`${name}.sha256`);
  return body && (/^[0-9a-f]{64}(?= )/.exec(await text(body))?.[0] ?? '');
};

/** The packages of a folder. */
export const openFolder = (dir: string): PackageFiles => {
  /** Renamed to its name once it is on disk, in case of a power failure. */
  const write = async (name: string, body: string | Buffer, place: typeof link): Promise<void> => {
    await ensureDirectory(dir).catch((cause: unknown) => {
      throw new Problem('package-store-unavailable', { cause });
    });
    const draft = join(dir, `.${name}.${randomUUID()}.tmp`);
    try {
      await writeFile(draft, body, { flag: 'wx', flush: true });
      await place(draft, join(dir, name));
      await syncDirectory(dir);
    } finally {
      await rm(draft, { force: true });
    }
  };

  return {
    names: async (start) => {
      const names = (await nullIfMissing(readdir(dir))) ?? [];
      return names.filter((name) => name.startsWith(start));
    },
    sizeOf: async (name) => (await nullIfMissing(stat(join(dir, name))))?.size ?? null,
    get: async (name) => (await nullIfMissing(open(join(dir, name))))?.createReadStream() ?? null,
    put: (name, body) => write(name, body, rename),
    putIfNew: async (name, body) => {
      try {
        await write(name, body, link);
        return true;
      } catch (error) {
        if (errorCodeOf(error) === 'EEXIST') return false;
        throw error;
      }
    },
    toCause: (error) => error,
  };
};
