import type { HeaderData } from 'tar';
import { inspectPackage } from '../../src/services/packages/package-inspection.ts';
import { packageOf, stored, tarEntry } from './build-package.ts';

export type OddEntry = HeaderData & { path: string; body?: string };

/** Inspects these bytes as `sales` 1.0.0. */
export const inspect = (bytes: Buffer, claims = {}) =>
  inspectPackage(stored(bytes, claims), { slug: 'sales', version: '1.0.0' });

/** Inspects a good package with one more entry. */
export const inspectEntry = (entry: OddEntry) => inspect(packageOf([tarEntry(entry)]));

/** A package stream that counts the bytes read from it. */
export const countBytes = (bytes: Buffer) => {
  let readBytes = 0;
  const stream = stored(bytes).body.map((chunk: Buffer) => {
    readBytes += chunk.length;
    return chunk;
  });
  return { stream, total: () => readBytes };
};
