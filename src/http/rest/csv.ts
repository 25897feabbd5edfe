import { z } from 'zod';
import { csvLine, csvText } from '../../lib/csv-line.ts';

const MAX_NAME_LENGTH = 100;
/** Path segments that say nothing about the content. */
const COMMON_SEGMENTS = new Set(['api', 'v1', 'jb', 'hashr']);

/** The columns of a list: one for each field of the items in the output schema. Null if the output is not a list. */
export const csvColumnsOf = (output: unknown): readonly string[] | null => {
  const item = itemSchemaOf(output);
  return item instanceof z.ZodObject ? Object.keys(item.shape) : null;
};

const itemSchemaOf = (output: unknown): unknown => {
  if (output instanceof z.ZodArray) return output.element;
  // One item, or pages of items.
  if (output instanceof z.ZodUnion) return output.options.map(itemSchemaOf).find(Boolean);
  const { listOf, pagesOf } = (output instanceof z.ZodType && output.meta()) || {};
  return listOf ?? pagesOf;
};

export const toCsv = (items: readonly unknown[], columns: readonly string[]): string => {
  const records = items as Record<string, unknown>[]; // the schema of a list lets only objects through
  return [columns, ...records.map((record) => columns.map((field) => csvText(record[field])))]
    .map(csvLine)
    .join('');
};

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
