import { type SelectQueryBuilder, sql } from 'kysely';
import { invalid } from '../lib/problems.ts';

/** A page by its number, from 1; how many there are in all is told apart from the rows. */
export type NumberedPage = { number: number; size: number; tellCount: (count: number) => void };

/** The part of a list that is asked for: all of it, the first few, or a page. */
export type PageRequest = { limit?: number | undefined; page?: NumberedPage | undefined };

/** A part whose list goes on behind the row of this id. */
export type CursorPageRequest = PageRequest & { cursor?: number | undefined };

/** Reads the part of a list; `key` is the column by which its rows are told apart. */
export const readPage = async <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  part: PageRequest,
) => {
  await reportCount(rows, part);
  return pageOfRows(rows, key, part).execute();
};

/** Tells whoever asked for a page how many rows there are in all. */
export const reportCount = async <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { page }: PageRequest,
): Promise<void> => {
  if (!page) return;
  // The types cannot follow a selection that begins anew.
  const { count } = await rows
    .clearSelect()
    .clearOrderBy()
    .select(sql<number>`count(*)`.as('count'))
    .$castTo<{ count: number }>()
    .executeTakeFirstOrThrow();
  page.tellCount(count);
};

/**
 * The rows of the part. Those before a page are skipped by their keys alone: PostgreSQL would work out the columns of
 * every row that it skips, which takes seconds where a column is a query of its own.
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
  return rows.where(sql<boolean>`${sql.ref(key)} in (${keys})`);
};

/** The rows behind a cursor, where they are ordered by this key; all of them without one. */
export const afterCursor = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
  cursor: number | undefined,
  order: 'asc' | 'desc' = 'asc',
) => {
  if (cursor === undefined) return rows;
  return rows.where(sql<boolean>`${sql.ref(key)} ${sql.raw(order === 'asc' ? '>' : '<')} ${cursor}`);
};

/**
 * The row behind which a page begins.
 * @throws Problem `invalid-input` on `cursor` when the list has no such row
 */
export const cursorRow = async <DB, TB extends keyof DB, O>(rows: SelectQueryBuilder<DB, TB, O>) => {
  const row = await rows.executeTakeFirst();
  if (!row) throw invalid({ cursor: ['Names nothing that is in this list.'] });
  return row;
};
