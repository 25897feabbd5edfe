import type { TrackedEnvelope } from '@trpc/server';
import { z } from 'zod';
import { wordsOf } from '../../src/db/kysely.ts';
import { ListStream, parseInstant, type RowEncoder, type TextRow } from '../../src/db/list-pages.ts';
import type { PageRequest } from '../../src/db/pagination.ts';
import { csvLine } from '../../src/lib/csv-line.ts';
import type { Download } from '../../src/lib/files.ts';
import { invalid } from '../../src/lib/problems.ts';
import type { Context } from '../context.ts';
import { Instant, Text } from './fields.ts';

const MAX_PAGE = 2_147_483_647;
const MAX_PAGE_SIZE = 10_000;
const DEFAULT_PAGE_SIZE = 100;
const MAX_WORDS = 10;

const Size = z.int().min(1).max(MAX_PAGE_SIZE);

/** Paging by page number, starting at 1. */
export const pageNumberFields = { page: z.int().min(1).max(MAX_PAGE).optional(), page_size: Size.optional() };

/** Paging of a list that is complete by default. `cursor` identifies the last item of the previous page. */
export const pagingFields = <C extends z.ZodType>(cursor: C) => ({
  ...pageNumberFields,
  cursor: cursor.optional(),
  limit: Size.optional(),
});

/** Paging of a list that is always paged. `cursor` identifies the last item of the previous page. */
export const limitedPagingFields = <C extends z.ZodType>(cursor: C) => ({
  ...pageNumberFields,
  cursor: cursor.optional(),
  limit: z.int().min(1).max(200).default(50),
});

/** Words that must all match, also inside of longer words. */
export const Search = Text(254).refine(
  (search) => wordsOf(search).length <= MAX_WORDS,
  `Must have at most ${MAX_WORDS} words.`,
);

export type PagingInput<C> = {
  page?: number | undefined;
  page_size?: number | undefined;
  cursor?: C | undefined;
  limit?: number | undefined;
};

/**
 * Paging by page number takes precedence over `limit`.
 * @throws Problem `invalid-input` if `cursor` is combined with a page number
 */
export const toPageRequest = <C>(
  { setPagination }: Pick<Context, 'setPagination'>,
  input: PagingInput<C>,
): PageRequest & { cursor?: C | undefined } => {
  if (input.page === undefined && input.page_size === undefined) {
    return { limit: input.limit, cursor: input.cursor };
  }
  if (input.cursor !== undefined) throw invalid({ cursor: ['Cannot be combined with page or page_size.'] });
  const page = { number: input.page ?? 1, size: input.page_size ?? DEFAULT_PAGE_SIZE };
  return { page: { ...page, tellCount: (count) => setPagination({ ...page, count }) } };
};

export type ListFormat = 'json' | 'csv';

type PageKeys = { page?: unknown; page_size?: unknown; limit?: unknown };

/** The format in which to stream a list: of a whole list over REST; undefined for others. */
export const streamFormat = (
  { listFormat }: Pick<Context, 'listFormat'>,
  { page, page_size, limit }: PageKeys,
): ListFormat | undefined =>
  page === undefined && page_size === undefined && limit === undefined ? listFormat : undefined;

/** The output of a procedure that returns many items. REST may get a `ListStream`, which the encoder of the same schema writes. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z
    .union([z.array(item), z.instanceof(ListStream)])
    // Only REST sets `listFormat` and gets a stream; for all other callers it is an array.
    .transform((items) => items as z.output<T>[])
    .meta({ listOf: item });

/**
 * The output of a procedure whose list does not fit in memory: pages of items, each passed on before the next is read. REST
 * gets a `ListStream`, as in `listOf`.
 */
export const pagesOf = <T extends z.ZodType>(item: T) =>
  z
    .custom<AsyncIterable<z.output<T>[]> | ListStream>(isPages)
    .transform((pages) => pages as AsyncIterable<z.output<T>[]>)
    .meta({ pagesOf: item });

/** The output of a subscription whose events can be continued by their ids. Each is parsed where it is yielded. */
export const streamOf = <T extends z.ZodType>(_item: T) =>
  z.custom<AsyncIterable<TrackedEnvelope<z.output<T>>>>(isAsyncIterable);

/** The output of a download: a file for REST, which alone sets `isDownload`, and pages for all others. */
export const downloadOf = <Page>() =>
  z.custom<AsyncIterable<Page> | Download>().transform((pages) => pages as AsyncIterable<Page>);

const isPages = (pages: unknown): boolean => pages instanceof ListStream || isAsyncIterable(pages);

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown[]> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Parses the items of a list that is streamed as JSON. */
export async function* parsePages<T>({ pages }: ListStream, view: (item: never) => T): AsyncGenerator<T[]> {
  for await (const { texts, isLast } of pages) {
    const text = Buffer.concat(texts);
    // Pages start with `[` or `,`, and the last one ends with `]`.
    const items: never[] = JSON.parse(
      `[${text.toString('utf8', 1, isLast ? text.length - 1 : text.length)}]`,
    );
    yield items.map(view);
  }
}

/** The text of a field from its column, in a row of all columns. */
type ColumnReader = (column: string | null, row: TextRow) => string;

/**
 * Derives the encoder of a list from the output schema of its items. JSON is the same text as `JSON.stringify` of the items; CSV
 * has a column for each field. Columns of other types than strings, booleans and times hold the JSON of their fields.
 * @param readers for the texts that are not those of their columns
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

/** JSON of a string. PostgreSQL's text is well-formed, and few strings have anything to escape. */
export const jsonString = (text: string): string =>
  TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;

const NO_FRACTION_LENGTH = '2026-11-21 10:20:30+00'.length;
const MILLISECONDS_LENGTH = '2026-11-21 10:20:30.123+00'.length;

/** `2026-11-21 10:20:30.5+00` of type `timestamptz` is `2026-11-21T10:20:30.500Z`. */
export const isoInstant = (text: string): string => {
  // Microseconds, other years, and other time zones behind a pooler.
  if (text.length > MILLISECONDS_LENGTH || text[4] !== '-' || !text.endsWith('+00'))
    return parseInstant(text).toISOString();
  const fraction = text.length === NO_FRACTION_LENGTH ? '.000' : text.slice(19, -3).padEnd(4, '0');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction}Z`;
};
