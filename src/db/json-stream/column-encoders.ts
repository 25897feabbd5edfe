import type { RawRow } from './binary-row-reader.ts';
import type { JsonText } from './json-writer.ts';

/** Writes the next column of a row as JSON. */
export type ColumnWriter = (row: RawRow, out: JsonText) => void;

/** Key of a JSON object → the column that is behind it, and how it is written. In the order of both. */
export type Columns<Name extends string = string> = Readonly<
  Record<string, readonly [column: Name, write: ColumnWriter]>
>;

const NULL = Buffer.from('null');
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

const orNull =
  (write: ColumnWriter): ColumnWriter =>
  (row, out) =>
    row.next() ? write(row, out) : out.put(NULL);

/** Of type `text` or `varchar`. */
export const text = orNull((row, out) => out.quoted(row.bytes, row.from, row.to));
/** Of type `json`, which keeps the text as it was written. */
export const json = orNull((row, out) => out.put(row.bytes, row.from, row.to));
export const flag = orNull((row, out) => out.put(row.isTrue() ? TRUE : FALSE));
/** Of type `int4`. */
export const int = orNull((row, out) => out.number(row.int()));
/** Of type `timestamptz`. */
export const instant = orNull((row, out) => out.instant(row.instantMs()));
/** Of type `int4[]`. */
export const ints: ColumnWriter = (row, out) => {
  out.byte(OPEN_BRACKET);
  const start = out.length;
  eachElement(row, (_row, at) => {
    if (out.length > start) out.byte(COMMA);
    out.number(row.intAt(at));
  });
  out.byte(CLOSE_BRACKET);
};

/** Length of the head of an array, without which it is empty: dimensions, flags, type; size and first index of the one. */
const ARRAY_HEAD_BYTES = 20;

/** Steps to an array of one dimension without nulls, and through it; null is as good as empty. */
export const eachElement = (row: RawRow, visit: (row: RawRow, from: number) => void): void => {
  if (!row.next() || row.to - row.from < ARRAY_HEAD_BYTES) return;
  for (let at = row.from + ARRAY_HEAD_BYTES; at < row.to; ) {
    const from = at + 4;
    at = from + row.intAt(at);
    visit(row, from);
  }
};

/** Writes a row as an object of these columns. */
export const objectOf = (columns: Columns): ColumnWriter => {
  const parts = Object.entries(columns).map(([key, [, write]], index) => ({
    before: Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    write,
  }));
  return (row, out) => {
    if (parts.length === 0) out.byte(OPEN_BRACE);
    for (const { before, write } of parts) {
      out.put(before);
      write(row, out);
    }
    out.byte(CLOSE_BRACE);
  };
};
