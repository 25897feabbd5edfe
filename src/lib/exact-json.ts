import { parse } from 'lossless-json';

/** The shortest integer that `number` may not represent has 16 digits. */
const LONG_NUMBER = /\d{16}/;
/** The limit bounds the time to read one. The largest double has 309 digits. */
export const MAX_DIGITS = 1_000;
const INTEGER = /^-?\d+$/;

/**
 * Like `JSON.parse`, but integers beyond ±(2⁵³ − 1) become bigints: identifiers in data often have 64 bits. The platform parses text
 * without such integers, five times as fast.
 * @throws SyntaxError if the text is not JSON, or has an integer of more than 1,000 digits
 * @throws RangeError if the text has such integers and is nested too deeply
 */
// biome-ignore lint/suspicious/noExplicitAny: as JSON.parse
export const parseJson = (text: string): any =>
  LONG_NUMBER.test(text)
    ? parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
    : JSON.parse(text);

const parseNumber = (digits: string): number | bigint => {
  const value = Number(digits);
  if (Number.isSafeInteger(value) || !INTEGER.test(digits)) return value;
  if (digits.length > MAX_DIGITS) throw new SyntaxError(`An integer has more than ${MAX_DIGITS} digits`);
  return BigInt(digits);
};
