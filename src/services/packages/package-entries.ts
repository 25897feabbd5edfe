import { Parser, type ReadEntry } from 'tar';
import { invalidPackage, refuseOversize } from './package-limits.ts';
import { MANIFEST_FILE } from './package-manifest.ts';
import { createPathRules, quoted } from './package-paths.ts';
import { MAX_YAML_BYTES } from './package-yaml.ts';

const BLOCK_BYTES = 512;
/** A pax header of one entry: names and attributes, nothing that grows. */
const MAX_HEADER_BYTES = 64 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);

/**
 * Judges the entries of a tar stream as they pass, and keeps the bytes of the manifest alone. `write` takes whole
 * blocks of 512 bytes, and none beyond the present body and the header after it.
 */
export const createEntryReader = () => {
  const admitPath = createPathRules();
  let manifest: Buffer[] | null = null;
  let current: ReadEntry | undefined;
  let declaredBytes = 0;
  let hasBegun = false;
  let hasEnded = false;

  const admit = (entry: ReadEntry): void => {
    current = entry;
    refuseOddKind(entry);
    const path = admitPath(entry.path);
    // What a header claims is refused before any of it is read.
    declaredBytes += BLOCK_BYTES + entry.startBlockSize;
    refuseOversize('The unpacked package', declaredBytes);
    if (path === MANIFEST_FILE && entry.type !== 'Directory') manifest = collect(entry);
    else entry.resume();
  };

  // The parser calls these while it writes, so that what they throw comes out of `write`.
  const parser = new Parser({ strict: true, zstd: false, maxMetaEntrySize: MAX_HEADER_BYTES })
    .on('entry', admit)
    .on('ignoredEntry', refuseOddKind)
    .on('meta', refuseHiddenPath)
    .on('eof', () => {
      hasEnded = true;
    })
    .on('error', (cause) => {
      throw invalidPackage('The package is not a sound tar archive.', cause);
    });

  return {
    write: (blocks: Buffer): void => {
      // The parser would unpack a second layer of gzip, past every bound that counts the first.
      if (!hasBegun && blocks.subarray(0, 2).equals(GZIP_MAGIC))
        throw invalidPackage('The package is packed twice.');
      hasBegun = true;
      parser.write(blocks);
    },
    bodyBytesLeft: (): number => current?.blockRemain ?? 0,
    hasEnded: (): boolean => hasEnded,
    /** null when there was none. */
    manifest: (): Buffer | null => manifest && Buffer.concat(manifest),
  };
};

const collect = (entry: ReadEntry): Buffer[] => {
  if (entry.remain > MAX_YAML_BYTES) throw invalidPackage(`${MANIFEST_FILE} is larger than 1 MiB.`);
  const chunks: Buffer[] = [];
  entry.on('data', (chunk) => chunks.push(chunk));
  return chunks;
};

const KINDS = new Set<string>(['File', 'OldFile', 'Directory']);

const refuseOddKind = ({ type, path, ignore }: ReadEntry): void => {
  if (ignore || !KINDS.has(type)) {
    throw invalidPackage(
      `The package holds ${quoted(path)}, which is neither a file nor a folder but ${type}.`,
    );
  }
};

/** The parser cuts a path at its NUL, where other readers may not. */
const refuseHiddenPath = (header: string): void => {
  const hidden = header.split('\n').find((record) => record.includes('\0') && /^\d+ path=/.test(record));
  if (hidden) throw invalidPackage(`The package holds a path with a NUL: ${quoted(hidden)}.`);
};
