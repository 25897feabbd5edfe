import { z } from 'zod';
import type { CsvWriter, ItemWriter } from '../../../routers/schemas/streamed-items.ts';
import { csvLine } from '../../lib/csv-line.ts';

const MAX_NAME_LENGTH = 100;
/** Path segments that say nothing about the content. */
const COMMON_SEGMENTS = new Set(['api', 'v1', 'jb', 'hashr']);

/** Maps the items of a list to CSV records. */
export type CsvColumns = CsvWriter<unknown>;

/**
 * The columns of the list's own writer, or one column for each field of the items in the output schema. Null if the output is
 * not a list.
 */
export const csvColumnsOf = (output: unknown, writer: ItemWriter | undefined): CsvColumns | null => {
  // The procedure declares the writer together with its output schema, so both have the same item type.
  const { csv } = (writer ?? {}) as Partial<ItemWriter<unknown>>;
  if (csv) return csv;
  const item = itemSchemaOf(output);
  if (!(item instanceof z.ZodObject)) return null;
  const fields = Object.keys(item.shape);
  return { header: fields, cells: (value) => fields.map((field) => cellOf(fieldOf(value, field))) };
};

const itemSchemaOf = (output: unknown): unknown => {
  if (output instanceof z.ZodArray) return output.element;
  return output instanceof z.ZodType ? output.meta()?.listOf : undefined;
};

/** The schema of a list lets only objects through. */
const fieldOf = (value: unknown, field: string): unknown => (value as Record<string, unknown>)[field];

/** Strings are kept, null and undefined are empty, dates are ISO 8601, objects and arrays are JSON. */
const cellOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

export const toCsv = (items: readonly unknown[], columns: CsvColumns): string =>
  csvLine(columns.header) + csvRecords(items, columns);

export const csvRecords = (items: readonly unknown[], { cells }: CsvColumns): string =>
  items.map((item) => csvLine(cells(item))).join('');

/** Names the file after the path: `/api/v1/jb/clients/:id/users/` with id 1 is `clients-1-users.csv`. */
export const csvFileName = (url: string, params: Record<string, string>): string => {
  const segments = url.split('/').filter((segment) => segment !== '' && !COMMON_SEGMENTS.has(segment));
  const values = segments.map((segment) =>
    segment.startsWith(':') ? (params[segment.slice(1)] ?? '') : segment,
  );
  // Other characters are unsafe in a header or a file name.
  const name = values.join('-').replaceAll(/[^\w.-]/g, '_');
  return `${name.slice(0, MAX_NAME_LENGTH)}.csv`;
};
