import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { afterCursor, cursorRow } from '../../db/pagination.ts';
import { hasWords } from '../../db/search.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { userRows } from './user-rows.ts';

export type UserFilter = {
  /** Words that must all occur in the address or the names. */
  search?: string | undefined;
  is_active?: boolean | undefined;
  /** The address of the last user of the previous page. */
  cursor?: string | undefined;
};

/** Must equal the expression of the index `users_search`. */
const SEARCHED = sql<string>`lower(users.email || ' ' || users.first_name || ' ' || users.last_name)`;

/**
 * Users that match the filter, with columns as the actor sees them. Callers add the condition on which users are visible.
 * @throws Problem `invalid-input` on `cursor`
 */
export const usersMatching = async (em: SqlEntityManager, actor: Actor, filter: UserFilter) => {
  let rows = afterCursor(userRows(em, actor), 'users.id', await findCursorId(em, actor, filter.cursor));
  if (filter.is_active !== undefined) rows = rows.where('users.is_active', '=', filter.is_active);
  if (filter.search !== undefined) rows = rows.where(hasWords(SEARCHED, filter.search));
  return rows;
};

/** Cursors are addresses, because the API does not expose the ids of users. */
const findCursorId = async (em: SqlEntityManager, actor: Actor, email: string | undefined) => {
  if (email === undefined) return undefined;
  const users = tables(em).selectFrom('users').select('users.id').where('users.email', '=', email);
  return (await cursorRow(users.where(userVisibleTo(actor)))).id;
};
