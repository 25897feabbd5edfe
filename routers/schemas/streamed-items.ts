import { z } from 'zod';
import { ListStream } from '../../src/db/list-pages.ts';
import type { Context } from '../context.ts';
import type { ListFormat } from './row-encoder.ts';

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
    .custom<AsyncIterable<z.output<T>[]> | ListStream>()
    .transform((pages) => pages as AsyncIterable<z.output<T>[]>)
    .meta({ pagesOf: item });

/** Parses the items of a list that is streamed as JSON. */
export async function* parsePages<T>({ pages }: ListStream, view: (item: never) => T): AsyncGenerator<T[]> {
  for await (const { text, isLast } of pages) {
    // Pages start with `[` or `,`, and the last one ends with `]`.
    const items: never[] = JSON.parse(
      `[${text.toString('utf8', 1, isLast ? text.length - 1 : text.length)}]`,
    );
    yield items.map(view);
  }
}
