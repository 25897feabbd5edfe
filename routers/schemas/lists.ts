import type { TrackedEnvelope } from '@trpc/server';
import { z } from 'zod';
import { wordsOf } from '../../src/db/kysely.ts';
import { ListStream } from '../../src/db/list-pages.ts';
import type { PageRequest } from '../../src/db/pagination.ts';
import { parseJson } from '../../src/lib/exact-json.ts';
import type { Download } from '../../src/lib/files.ts';
import { invalid } from '../../src/lib/problems.ts';
import type { Context } from '../context.ts';
import { Text } from './fields.ts';
import { INT4_MAX } from './keys.ts';
import type { ListFormat } from './row-encoder.ts';

const MAX_PAGE_SIZE = 10_000;
const DEFAULT_PAGE_SIZE = 100;
const MAX_WORDS = 10;

const Size = z.int().min(1).max(MAX_PAGE_SIZE);

/** Paging by page number, starting at 1. */
export const pageNumberFields = { page: z.int().min(1).max(INT4_MAX).optional(), page_size: Size.optional() };

/** Paging of a list that is complete by default. `cursor` identifies the last item of the previous page. */
export const pagingFields = <C extends z.ZodType>(cursor: C) => ({
  ...pageNumberFields,
  cursor: cursor.optional(),
  limit: Size.optional(),
});

/** Paging of a list that is always paged. `cursor` identifies the last item of the previous page. */
export const limitedPagingFields = <C extends z.ZodType>(cursor: C) => ({
  ...pagingFields(cursor),
  limit: z.int().min(1).max(200).default(50),
});

/** How many people a preview lists. */
export const PreviewLimit = z.int().min(1).max(1_000).default(100);

/** Words that must all match, also inside longer words. */
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

type PageKeys = { page?: unknown; page_size?: unknown; limit?: unknown };

/** The format in which to stream a list: set for a whole list over REST; undefined otherwise. */
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
 * The output of a procedure whose list does not fit in memory: pages of items, each passed on before the next is read. REST gets a
 * `ListStream`, as with `listOf`.
 */
export const pagesOf = <T extends z.ZodType>(item: T) =>
  z
    .custom<AsyncIterable<z.output<T>[]> | ListStream>(isPages)
    .transform((pages) => pages as AsyncIterable<z.output<T>[]>)
    .meta({ pagesOf: item });

/** The output of a subscription whose events can be resumed by id. Each event is parsed where it is yielded. */
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
    const items: never[] = parseJson(`[${text.toString('utf8', 1, isLast ? text.length - 1 : text.length)}]`);
    yield items.map(view);
  }
}
