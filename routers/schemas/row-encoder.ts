import { z } from 'zod';
import type { RowEncoder } from '../../src/db/list-stream.ts';
import { parseInstant, type TextRow } from '../../src/db/text-rows.ts';
import { csvLine } from '../../src/lib/csv-line.ts';
import { Instant } from './fields.ts';

export type ListFormat = 'json' | 'csv';

/**
 * The value of a field from PostgreSQL's text of its column: a plain string, or the JSON of any other value. The column of an
 * array has its elements as JSON, or is null.
 */
export type ColumnReader = (column: string | null, row: TextRow) => string | null;

/**
 * Derives the encoder of a list from the view of its items. JSON is the same bytes as `JSON.stringify` of the view's objects;
 * CSV has a column for each field.
 * @param readers for the fields whose column is not what their schema says
 */
export const createRowEncoder = <Shape extends z.ZodRawShape>(
  view: z.ZodObject<Shape>,
  format: ListFormat,
  readers: { [Field in keyof Shape]?: ColumnReader } = {},
): RowEncoder<keyof Shape & string> => {
  const columns: (keyof Shape & string)[] = Object.keys(view.shape);
  const fields = columns.map((name) => createField(name, view.shape[name], readers[name]));
  const header = csvLine(columns);
  return format === 'json'
    ? { columns, encode: jsonEncoder(fields), start: '[', separator: ',', end: ']' }
    : { columns, encode: csvEncoder(fields), start: header, separator: '', end: '' };
};

type Field = { name: string; read: ColumnReader; isString: boolean; isNullable: boolean };

const createField = (name: string, schema: unknown, read: ColumnReader | undefined): Field => {
  const isNullable = schema instanceof z.ZodNullable;
  const type: unknown = isNullable ? schema.unwrap() : schema;
  const isString = type instanceof z.ZodString || type === Instant;
  return { name, read: read ?? readerOf(type), isString, isNullable };
};

const readerOf = (type: unknown): ColumnReader => {
  if (type === Instant) return (text) => text && isoInstant(text);
  if (type instanceof z.ZodBoolean) return (text) => text && (text === 't' ? 'true' : 'false');
  if (type instanceof z.ZodArray) return (elements) => `[${elements ?? ''}]`;
  return (text) => text;
};

const jsonEncoder = (fields: readonly Field[]): RowEncoder['encode'] => {
  const keys = fields.map(({ name }, index) => `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  return (row, offset) => {
    let json = '';
    let index = 0;
    for (const { name, read, isString, isNullable } of fields) {
      const value = read(row[offset + index] ?? null, row);
      if (value === null && !isNullable)
        throw new TypeError(`${name} is null, which its schema does not allow`);
      json += keys[index];
      json += isString && value !== null ? jsonString(value) : value;
      index += 1;
    }
    return `${json}}`;
  };
};

const csvEncoder =
  (fields: readonly Field[]): RowEncoder['encode'] =>
  (row, offset) =>
    csvLine(fields.map(({ read }, index) => read(row[offset + index] ?? null, row) ?? ''));

const TO_ESCAPE = /["\\]|[^ -\uffff]/;

/** JSON of a string. PostgreSQL's text is well-formed, and few strings have anything to escape. */
export const jsonString = (text: string): string =>
  TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;

const UTC_INSTANT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?\+00$/;
const NO_FRACTION_LENGTH = '2026-11-21 10:20:30+00'.length;

/** `2026-11-21 10:20:30.5+00` of type `timestamptz` is `2026-11-21T10:20:30.500Z`. */
export const isoInstant = (text: string): string => {
  // Other years, and other time zones behind a pooler.
  if (!UTC_INSTANT.test(text)) return parseInstant(text).toISOString();
  const fraction = text.length === NO_FRACTION_LENGTH ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
};
