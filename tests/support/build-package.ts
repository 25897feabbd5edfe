import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Header, type HeaderData, Pax } from 'tar';
import * as assert from 'uvu/assert';
import type { StoredPackage } from '../../src/adapters/package-store/package-store.ts';
import { Problem, type ProblemCode } from '../../src/lib/problems.ts';

export const END = Buffer.alloc(1024);

type Entry = HeaderData & { path: string; body?: string | Buffer };

/** One entry of a tar stream, written exactly as described, so that tests can build invalid ones. */
export const tarEntry = ({ body = '', ...data }: Entry): Buffer => {
  const content = Buffer.from(body);
  const header = new Header({ type: 'File', mode: 0o644, size: content.length, ...data });
  header.encode();
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header.block ?? Buffer.alloc(0), content, padding]);
};

/** A pax header for the next entry, or for all that follow. */
export const paxHeader = (data: HeaderData, isGlobal = false): Buffer => new Pax(data, isGlobal).encode();

export const manifestText = (lines: Record<string, string> = {}): string =>
  Object.entries({ slug: 'sales', version: '1.0.0', label: 'Sales', ...lines })
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');

export const manifestEntry = (lines?: Record<string, string>): Buffer =>
  tarEntry({ path: 'app.yaml', body: manifestText(lines) });

/** The gzipped archive of some entries, preceded by a valid manifest unless another one is given. */
export const packageOf = (entries: Buffer[] = [], manifest: Buffer = manifestEntry()): Buffer =>
  gzipSync(Buffer.concat([manifest, ...entries, END]));

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A package as a store opens it. Its chunks of 1,000 bytes never coincide with the blocks of tar. */
export const stored = (bytes: Buffer, claims: Partial<StoredPackage> = {}): StoredPackage => {
  const chunks = function* () {
    for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
  };
  return { body: Readable.from(chunks()), sizeBytes: bytes.length, sha256: sha256(bytes), ...claims };
};

/** The Problem that a promise is rejected with. Fails if it is fulfilled or rejected with anything else. */
export const problemOf = async (
  attempt: Promise<unknown>,
  code: ProblemCode = 'invalid-package',
): Promise<Problem> => {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error('it should have been refused');
  if (!(outcome.reason instanceof Problem)) throw outcome.reason;
  assert.is(outcome.reason.code, code);
  return outcome.reason;
};

/** Asserts that the package is refused with a message that matches. */
export const refuses = async (attempt: Promise<unknown>, detail: RegExp): Promise<void> => {
  assert.match((await problemOf(attempt)).message, detail);
};
