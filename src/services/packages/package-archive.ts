import { createEntryReader } from './package-entries.ts';
import { invalidPackage, refuseOversize } from './package-limits.ts';
import { MANIFEST_FILE } from './package-manifest.ts';

const BLOCK_BYTES = 512;
const ZEROES = Buffer.alloc(64 * 1024);

/**
 * Takes a tar stream piece by piece, judges every entry as it passes, and keeps nothing but the manifest.
 * `write` and `end` throw Problem `invalid-package`; `end` answers the bytes of `app.yaml`.
 */
export const createArchiveReader = () => {
  const entries = createEntryReader();
  let rest: Buffer = Buffer.alloc(0);
  let unpackedBytes = 0;

  /** Block by block, or a body at a time: so it is known where the archive ends, and what comes after it. */
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
      refuseOversize('The unpacked package', unpackedBytes);
      rest = feed(rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk);
      if (!entries.hasEnded()) return;
      if (!isZero(rest)) throw invalidPackage('The package holds something after the end of its archive.');
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

const isZero = (bytes: Buffer): boolean => {
  for (let start = 0; start < bytes.length; start += ZEROES.length) {
    const part = bytes.subarray(start, start + ZEROES.length);
    if (!part.equals(ZEROES.subarray(0, part.length))) return false;
  }
  return true;
};
