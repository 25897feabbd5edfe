import { z } from 'zod';
import { parseInstant, type RowEncoder, type TextRow } from '../../src/db/list-pages.ts';
import { csvLine } from '../../src/lib/csv-line.ts';
import { Instant } from './outputs.ts';

export type ListFormat = 'json' | 'csv';

/** The text of a field from its column, in a row of all columns. */
type ColumnReader = (column: string | null, row: TextRow) => string;

/**
 * Derives the encoder of a list from the output schema of its items. JSON is identical to `JSON.stringify` of the items; CSV has a column
 * for each field. Columns of types other than string, boolean and time contain the JSON of their fields.
 * @param readers for fields whose text is not the text of their column
 */
export const createRowEncoder = <Shape extends z.ZodRawShape>(
  output: z.ZodObject<Shape>,
  format: ListFormat,
  readers: { [Field in keyof Shape]?: ColumnReader } = {},
): RowEncoder<keyof Shape & string> => {
  const columns: (keyof Shape & string)[] = Object.keys(output.shape);
  const fields = columns.map((name) => {
    const encode = fieldEncoder(name, output.shape[name], format);
    const read = readers[name];
    return (column: string | null, row: TextRow) => encode(read ? read(column, row) : column);
  });
  const encodeRow = (row: TextRow) => fields.map((field, index) => field(row[index] ?? null, row));
  if (format === 'json') {
    const encode = (row: TextRow) => `{${encodeRow(row).join(',')}}`;
    return { columns, encode, encoding: 'latin1', start: '[', separator: ',', end: ']' };
  }
  const encode = (row: TextRow) => csvLine(encodeRow(row));
  return { columns, encode, encoding: 'utf8', start: csvLine(columns), separator: '', end: '' };
};

/** The text of a field with its key, or the text of a cell. */
const fieldEncoder = (name: string, schema: unknown, format: ListFormat) => {
  const isNullable = schema instanceof z.ZodNullable;
  const value = isNullable ? schema.unwrap() : schema;
  if (format === 'csv') {
    const toText = textOf(value);
    return (text: string | null) => (text === null ? '' : toText(text));
  }
  const toJson = jsonOf(value);
  const key = `${JSON.stringify(name)}:`;
  return (text: string | null) => {
    if (text !== null) return key + toJson(text);
    if (isNullable) return `${key}null`;
    throw new TypeError(`${name} is null, which its schema does not allow`);
  };
};

type ToText = (column: string) => string;

/** The JSON of a value that is not null. */
const jsonOf = (schema: unknown): ToText => {
  if (schema instanceof z.ZodString) return jsonString;
  return schema === Instant ? (column) => `"${isoInstant(column)}"` : textOf(schema);
};

const textOf = (schema: unknown): ToText => {
  if (schema === Instant) return isoInstant;
  return schema instanceof z.ZodBoolean
    ? (column) => (column === 't' ? 'true' : 'false')
    : (column) => column;
};

const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** JSON of a string. PostgreSQL's text is well-formed, and few strings need escaping. */
export const jsonString = (text: string): string =>
  TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;

const NO_FRACTION_LENGTH = '2026-11-21 10:20:30+00'.length;
const MILLISECONDS_LENGTH = '2026-11-21 10:20:30.123+00'.length;

/** Converts `2026-11-21 10:20:30.5+00` of type `timestamptz` to `2026-11-21T10:20:30.500Z`. */
export const isoInstant = (text: string): string => {
  // Microseconds, unusual years, and other time zones behind a pooler.
  if (text.length > MILLISECONDS_LENGTH || text[4] !== '-' || !text.endsWith('+00'))
    return parseInstant(text).toISOString();
  const fraction = text.length === NO_FRACTION_LENGTH ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
};
