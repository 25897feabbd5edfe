import { sha256 } from './build-package.ts';
import { ONE, TWO } from './package-store-rules.ts';

/** Valid and invalid contents of the checksum file of `sales-1.0.0.tgz`, which contains the bytes of ONE. */
export const CHECKSUM_FORMS: [what: string, text: string, isValid: boolean][] = [
  ['text mode', `${sha256(ONE)}  sales-1.0.0.tgz\n`, true],
  ['binary mode', `${sha256(ONE)} *sales-1.0.0.tgz\n`, true],
  ['upper case', `${sha256(ONE).toUpperCase()}  sales-1.0.0.tgz`, true],
  ['a folder before the name', `${sha256(ONE)}  ./dist/sales-1.0.0.tgz\r\n`, true],
  ['nothing', '', false],
  ['no name', `${sha256(ONE)}\n`, false],
  ['another name', `${sha256(ONE)}  sales-1.0.1.tgz\n`, false],
  ['too few digits', `${sha256(ONE).slice(1)}  sales-1.0.0.tgz\n`, false],
  ['two lines', `${sha256(ONE)}  sales-1.0.0.tgz\n${sha256(TWO)}  sales-1.0.0.tgz\n`, false],
];
