/** Microseconds, as the server counts them, from 2000-01-01 in UTC. */
const SERVER_EPOCH_MS = Date.UTC(2000, 0, 1);
const TWO_32 = 2 ** 32;

/**
 * A row in the bytes that the server has sent, all columns in binary form, read one after another: no value is made that
 * nobody asks for. It is one object for all rows of a query, and good until the next.
 */
export class RawRow {
  bytes: Buffer = Buffer.alloc(0);
  /** Where the column begins and ends that was stepped to. */
  from = 0;
  to = 0;
  #at = 0;

  /** @param offset of the number of columns, with which a row begins */
  begin(bytes: Buffer, offset: number): void {
    this.bytes = bytes;
    this.#at = offset + 2;
  }

  /** Steps to the next column; false when it is null. */
  next(): boolean {
    const length = this.intAt(this.#at);
    this.from = this.#at + 4;
    this.to = this.from + Math.max(length, 0);
    this.#at = this.to;
    return length >= 0;
  }

  intAt(at: number): number {
    const { bytes } = this;
    // Inside of the row: the server has said how long it is.
    return (
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)
    );
  }

  /** An `int4`. */
  int(): number {
    return this.intAt(this.from);
  }

  /** An `int8` below 2⁵³. */
  long(): number {
    return this.intAt(this.from) * TWO_32 + (this.intAt(this.from + 4) >>> 0);
  }

  isTrue(): boolean {
    return this.bytes[this.from] === 1;
  }

  /** A `timestamptz`, in milliseconds since 1970. Far from now a double misses microseconds, which no column has. */
  instantMs(): number {
    return Math.round(this.long() / 1000) + SERVER_EPOCH_MS;
  }
}
