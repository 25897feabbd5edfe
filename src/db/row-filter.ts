/** Takes a DataRow message: its bytes from `start`, the number of columns, to `end`. They are valid during the call. */
export type TakeRow = (bytes: Buffer, start: number, end: number) => void;

/** Message types of PostgreSQL's protocol: "Message Formats" in its manual. */
const DATA_ROW = 'D'.charCodeAt(0);
/** The type, and a length that includes itself, but not the type. */
const TYPE_BYTES = 1;
const LENGTH_BYTES = 4;
const HEADER_BYTES = TYPE_BYTES + LENGTH_BYTES;

type Output = {
  /** Receives everything but the taken rows, in its order. The bytes are valid during the call. */
  pass: (bytes: Buffer) => void;
  /** Called for bytes that are no message of the protocol. */
  refuse: () => void;
};

/** Takes the rows out of what a PostgreSQL server sends, while a list is read. */
export class RowFilter {
  takeRow: TakeRow | undefined;
  readonly #output: Output;
  /** What is left of a message whose start was passed on. */
  #restBytes = 0;
  /** The start of a row or of a header, until `#neededBytes` have arrived. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #neededBytes = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** The chunk may change afterwards. */
  add(chunk: Buffer): void {
    if (this.#heldBytes === 0) {
      this.#filter(chunk);
      return;
    }
    this.#heldBytes += chunk.length;
    const isComplete = this.#heldBytes >= this.#neededBytes;
    this.#held.push(isComplete ? chunk : Buffer.from(chunk));
    if (!isComplete) return;
    const bytes = Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    this.#filter(bytes);
  }

  #filter(bytes: Buffer): void {
    let passed = 0;
    const passUntil = (end: number): void => {
      if (end > passed) this.#output.pass(bytes.subarray(passed, end));
    };
    let at = Math.min(this.#restBytes, bytes.length);
    this.#restBytes -= at;
    while (at + HEADER_BYTES <= bytes.length) {
      const length = bytes.readInt32BE(at + TYPE_BYTES);
      if (length < LENGTH_BYTES) {
        this.#output.refuse();
        return;
      }
      const end = at + TYPE_BYTES + length;
      if (this.takeRow && bytes[at] === DATA_ROW) {
        if (end > bytes.length) break;
        passUntil(at);
        this.takeRow(bytes, at + HEADER_BYTES, end);
        passed = end;
      } else if (end > bytes.length) {
        this.#restBytes = end - bytes.length;
        passUntil(bytes.length);
        return;
      }
      at = end;
    }
    passUntil(at);
    if (at < bytes.length) this.#hold(bytes.subarray(at));
  }

  #hold(start: Buffer): void {
    this.#held.push(Buffer.from(start));
    this.#heldBytes = start.length;
    const hasHeader = start.length >= HEADER_BYTES;
    this.#neededBytes = hasHeader ? TYPE_BYTES + start.readInt32BE(TYPE_BYTES) : HEADER_BYTES;
  }
}
