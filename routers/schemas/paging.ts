import { z } from 'zod';
import { wordsOf } from '../../src/db/kysely.ts';
import type { PageRequest } from '../../src/db/pagination.ts';
import { invalid } from '../../src/lib/problems.ts';
import type { Context } from '../context.ts';
import { Text } from './fields.ts';

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
