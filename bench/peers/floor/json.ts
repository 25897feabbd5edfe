const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** JSON of a text, which seldom has anything to escape. */
export const quoted = (text: string): string => (TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`);

/** `2026-11-21 10:20:30.5+00`, as PostgreSQL writes it in UTC, is `"2026-11-21T10:20:30.500Z"`. */
export const instant = (text: string | null): string => {
  if (text === null) return 'null';
  const fraction = text.length === 22 ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `"${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z"`;
};

export const flag = (text: string): string => (text === 't' ? 'true' : 'false');

const FIRST_BYTES = 1024 * 1024;
const SPARE_BUFFERS = 64;
const spare: Buffer[] = [];

/** Bytes of an answer in the making; its buffer is used again. */
export class Output {
  #buffer = spare.pop() ?? Buffer.allocUnsafeSlow(FIRST_BYTES);
  length = 0;

  add(text: string): void {
    if (this.length + text.length > this.#buffer.length) this.#grow(text.length);
    this.length += this.#buffer.write(text, this.length, 'latin1');
  }

  #grow(more: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.length + more));
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  /** To be called once the bytes have been sent. */
  giveBack(): void {
    if (spare.length < SPARE_BUFFERS) spare.push(this.#buffer);
  }
}
