import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import type { StoredPackage } from '../../adapters/package-store/package-store.ts';
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
  const hasStoreFailed = watchStoreFailure(stored.body, gunzip);
  await pipeline(stored.body, measured, gunzip, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) archive.write(chunk);
  }).catch((error) => {
    throw hasStoreFailed() ? new Problem('package-store-unavailable', { cause: error }) : toProblem(error);
  });

  const sha256 = digest.digest('hex');
  if (sha256 !== stored.sha256)
    throw invalidPackage('The package does not have the SHA-256 published with it.');
  // zlib silently ignores trailing zeros.
  if (gunzip.bytesWritten !== sizeBytes) throw invalidPackage('The package has something after its end.');

  const manifest = parseManifest(archive.end());
  requireName(manifest, expected);
  return { manifest, sha256, sizeBytes };
};

/** Whether the stream failed before `gunzip` did: a failure of the reader destroys `gunzip` first. */
const watchStoreFailure = (body: Readable, gunzip: Gunzip): (() => boolean) => {
  let hasFailed = body.errored !== null;
  body.once('error', () => {
    hasFailed = !gunzip.destroyed;
  });
  return () => hasFailed;
};

const toProblem = (error: unknown): unknown => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_STREAM_PREMATURE_CLOSE')
    return new Problem('package-store-unavailable', { cause: error });
  return code.startsWith('Z_') ? invalidPackage('The package is not a whole gzip archive.', error) : error;
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
const ZEROES = Buffer.alloc(64 * 1024);

/**
 * Validates the entries of a tar stream chunk by chunk, and keeps only the manifest. `write` and `end` throw Problem
 * `invalid-package`; `end` returns the content of `app.yaml`.
 */
const createArchiveReader = () => {
  const entries = createEntryReader();
  let rest: Buffer = Buffer.alloc(0);
  let unpackedBytes = 0;

  /** Passes on one header or one body at a time, to know where the archive ends. Returns an incomplete block. */
  const feed = (bytes: Buffer): Buffer => {
    let position = 0;
    while (!entries.hasEnded() && bytes.length - position >= BLOCK_BYTES) {
      const whole = bytes.length - position - ((bytes.length - position) % BLOCK_BYTES);
      const take = Math.min(whole, entries.bodyBytesLeft() || BLOCK_BYTES);
      entries.write(bytes.subarray(position, position + take));
      position += take;
    }
    return bytes.subarray(position);
  };

  return {
    write: (chunk: Buffer): void => {
      unpackedBytes += chunk.length;
      checkSize('The unpacked package', unpackedBytes);
      rest = feed(rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk);
      if (!entries.hasEnded()) return;
      if (!isZero(rest)) throw invalidPackage('The package has data after the end of its archive.');
      rest = Buffer.alloc(0);
    },

    end: (): Buffer => {
      if (!entries.hasEnded()) throw invalidPackage('The package ends in the middle of its archive.');
      const manifest = entries.manifest();
      if (manifest === null) throw invalidPackage(`The package has no file ${MANIFEST_FILE} at its root.`);
      return manifest;
    },
  };
};

/** Validates entries. `write` takes whole blocks, and at most the rest of the current body. */
const createEntryReader = () => {
  const checkPath = createPathRules();
  let manifest: Buffer[] | null = null;
  let current: ReadEntry | undefined;
  let declaredBytes = 0;
  let hasStarted = false;
  let hasEnded = false;

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
    write: (blocks: Buffer): void => {
      // The parser would unpack a second layer of gzip, which no limit counts.
      if (!hasStarted && blocks.subarray(0, 2).equals(GZIP_MAGIC))
        throw invalidPackage('The package is packed twice.');
      hasStarted = true;
      parser.write(blocks);
    },
    bodyBytesLeft: (): number => current?.blockRemain ?? 0,
    hasEnded: (): boolean => hasEnded,
    manifest: (): Buffer | null => manifest && Buffer.concat(manifest),
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

const isZero = (bytes: Buffer): boolean => {
  for (let start = 0; start < bytes.length; start += ZEROES.length) {
    const part = bytes.subarray(start, start + ZEROES.length);
    if (!part.equals(ZEROES.subarray(0, part.length))) return false;
  }
  return true;
};
