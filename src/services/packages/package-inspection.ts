import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import type { StoredPackage } from '../../adapters/package-store/package-store.ts';
import type { PackageName } from '../../lib/package-name.ts';
import { Problem } from '../../lib/problems.ts';
import { createArchiveReader } from './package-archive.ts';
import { invalidPackage, refuseOversize } from './package-limits.ts';
import { MANIFEST_FILE, type PackageManifest } from './package-manifest.ts';
import { parseManifest } from './package-manifest-parsing.ts';

export type InspectedPackage = { manifest: PackageManifest; sha256: string; sizeBytes: number };

/**
 * Reads a package once, from its stream, and answers what it says of itself, but only if its bytes are those that
 * were published, every entry is harmless, and it is the one that was asked for. Nothing is unpacked to disk; the
 * stream is at its end or destroyed afterwards.
 * @throws Problem `invalid-package`, `package-store-unavailable`
 */
export const inspectPackage = async (
  stored: StoredPackage,
  expected: PackageName,
): Promise<InspectedPackage> => {
  const digest = createHash('sha256');
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const archive = createArchiveReader();
  let sizeBytes = 0;

  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    refuseOversize('The package', stored.sizeBytes);
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      refuseOversize('The package', sizeBytes);
      digest.update(chunk);
      yield chunk;
    }
  };
  const isAway = watchStoreFailure(stored.body, gunzip);
  await pipeline(stored.body, measured, gunzip, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) archive.write(chunk);
  }).catch((error) => {
    throw isAway() ? new Problem('package-store-unavailable', { cause: error }) : toProblem(error);
  });

  const sha256 = digest.digest('hex');
  if (sha256 !== stored.sha256)
    throw invalidPackage('The package does not have the SHA-256 published with it.');
  // gzip padding: zlib stops before zeros that follow, and says nothing.
  if (gunzip.bytesWritten !== sizeBytes) throw invalidPackage('The package holds something after its end.');

  const manifest = parseManifest(archive.end());
  refuseOtherName(manifest, expected);
  return { manifest, sha256, sizeBytes };
};

/** Tells a stream that broke by itself from one that was destroyed because of what was read: the rest goes first. */
const watchStoreFailure = (body: Readable, gunzip: Gunzip): (() => boolean) => {
  let isAway = body.errored !== null;
  body.once('error', () => {
    isAway = !gunzip.destroyed;
  });
  return () => isAway;
};

/** Any other error passes: it is a Problem already, or a bug. */
const toProblem = (error: unknown): unknown => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ERR_STREAM_PREMATURE_CLOSE')
    return new Problem('package-store-unavailable', { cause: error });
  return code.startsWith('Z_') ? invalidPackage('The package is not a whole gzip archive.', error) : error;
};

const refuseOtherName = (manifest: PackageManifest, expected: PackageName): void => {
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
