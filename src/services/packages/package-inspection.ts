import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import type { StoredPackage } from '../../adapters/package-store/package-store.ts';
import { reasonOf } from '../../lib/errno.ts';
import type { PackageName } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import { MANIFEST_FILE, type PackageManifest } from './package-manifest.ts';
import { MAX_YAML_BYTES, parseManifest } from './package-manifest-parsing.ts';
import { checkSize, createPathRules, invalidPackage, quote } from './package-rules.ts';

export type InspectedPackage = { manifest: PackageManifest; sha256: string; sizeBytes: number };

/**
 * Reads a package once, as a stream, and returns its manifest. Validates that its bytes are the published ones, that every
 * entry is harmless, and that it has the expected slug and version. Nothing is unpacked to disk. The stream is consumed or
 * destroyed.
 * @throws Problem `invalid-package`, `package-store-unavailable`
 */
export const inspectPackage = async (stored: StoredPackage, expected: PackageName) => {
  const digest = createHash('sha256');
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const archive = createArchiveReader();
  let sizeBytes = 0;

  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    checkSize('The package', stored.sizeBytes);
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      checkSize('The package', sizeBytes);
      digest.update(chunk);
      yield chunk;
    }
  };
  // A store that sends no more bytes must not delay the failure.
  gunzip.once('close', () => stored.body.destroy());
  await pipeline(fromStore(stored.body), measured, gunzip, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) archive.write(chunk);
  }).catch((error: unknown) => {
    throw error instanceof Problem ? error : unsound(error);
  });

  const sha256 = digest.digest('hex');
  if (sha256 !== stored.sha256)
    throw invalidPackage('The package does not have the SHA-256 published with it.');

  const manifest = parseManifest(archive.end());
  requireName(manifest, expected);
  return { manifest, sha256, sizeBytes };
};

const unsound = (error: unknown): Problem =>
  invalidPackage(`The package is not a sound .tgz archive: ${reasonOf(error)}.`, error);

/** Distinguishes failures of the store from failures of the reader. */
const fromStore = async function* (body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (cause) {
    throw new Problem('package-store-unavailable', { cause });
  }
};

const requireName = (manifest: PackageManifest, expected: PackageName): void => {
  const fields = (['slug', 'version'] as const).filter((field) => manifest[field] !== expected[field]);
  if (fields.length === 0) return;
  const mismatches = fields
    .map((field) => `${field} ${manifest[field]} instead of ${expected[field]}`)
    .join(' and ');
  throw new Problem('invalid-package', {
    detail: `${MANIFEST_FILE} has ${mismatches}.`,
    fields: Object.fromEntries(fields.map((f) => [f, [`must be ${expected[f]}`]])),
  });
};

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const ENTRY_TYPES = new Set<string>(['File', 'OldFile', 'Directory']);

/**
 * Validates the entries of a tar stream chunk by chunk, and keeps only the manifest. `write` and `end` throw Problem
 * `invalid-package`; `end` returns the content of `app.yaml`.
 */
const createArchiveReader = () => {
  const checkPath = createPathRules();
  let manifest: Buffer[] | null = null;
  let unpackedBytes = 0;

  const checkEntry = (entry: ReadEntry): void => {
    checkType(entry);
    const path = checkPath(entry.path);
    if (path === MANIFEST_FILE && entry.type !== 'Directory') manifest = collect(entry);
    else entry.resume();
  };

  // The parser calls these synchronously, so `write` and `end` throw their errors.
  const parser = new Parser({ strict: true, zstd: false })
    .on('entry', checkEntry)
    .on('ignoredEntry', checkType)
    .on('error', (error) => {
      throw unsound(error);
    });

  return {
    write: (chunk: Buffer): void => {
      // The parser would unpack a second layer of gzip, which no limit counts.
      if (unpackedBytes === 0 && chunk.subarray(0, 2).equals(GZIP_MAGIC))
        throw invalidPackage('The package is packed twice.');
      unpackedBytes += chunk.length;
      checkSize('The unpacked package', unpackedBytes);
      parser.write(chunk);
    },

    end: (): Buffer => {
      parser.end();
      if (!manifest) throw invalidPackage(`The package has no file ${MANIFEST_FILE} at its root.`);
      return Buffer.concat(manifest);
    },
  };
};

const collect = (entry: ReadEntry): Buffer[] => {
  if (entry.remain > MAX_YAML_BYTES) throw invalidPackage(`${MANIFEST_FILE} is larger than 1 MiB.`);
  const chunks: Buffer[] = [];
  entry.on('data', (chunk) => chunks.push(chunk));
  return chunks;
};

const checkType = ({ type, path, ignore }: ReadEntry): void => {
  if (ignore || !ENTRY_TYPES.has(type))
    throw invalidPackage(`The package has ${quote(path)}, which is neither a file nor a folder but ${type}.`);
};
