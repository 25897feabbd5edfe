import { Parser, type ReadEntry } from 'tar';
import { MANIFEST_FILE } from './package-manifest.ts';
import { checkSize, createPathRules, invalidPackage, quote } from './package-rules.ts';
import { MAX_YAML_BYTES } from './package-yaml.ts';

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
export const createArchiveReader = () => {
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
