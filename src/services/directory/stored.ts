import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { isDuplicateOf } from '../../db/database-errors.ts';
import { type Em, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Resource } from '../../lib/scim/attributes.ts';
import { parseFilter } from '../../lib/scim/filters.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import type { ActingDirectory } from './directory-rows.ts';
import type { Columns } from './filter-sql.ts';
import { filterCondition, sortExpression } from './filter-sql.ts';

/** A resource as it is stored, with what the service assigns. */
export type StoredResource = {
  id: string;
  resource: Resource;
  version: number;
  created_at: Date;
  modified_at: Date;
};

/** The requested part of a list. */
export type ListQuery = {
  filter?: string | undefined;
  sortBy?: string | undefined;
  sortOrder?: 'ascending' | 'descending' | undefined;
  /** From 1. */
  startIndex: number;
  count: number;
  /** Whether the ids of members, or of groups, are read. */
  withRelated: boolean;
};

export type ListResult<T> = { total: number; items: T[] };

type ListedTable = { alias: string; table: RawBuilder<unknown>; isListed: RawBuilder<unknown> };

/** Selects rows of a table. `isListed`: which it has for this reader; `columns`: what is read of each. */
export const readListed = async <T>(
  em: Em,
  { filter, sortBy, sortOrder, startIndex, count }: ListQuery,
  known: Columns,
  { alias, table, isListed, columns }: ListedTable & { columns: RawBuilder<unknown> },
): Promise<ListResult<T>> => {
  const key = sql.ref(`${alias}.id`);
  // By their ids: to find a few rows, PostgreSQL could otherwise go through all of the client in their order.
  const isMatch =
    filter === undefined
      ? isListed
      : sql`${key} = any(array(select ${key} from ${table}
          where ${isListed} and ${filterCondition(known, parseFilter(filter))}))`;
  const order = sortBy === undefined ? sql.ref(`${alias}.created_at`) : sortExpression(known, sortBy);
  const direction = sql.raw(sortOrder === 'descending' ? 'desc nulls last' : 'asc nulls last');
  const found = await sql<T & { total: number }>`
    select ${columns}, count(*) over ()::int as total from ${table} where ${isMatch}
    order by ${order} ${direction}, ${key} limit ${count} offset ${startIndex - 1}`.execute(kysely(em));
  const [first] = found.rows;
  if (first || (startIndex === 1 && count > 0)) return { total: first?.total ?? 0, items: found.rows };
  const counted = sql<{ total: number }>`select count(*)::int as total from ${table} where ${isMatch}`;
  const { rows } = await counted.execute(kysely(em));
  return { total: rows[0]?.total ?? 0, items: [] };
};

/** What `If-Match` requires; null: nothing. */
export type Precondition = ((version: number) => boolean) | null;

export type Owned = { client_id: number; is_removed: boolean };

/**
 * A row that was found by its id, if it is one of the directory. Rows are looked up by the id alone: without statistics, PostgreSQL may prefer
 * an index of the client, and go through all of its rows.
 * @throws Problem `not-found`
 */
export const requireOwn = <Row extends Owned>(row: Row | undefined, client: number): Row => {
  if (!row || row.client_id !== client || row.is_removed) throw noSuchResource();
  return row;
};

/** The tables of resources. */
type StoredTable = 'directory_people' | 'directory_groups';

/**
 * Locks a resource of the directory.
 * @throws Problem `not-found`, `precondition-failed`
 */
export const lockStored = async (
  tx: Em,
  table: StoredTable,
  { client }: ActingDirectory,
  id: string,
  isMet: Precondition,
): Promise<Resource> => {
  const found = kysely(tx).selectFrom(table).select(['resource', 'version', 'client_id', 'is_removed']);
  const { resource, version } = requireOwn(
    await found.where('id', '=', id).forUpdate().executeTakeFirst(),
    client,
  );
  if (isMet !== null && !isMet(version)) throw new Problem('precondition-failed');
  return resource;
};

/** Says that a locked resource is removed. What it has become is removed when that is applied. */
export const markRemoved = (tx: Em, table: StoredTable, { actor }: ActingDirectory, id: string, now: Date) =>
  kysely(tx)
    .updateTable(table)
    .set({ is_removed: true, modified_at: now, stated_by: actor.id })
    .where('id', '=', id)
    .execute();

const noSuchResource = (): Problem => notFound('resource in this directory');

const UNIQUE: Readonly<Record<string, string>> = {
  directory_people_user_name: 'userName: another user of this directory has this name.',
  directory_people_email: 'emails: another user of this directory has this address.',
  directory_people_membership: 'emails: another user of this directory is the member with this address.',
  directory_groups_name: 'displayName: another group of this directory has this name.',
};

/** Two resources with the same name. */
export const rethrowAsNotUnique = (error: unknown): never => {
  for (const [constraint, detail] of Object.entries(UNIQUE))
    if (isDuplicateOf(error, constraint)) throw new ScimProblem('uniqueness', detail);
  if (error instanceof Problem && error.code === 'user-exists')
    throw new ScimProblem(
      'uniqueness',
      'emails: this address is reserved for another account for some days.',
    );
  throw error;
};
