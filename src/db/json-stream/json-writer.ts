import { INSTANT_BYTES, isFourDigitYear, writeInstant } from './iso-date-writer.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const ZERO = 0x30;
const FIRST_PRINTABLE = 0x20;
/** Bytes that do not stand for themselves. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < FIRST_PRINTABLE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
/** So many are looked at together: that takes little more than half the time. */
const GROUP = 4;
const SMALL_NUMBERS = 1_000_000_000;
/** Control characters that JSON has a letter for (RFC 8259 §7): \b \t \n \f \r. */
const LETTERS: Readonly<Record<number, number>> = { 8: 0x62, 9: 0x74, 10: 0x6e, 12: 0x66, 13: 0x72 };
const HEX = '0123456789abcdef';
/** `\u001f` */
const LONGEST_ESCAPE = 6;
/** How many times larger a text gets that has outgrown its room. */
const GROWTH = 2;
/** Below, a loop is faster than asking the system to copy. */
const LONG_BYTES = 64;

/**
 * JSON as bytes of UTF-8, written from bytes of UTF-8: no string is made on the way. What it writes is byte for byte what
 * `JSON.stringify` makes of the same values.
 */
export class JsonText {
  length = 0;
  #bytes: Buffer;

  /** @param room that is written into as long as it suffices */
  constructor(room: Buffer) {
    this.#bytes = room;
  }

  /** What was written so far, without a copy. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.length++] = value;
  }

  /** As it is: JSON already. */
  put(bytes: Uint8Array, from = 0, to = bytes.length): void {
    this.#room(to - from);
    const own = this.#bytes;
    if (to - from >= LONG_BYTES) {
      own.set(bytes.subarray(from, to), this.length);
      this.length += to - from;
      return;
    }
    let at = this.length;
    for (let index = from; index < to; index += 1) own[at++] = bytes[index] as number; // inside of the array
    this.length = at;
  }

  /** Text in quotes. */
  quoted(bytes: Uint8Array, from = 0, to = bytes.length): void {
    this.#room((to - from) * LONGEST_ESCAPE + 2);
    const own = this.#bytes;
    let at = this.length;
    own[at++] = QUOTE;
    for (let index = from; index < to; ) {
      if (index + GROUP <= to && isPlain(bytes, index)) {
        for (const end = index + GROUP; index < end; index += 1) own[at++] = bytes[index] as number; // inside of the array
        continue;
      }
      const byte = bytes[index++] as number; // as above
      if (ESCAPED[byte] === 0) own[at++] = byte;
      else at = writeEscape(own, at, byte);
    }
    own[at++] = QUOTE;
    this.length = at;
  }

  number(value: number): void {
    if (!(Number.isInteger(value) && value >= 0 && value < SMALL_NUMBERS)) {
      this.ascii(String(value));
      return;
    }
    let digits = 1;
    for (let rest = value; rest >= 10; rest = (rest / 10) | 0) digits += 1;
    this.#room(digits);
    const own = this.#bytes;
    let rest = value;
    for (let at = this.length + digits - 1; at >= this.length; at -= 1) {
      own[at] = ZERO + (rest % 10);
      rest = (rest / 10) | 0;
    }
    this.length += digits;
  }

  /** A moment in quotes, by `Date.toISOString`. */
  instant(ms: number): void {
    if (!isFourDigitYear(ms)) {
      this.ascii(`"${new Date(ms).toISOString()}"`);
      return;
    }
    this.#room(INSTANT_BYTES);
    this.length = writeInstant(this.#bytes, this.length, ms);
  }

  ascii(text: string): void {
    this.#room(text.length);
    this.length += this.#bytes.write(text, this.length, 'latin1');
  }

  #room(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * GROWTH, this.length + count));
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }
}

/** Whether none of a group is to be escaped. */
const isPlain = (bytes: Uint8Array, at: number): boolean =>
  ESCAPED[bytes[at] as number] === 0 && // all are inside of the array
  ESCAPED[bytes[at + 1] as number] === 0 &&
  ESCAPED[bytes[at + 2] as number] === 0 &&
  ESCAPED[bytes[at + 3] as number] === 0;

const writeEscape = (own: Buffer, start: number, byte: number): number => {
  let at = start;
  own[at++] = BACKSLASH;
  const letter = byte === QUOTE || byte === BACKSLASH ? byte : LETTERS[byte];
  if (letter !== undefined) {
    own[at++] = letter;
    return at;
  }
  own[at++] = LOWER_U;
  own[at++] = ZERO;
  own[at++] = ZERO;
  own[at++] = HEX.charCodeAt(byte >> 4);
  own[at++] = HEX.charCodeAt(byte & 15);
  return at;
};
