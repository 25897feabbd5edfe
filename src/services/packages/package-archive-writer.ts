import type { FileHandle } from 'node:fs/promises';
import { Header, Pax } from 'tar';
import { openRegular } from './package-files.ts';
import { checkSize, invalidPackage, quote } from './package-rules.ts';

const BLOCK_BYTES = 512;
/** Of all files, so that the same content makes the same archive. Some readers reject 1970 as implausible. */
const MODIFIED = new Date('1980-01-01T00:00:00Z');
/** "Unknown" in byte 9 of a gzip header (RFC 1952 §2.3.1), so that all systems write the same bytes. */
const ANY_SYSTEM = 255;

/** A tar stream of files: their content, path and executable bit, without owners and times. */
export const createArchive = async function* (dir: string, paths: readonly string[]) {
  let sizeBytes = 0;
  for (const path of paths) {
    for await (const chunk of entryOf(dir, path)) {
      sizeBytes += chunk.length;
      checkSize('The unpacked package', sizeBytes);
      yield chunk;
    }
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
};

const entryOf = async function* (dir: string, path: string) {
  const handle = await openRegular(dir, path);
  try {
    const { size, mode } = await handle.stat();
    yield* headersOf(path, size, mode);
    yield* contentOf(handle, path, size);
    yield Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
  } finally {
    await handle.close();
  }
};

const headersOf = function* (path: string, size: number, fileMode: number) {
  const mode = fileMode & 0o111 ? 0o755 : 0o644;
  const header = new Header({ path, size, mode, mtime: MODIFIED, type: 'File' });
  const needsPax = header.encode();
  if (needsPax) yield new Pax({ path, size, mtime: MODIFIED }).encode();
  if (header.block) yield header.block;
};

const contentOf = async function* (handle: FileHandle, path: string, size: number) {
  let readBytes = 0;
  const chunks: AsyncIterable<Buffer> = handle.createReadStream({ autoClose: false });
  for await (const chunk of chunks) {
    readBytes += chunk.length;
    if (readBytes <= size) yield chunk;
  }
  if (readBytes !== size) throw invalidPackage(`${quote(path)} was changed while it was packed.`);
};

/** Removes the operating system from the header of a gzip stream. */
export const clearGzipSystem = async function* (chunks: AsyncIterable<Buffer>) {
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) chunk[9] = ANY_SYSTEM;
    isFirst = false;
    yield chunk;
  }
};
