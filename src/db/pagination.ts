import { type SelectQueryBuilder, sql } from 'kysely';
import { invalid } from '../lib/problems.ts';
import { condition } from './kysely.ts';

/** The requested part of a list: all of it, the first rows, or a page by its number, from 1. */
export type PageRequest = {
  limit?: number | undefined;
  /** `tellCount` receives the number of all rows. */
  page?: { number: number; size: number; tellCount: (count: number) => void } | undefined;
};

/** Starts after the row with this id. */
export type CursorPageRequest = PageRequest & { cursor?: number | undefined };

/** Reads the requested part of a list. `key` is its unique column. */
export const readPage = async <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  request: PageRequest,
) => {
  await reportCount(rows, request);
  return pageOfRows(rows, key, request).execute();
};

/** Reports the number of all rows, if a page is requested. */
export const reportCount = async <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { page }: PageRequest,
): Promise<void> => {
  if (page) page.tellCount(await countRows(rows));
};

export const countRows = async <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
): Promise<number> => {
  // Kysely's types do not follow `clearSelect`.
  const { count } = await rows
    .clearSelect()
    .clearOrderBy()
    .select((row) => row.fn.countAll<number>().as('count'))
    .$castTo<{ count: number }>()
    .executeTakeFirstOrThrow();
  return count;
};

/**
 * The requested rows. A page is selected by keys only: PostgreSQL would compute the columns of all skipped rows, which
 * takes seconds if a column is a subquery.
 */
export const pageOfRows = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  { limit, page }: PageRequest,
) => {
  if (!page) return limit === undefined ? rows : rows.limit(limit);
  const keys = rows
    .clearSelect()
    .select(sql.ref(key).as('key'))
    .limit(page.size)
    .offset((page.number - 1) * page.size);
  return rows.where(condition`${sql.ref(key)} = any(array(${keys}))`);
};

/** The rows after a cursor, in the order of this key; all rows without a cursor. */
export const afterCursor = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  cursor: number | undefined,
  order: 'asc' | 'desc' = 'asc',
) => {
  if (cursor === undefined) return rows;
  return rows.where(condition`${sql.ref(key)} ${sql.raw(order === 'asc' ? '>' : '<')} ${cursor}`);
};

/**
 * The row after which a page starts.
 * @throws Problem `invalid-input` on `cursor` when the list has no such row
 */
export const cursorRow = async <DB, TB extends keyof DB, O>(rows: SelectQueryBuilder<DB, TB, O>) => {
  const row = await rows.executeTakeFirst();
  if (!row) throw invalid({ cursor: ['No item in this list has this cursor.'] });
  return row;
};
