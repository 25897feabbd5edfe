import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import type { StoredPackage } from '../../adapters/package-store/package-store.ts';
import { errorCodeOf } from '../../lib/errno.ts';
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
  // A store that sends nothing more must not hold up a failure.
  gunzip.once('close', () => stored.body.destroy());
  await pipeline(fromStore(stored.body), measured, gunzip, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) archive.write(chunk);
  }).catch((error: unknown) => {
    // zlib ends before zeros, and then takes no more bytes.
    if (gunzip.readableEnded) throw invalidPackage(SURPLUS, error);
    const isFromZlib = errorCodeOf(error)?.startsWith('Z_');
    throw isFromZlib ? invalidPackage('The package is not a whole gzip archive.', error) : error;
  });

  const sha256 = digest.digest('hex');
  if (sha256 !== stored.sha256)
    throw invalidPackage('The package does not have the SHA-256 published with it.');
  // It silently ignores those that came with the end.
  if (gunzip.bytesWritten !== sizeBytes) throw invalidPackage(SURPLUS);

  const manifest = parseManifest(archive.end());
  requireName(manifest, expected);
  return { manifest, sha256, sizeBytes };
};

const SURPLUS = 'The package has something after its end.';

/** Tells failures of the store apart from those of what reads it. */
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

const BLOCK_BYTES = 512;
/** A pax header of one entry: names and attributes. */
const MAX_HEADER_BYTES = 64 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const ENTRY_TYPES = new Set<string>(['File', 'OldFile', 'Directory']);

/**
 * Validates the entries of a tar stream chunk by chunk, and keeps only the manifest. `write` and `end` throw Problem
 * `invalid-package`; `end` returns the content of `app.yaml`.
 */
const createArchiveReader = () => {
  const checkPath = createPathRules();
  let manifest: Buffer[] | null = null;
  let current: ReadEntry | undefined;
  let unpackedBytes = 0;
  let declaredBytes = 0;
  let hasEnded = false;
  /** What the parser has not got yet. */
  let rest: Buffer = Buffer.alloc(0);

  const checkEntry = (entry: ReadEntry): void => {
    current = entry;
    checkType(entry);
    const path = checkPath(entry.path);
    // The declared size is checked before the body is read.
    declaredBytes += BLOCK_BYTES + entry.startBlockSize;
    checkSize('The unpacked package', declaredBytes);
    if (path === MANIFEST_FILE && entry.type !== 'Directory') manifest = collect(entry);
    else entry.resume();
  };

  // The parser calls these synchronously, so that `write` throws what they throw.
  const parser = new Parser({ strict: true, zstd: false, maxMetaEntrySize: MAX_HEADER_BYTES })
    .on('entry', checkEntry)
    .on('ignoredEntry', checkType)
    .on('meta', checkHeader)
    .on('eof', () => {
      hasEnded = true;
    })
    .on('error', (cause) => {
      throw invalidPackage('The package is not a sound tar archive.', cause);
    });

  return {
    write: (chunk: Buffer): void => {
      unpackedBytes += chunk.length;
      checkSize('The unpacked package', unpackedBytes);
      rest = Buffer.concat([rest, chunk]);
      // The parser would unpack a second layer of gzip, which no limit counts.
      if (rest.length === unpackedBytes && rest.subarray(0, 2).equals(GZIP_MAGIC))
        throw invalidPackage('The package is packed twice.');
      // One header or one body at a time, to know where the archive ends.
      while (!hasEnded && rest.length >= BLOCK_BYTES) {
        const bodyBytes = Math.min(current?.blockRemain ?? 0, rest.length - (rest.length % BLOCK_BYTES));
        const take = bodyBytes || BLOCK_BYTES;
        parser.write(rest.subarray(0, take));
        rest = rest.subarray(take);
      }
      if (!hasEnded) return;
      if (!rest.equals(Buffer.alloc(rest.length)))
        throw invalidPackage('The package has data after the end of its archive.');
      rest = Buffer.alloc(0);
    },

    end: (): Buffer => {
      if (!hasEnded) throw invalidPackage('The package ends in the middle of its archive.');
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

/** The parser truncates a path at NUL; other readers may not. */
const checkHeader = (header: string): void => {
  const hidden = header.split('\n').find((record) => record.includes('\0') && /^\d+ path=/.test(record));
  if (hidden) throw invalidPackage(`The package has a path with a NUL: ${quote(hidden)}.`);
};
