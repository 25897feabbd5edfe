import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { nullIfMissing } from '../../lib/errno.ts';

/** One line of `sha256sum`: the digest, a blank, `*` for binary mode, the file name (perhaps with its folder). */
const CHECKSUM_FORM = /^([0-9a-f]{64}) [ *](?:[^\r\n]*\/)?([^/\r\n]+)\r?\n?$/i;

export const checksumFileOf = (file: string): string => `${file}.sha256`;

/** The text of the checksum file of the file called `name`. */
export const checksumLine = (name: string, sha256: string): string => `${sha256}  ${name}\n`;

/** The digest that a checksum file tells; null when it is none, or of another file than the one called `name`. */
export const parseChecksum = (text: string, name: string): string | null => {
  const [, sha256, named] = CHECKSUM_FORM.exec(text) ?? [];
  return sha256 !== undefined && named === name ? sha256.toLowerCase() : null;
};

/** The digest told beside a file; null when there is none, or it is not one, or it is of another file. */
export const readChecksum = async (file: string): Promise<string | null> => {
  const text = await nullIfMissing(readFile(checksumFileOf(file), 'utf8'));
  return parseChecksum(text ?? '', basename(file));
};

/** Writes a new checksum file, to be linked beside the file called `name`. */
export const writeChecksum = (checksumFile: string, name: string, sha256: string): Promise<void> =>
  writeFile(checksumFile, checksumLine(name, sha256), { flag: 'wx', flush: true });
