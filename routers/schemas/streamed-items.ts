import { z } from 'zod';
import { JsonStream } from '../../src/db/json-stream/json-stream.ts';
import { checkedText } from './streamed-lists.ts';

/** Writes the items of a list as text, for a wire that knows no objects. */
export type ItemWriter<T = never> = {
  json: (item: T) => string;
  /** Left out: a column for each field of its output. */
  csv?: CsvWriter<T>;
};

export type CsvWriter<T = never> = { header: readonly string[]; cells: (item: T) => string[] };

/**
 * The output of a procedure that answers many items at once, all made by one view from rows of one query: the first is
 * held against the schema, and they are passed on as they are. To those who take text it may be text already.
 */
export const listOf = <T extends z.ZodType>(item: T) =>
  z
    .custom<z.output<T>[] | JsonStream>((items) => Array.isArray(items) || items instanceof JsonStream)
    .transform((items): z.output<T>[] => {
      // Those who asked for text know what they get; for all others it is an array.
      if (items instanceof JsonStream) return checkedText(item, items) as never;
      if (items.length > 0) item.parse(items[0]);
      return items;
    })
    .meta({ listOf: item });

const isAsyncIterable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/**
 * The output of a procedure whose list is too long to hold: pages of items, each passed on before the next is read.
 * All items of a list are made by one view from rows of one query, so the first of each page is held against the schema.
 */
export const pagesOf = <T extends z.ZodType>(item: T) =>
  z
    .custom<AsyncIterable<z.output<T>[]> | JsonStream>(
      (pages) => isAsyncIterable(pages) || pages instanceof JsonStream,
    )
    .transform((pages): AsyncIterable<z.output<T>[]> => {
      // As in `listOf`.
      if (pages instanceof JsonStream) return checkedText(item, pages) as never;
      return checkedPages(item, pages);
    })
    .meta({ pagesOf: item });

async function* checkedPages<T extends z.ZodType>(
  item: T,
  pages: AsyncIterable<z.output<T>[]>,
): AsyncGenerator<z.output<T>[]> {
  for await (const page of pages) {
    if (page.length > 0) item.parse(page[0]);
    yield page;
  }
}

/** Makes pages of views from pages of rows. */
export async function* viewPages<R, V>(pages: AsyncIterable<R[]>, view: (row: R) => V): AsyncGenerator<V[]> {
  for await (const rows of pages) yield rows.map(view);
}
