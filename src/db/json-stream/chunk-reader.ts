import type { ReadRows, Statement } from '../row-cursor.ts';
import type { RawRow } from './binary-row-reader.ts';
import { releaseBuffer, takeBuffer } from './buffer-pool.ts';
import type { ChunkQueue } from './chunk-queue.ts';
import type { JsonChunk } from './json-stream.ts';
import { JsonText } from './json-writer.ts';

/** How a list is read and written, as an actor sees it. */
export type Reading<K> = {
  /** Its rows behind a key, by key, no more than `MOST_ROWS`. */
  statement: (after: K | undefined) => Statement;
  /** Writes a row, and answers its key. */
  write: (row: RawRow, out: JsonText) => K;
  /** Whether rows named what was not there when the reading was prepared: then it is to be prepared anew, and they read again. */
  isOutdated?: () => boolean;
};

/** Where reading goes on: behind a key, with rows of so many bytes, as far as is known. */
export type Place<K> = { after: K | undefined; rowBytes: number | undefined };
type End<K> = Place<K> & { isOver: boolean };

/** Written in one turn, while which nobody else is served: some milliseconds. */
const PIECE_BYTES = 240 * 1024;
/** Rows are asked for by their average size. What is left is not worth asking again. */
const FULL_BYTES = PIECE_BYTES * 0.9;
/** Whatever is read is held until it is sent, and a statement is read to its end. */
const STATEMENT_BYTES = 4 * FULL_BYTES;
/** Of one statement: the planner is to look for the first of them, and not for the fastest way to all. */
export const MOST_ROWS = 2_000;
/** Of a row, before it is known. Each lot costs both sides a turn, so it pays to have short lists in one; but rows may have 64 KiB. */
const USUAL_ROW_BYTES = 1024;

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Reads some pieces by one statement. Where the reading is outdated, what was not passed on is to be read again. */
export const readPieces = async <K>(
  readRows: ReadRows,
  reading: Reading<K>,
  { after, rowBytes }: Place<K>,
  queue: Pick<ChunkQueue, 'add' | 'isReadOn'>,
): Promise<End<K>> => {
  const isOutdated = () => reading.isOutdated?.() === true;
  let piece = new Piece();
  let lastRow = after;
  let passedTo = after;
  let count = 0;
  let bytes = 0;
  const averageBytes = () => (count === 0 ? rowBytes : (bytes + piece.out.length) / count);
  const finish = (isLast: boolean) => {
    bytes += piece.out.length;
    passedTo = lastRow;
    queue.add(piece.finished(isLast));
    piece = new Piece();
  };

  const isAll = await readRows(reading.statement(after), {
    wanted: () => {
      if (isOutdated()) return 0;
      if (piece.out.length >= FULL_BYTES) {
        finish(false);
        // The rest is for another statement.
        if (!queue.isReadOn()) return 0;
      }
      return bytes >= STATEMENT_BYTES ? 0 : rowsFor(PIECE_BYTES - piece.out.length, averageBytes());
    },
    onRow: (row) => {
      const { out } = piece;
      out.byte(lastRow === undefined ? OPEN_BRACKET : COMMA);
      const from = out.length;
      lastRow = reading.write(row, out);
      if (count === 0) piece.first = { from, to: out.length };
      count += 1;
    },
  });
  const isOver = isAll && count < MOST_ROWS && !isOutdated();
  const average = averageBytes();
  if (isOver) {
    if (lastRow === undefined) piece.out.byte(OPEN_BRACKET);
    piece.out.byte(CLOSE_BRACKET);
    finish(true);
  } else if (piece.out.length > 0 && !isOutdated()) finish(false);
  piece.drop();
  return { after: passedTo, rowBytes: average, isOver };
};

class Piece {
  first: JsonChunk['first'] = null;
  #buffer = takeBuffer();
  out = new JsonText(this.#buffer);

  finished(isLast: boolean): JsonChunk {
    const text = this.out.take();
    let held: Buffer | null = this.#buffer;
    const release = () => {
      if (held) releaseBuffer(held);
      held = null;
    };
    // It has outgrown its room, and lies elsewhere.
    if (text.buffer !== this.#buffer.buffer) release();
    return { text, isLast, first: this.first, release };
  }

  /** Of no use to anybody. */
  drop(): void {
    releaseBuffer(this.#buffer);
  }
}

/** As many as fit if they are like those before. */
const rowsFor = (roomBytes: number, rowBytes = USUAL_ROW_BYTES): number =>
  Math.max(1, Math.ceil(roomBytes / rowBytes));
