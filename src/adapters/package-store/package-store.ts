import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, link, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** A file that was published. `isNew` is false if the store already had the same bytes. */
type PublishedFile = { sha256: string; sizeBytes: number; isNew: boolean };

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
   * @throws Problem `invalid-package` if the version exists with other bytes, or the file changes in the meantime
   */
  publish(slug: string, version: string, file: string): Promise<PublishedFile>;
};

/** The files of a folder, or the objects under a prefix of a bucket, by their names. */
export type PackageFiles = {
  /** Those that start with `start`. */
  names(start: string): Promise<string[]>;
  /** Null if there is no such file. */
  sizeOf(name: string): Promise<number | null>;
  /** The bytes of a file, not read yet; null if it does not exist. */
  get(name: string): Promise<Readable | null>;
  /** Writes a file completely or not at all. */
  put(name: string, content: { body: string | Readable; sizeBytes: number }): Promise<void>;
  /** As `put`, unless the file exists or is being written by another process. @returns whether it was written */
  putIfNew(name: string, text: string): Promise<boolean>;
  /** A cause that may be logged. */
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
 * Reads the listing of a store, and writes a file that is not a package. A missing folder is not created: the first publication does so.
 * @returns the errors, null for what works
 */
export const probePackageStore = async (location: StoreLocation): Promise<ProbeResult> => {
  const files = await openFiles(location);
  const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, files.toCause);
  const readError = await errorOf(files.names(''));
  // An object stays: the service needs no permission to delete objects.
  const write = () =>
    location.kind === 'folder' ? probeFolder(location.dir) : files.put('.probe', { body: '', sizeBytes: 0 });
  return { readError, writeError: readError ?? (await errorOf(write())) };
};

/**
 * Packages as `{slug}-{version}.tgz`, each with its `.sha256` file, so that a folder can be copied to a bucket and back.
 * @param settleMs see `claim`
 */
export const createPackageStore = (files: PackageFiles, settleMs = 1000): PackageStore => {
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
      const source = await open(file);
      return orUnavailable(() => publish(files, source, name, settleMs)).finally(() => source.close());
    },
  };
};

/**
 * Looks for the package by its size first, which a bucket has in its listing. A GET alone does not reveal whether it exists:
 * without s3:ListBucket, S3 responds with AccessDenied to missing and to forbidden objects.
 */
const openPackage = async (files: PackageFiles, name: string): Promise<StoredPackage | null> => {
  const sizeBytes = await files.sizeOf(name);
  if (sizeBytes === null) return null;
  const sha256 = await readChecksum(files, name);
  if (!sha256)
    throw new Problem('invalid-package', { detail: `${name} has no valid checksum file ${name}.sha256.` });
  return { body: readLater(files, name, files.toCause), sizeBytes, sha256 };
};

/** The bytes of a file, from the first read on: until then, they would occupy a connection or a file descriptor. */
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

/** Writes the checksum first and the package last, so that it is never visible without its checksum. */
const publish = async (
  files: PackageFiles,
  source: FileHandle,
  name: string,
  settleMs: number,
): Promise<PublishedFile> => {
  const measured = await measure(source.createReadStream({ autoClose: false, start: 0 }));
  // A file that was added without a checksum keeps its name too.
  const stored = await files.get(name);
  if (stored && (await measure(stored)).sha256 !== measured.sha256) throw versionTaken(name);

  await claim(files, name, measured.sha256, settleMs);
  if (!stored) await upload(files, source, name, measured);
  return { ...measured, isNew: stored === null };
};

export const versionTaken = (name: string): Problem =>
  new Problem('invalid-package', {
    detail: `${name} is in the store already with other bytes (see ${name}.sha256): publish a new version.`,
  });

type Measured = { sha256: string; sizeBytes: number };

const measure = async (bytes: AsyncIterable<Buffer>): Promise<Measured> => {
  const digest = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    digest.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: digest.digest('hex'), sizeBytes };
};

/**
 * Decides which bytes a version has: the first publisher to write the checksum wins. The package is written afterwards, and
 * readers look for it first. A publisher that crashes in between leaves a checksum, and the same bytes can be published
 * again.
 *
 * Some S3 servers ignore the condition of `putIfNew`. A second write shows it, because a server that knows the condition
 * rejects it. On other servers, each publisher waits until concurrent publishers have written too: the last write wins. A
 * publisher there that takes longer than `settleMs` between its read and its write can still replace a package, or leave a
 * checksum that does not match the package, which no fetch accepts.
 */
const claim = async (files: PackageFiles, name: string, sha256: string, settleMs: number): Promise<void> => {
  if ((await readChecksum(files, name)) === null) {
    const put = () => files.putIfNew(`${name}.sha256`, `${sha256}  ${name}\n`);
    const isConditionIgnored = (await put()) && (await put());
    if (isConditionIgnored) await sleep(settleMs);
  }
  const claimed = await readChecksum(files, name);
  if (claimed === null)
    throw new Problem('package-store-unavailable', { cause: new Error(`${name} is being published.`) });
  if (claimed !== sha256) throw versionTaken(name);
};

/** A checksum file has 64 digits and a file name, which may include its folder. */
const MAX_CHECKSUM_BYTES = 4096;
/** A line of `sha256sum`: the digest, a space, `*` for binary mode, and the file name, which may include its folder. */
const CHECKSUM_FORM = /^([0-9a-f]{64}) [ *](?:[^\r\n]*\/)?([^/\r\n]+)\r?\n?$/i;

/** The digest in the checksum file of a package: null if there is no such file, '' if it is invalid or of another package. */
const readChecksum = async (files: PackageFiles, name: string): Promise<string | null> => {
  const body = await files.get(`${name}.sha256`);
  if (body === null) return null;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_CHECKSUM_BYTES) break;
  }
  const [, sha256 = '', named] = CHECKSUM_FORM.exec(Buffer.concat(chunks).toString('utf8')) ?? [];
  return named === name ? sha256.toLowerCase() : '';
};

const upload = async (files: PackageFiles, source: FileHandle, name: string, measured: Measured) => {
  const end = Math.max(measured.sizeBytes - 1, 0);
  const bytes = source.createReadStream({ autoClose: false, start: 0, end });
  const body = Readable.from(verified(bytes, measured.sha256), { objectMode: false });
  await files.put(name, { body, sizeBytes: measured.sizeBytes });
};

/** Sends the last chunk only if all bytes have this digest: an incomplete file is not stored. */
const verified = async function* (bytes: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const digest = createHash('sha256');
  let last: Buffer | undefined;
  for await (const chunk of bytes) {
    digest.update(chunk);
    if (last) yield last;
    last = chunk;
  }
  if (digest.digest('hex') !== sha256)
    throw new Problem('invalid-package', { detail: 'The file has changed while it was being published.' });
  if (last) yield last;
};

/** The packages of a folder. */
export const openFolder = (dir: string): PackageFiles => {
  /** Under its name once it is on disk, in case of a power failure. */
  const write = async (name: string, body: string | Readable, place: typeof link): Promise<void> => {
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
    put: (name, { body }) => write(name, body, rename),
    putIfNew: async (name, text) => {
      try {
        await write(name, text, link);
        return true;
      } catch (error) {
        if (errorCodeOf(error) === 'EEXIST') return false;
        throw error;
      }
    },
    toCause: (error) => error,
  };
};
