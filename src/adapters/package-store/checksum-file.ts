import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { nullIfMissing } from '../../lib/errno.ts';

/** A line of `sha256sum`: the digest, a space, `*` for binary mode, and the file name, which may include its folder. */
const CHECKSUM_FORM = /^([0-9a-f]{64}) [ *](?:[^\r\n]*\/)?([^/\r\n]+)\r?\n?$/i;

export const checksumFileOf = (file: string): string => `${file}.sha256`;

/** The content of the checksum file of `name`. */
export const checksumLine = (name: string, sha256: string): string => `${sha256}  ${name}\n`;

/** The digest in a checksum file. Null if the file is invalid, or belongs to another file than `name`. */
export const parseChecksum = (text: string, name: string): string | null => {
  const [, sha256, named] = CHECKSUM_FORM.exec(text) ?? [];
  return sha256 !== undefined && named === name ? sha256.toLowerCase() : null;
};

/** The digest in the checksum file of a file; null if it is missing or invalid. */
export const readChecksum = async (file: string): Promise<string | null> =>
  parseChecksum((await nullIfMissing(readFile(checksumFileOf(file), 'utf8'))) ?? '', basename(file));
