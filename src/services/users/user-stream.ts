import { type RawBuilder, sql } from 'kysely';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import { userClientVisibleTo, type Viewer } from '../access/visibility.ts';
import type { usersMatching } from './user-filter.ts';
import type { UserRow } from './user-rows.ts';

type UserColumn = Exclude<keyof UserRow, 'id'>;
/** `apps` and `clientadmin_of` are the elements of JSON arrays, or null. */
export type UserEncoder = RowEncoder<UserColumn>;

type Users = Awaited<ReturnType<typeof usersMatching>>;
type Options = {
  viewer: Viewer;
  users: Users;
  encoder: UserEncoder;
  /**
   * The table whose `user_id` is the key of a page. The planner estimates that a third of all users are behind any id, and
   * would read these instead of looking up the few members of an app or a client.
   */
  key: 'users' | 'app_grants' | 'memberships';
};

/** Selected before the columns of the view: the user's id. */
const KEY_COLUMNS = 1;

/** Opens a list of users, ordered by id. */
export const openUserList = (options: Options): OpenList => ({
  ...options.encoder,
  statement: (row, limit) => pageOfUsers(options, Number(row?.[0] ?? 0), limit).compile(),
  encode: (row) => options.encoder.encode(row, KEY_COLUMNS),
});

const pageOfUsers = ({ viewer, users, encoder, key }: Options, after: number, limit: PageSize) => {
  const isOfAll = key === 'users';
  const page = users
    .clearSelect()
    .select('users.id')
    .where(sql<boolean>`${sql.ref(isOfAll ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(sql.lit(limit));
  // The grants of all users are read along with them, in the order of an index; those of a few are looked up.
  const ofPage = isOfAll ? sql<boolean>`g.user_id > ${after}` : sql<boolean>`g.user_id in (${page})`;
  return page
    .select(encoder.columns.map((name) => columnOf(name).as(name)))
    .leftJoin(grants(viewer, ofPage).as('granted'), 'granted.user_id', 'users.id')
    .leftJoin(administeredAfter(viewer, after).as('administered'), 'administered.user_id', 'users.id');
};

const columnOf = (name: UserColumn): RawBuilder<unknown> => {
  if (name === 'apps') return sql`granted.apps`;
  if (name === 'clientadmin_of') return sql`administered.client_ids`;
  return sql.ref(`users.${name}`);
};

/**
 * Grouped by user and joined to the page: a lookup for each user takes three times as long. The ids of apps are letters and
 * digits: nothing to escape.
 */
const grants = (viewer: Viewer, ofPage: RawBuilder<boolean>) => sql<{ user_id: number }>`(
  select g.user_id, string_agg('"' || a.id || '"', ',' order by a.created_at, a.id) as apps
  from app_grants g join apps a on a.id = g.app_id
  where ${ofPage} and ${userClientVisibleTo(viewer, sql`g.user_id`, sql`a.client_id`)} group by g.user_id)`;

const administeredAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select m.user_id, string_agg(m.client_id::text, ',' order by m.client_id) as client_ids from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
