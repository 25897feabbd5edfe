import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { afterCursor, cursorRow } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { userRows } from './user-rows.ts';

/** Users who never logged in have the earliest time, because an index cannot continue after a null. */
export const LAST_LOGIN_KEY = sql<Date>`coalesce(users.last_login, '-infinity'::timestamptz)`;

type Key = { column: RawBuilder<unknown>; type: RawBuilder<unknown> };

/** Each has an index on these expressions and the id; the unique email alone has its constraint's. */
const KEYS = {
  email: { column: sql`users.email`, type: sql`varchar` },
  name: { column: sql`lower(users.last_name || ' ' || users.first_name)`, type: sql`text` },
  last_login: { column: LAST_LOGIN_KEY, type: sql`timestamptz` },
  date_joined: { column: sql`users.date_joined`, type: sql`timestamptz` },
} satisfies Record<string, Key>;

export const USER_SORTS = [
  ...(['email', '-email', 'name', '-name'] as const),
  ...(['last_login', '-last_login', 'date_joined', '-date_joined'] as const),
] as const;

/** The name of a key; with a leading `-`, the order is descending. */
export type UserSort = (typeof USER_SORTS)[number];

type Users = ReturnType<typeof userRows>;
type Order = { sort?: UserSort | undefined; cursor?: string | undefined };

/**
 * Orders users by a key and their id, or by their id alone, and starts after the user of the cursor.
 * @throws Problem `invalid-input` on `cursor`
 */
export const sortUsers = async (
  em: SqlEntityManager,
  actor: Actor,
  users: Users,
  { sort, cursor }: Order,
): Promise<Users> => {
  if (sort === undefined) {
    const after = cursor === undefined ? undefined : (await findCursor(em, actor, cursor)).id;
    return afterCursor(users, 'users.id', after);
  }
  const { column, type } = keyOf(sort);
  const [direction, isAfter] = sort.startsWith('-') ? (['desc', '<'] as const) : (['asc', '>'] as const);
  const sorted = users.clearOrderBy().orderBy(column, direction).orderBy('users.id', direction);
  if (cursor === undefined) return sorted;
  const { id, key } = await findCursor(em, actor, cursor, column);
  return sorted.where(sql<boolean>`(${column}, users.id) ${sql.raw(isAfter)} (${key}::${type}, ${id}::int)`);
};

const keyOf = (sort: UserSort): Key => {
  const found = Object.entries(KEYS).find(([name]) => name === sort.replace('-', ''));
  if (!found) throw new Error(`${sort} is no sort order of users.`);
  return found[1];
};

/** Cursors are addresses, because the API does not expose the ids of users. */
const findCursor = (
  em: SqlEntityManager,
  actor: Actor,
  email: string,
  key: RawBuilder<unknown> = sql`null`,
) =>
  cursorRow(
    tables(em)
      .selectFrom('users')
      .select(['users.id', sql<string>`${key}::text`.as('key')])
      .where('users.email', '=', email)
      .where(userVisibleTo(actor)),
  );
