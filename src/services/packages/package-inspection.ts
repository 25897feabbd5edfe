import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { StoredPackage } from '../../adapters/package-store/package-store.ts';
import type { PackageName } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import { createArchiveReader } from './package-archive.ts';
import { MANIFEST_FILE, type PackageManifest } from './package-manifest.ts';
import { parseManifest } from './package-manifest-parsing.ts';
import { checkSize, invalidPackage } from './package-rules.ts';

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
