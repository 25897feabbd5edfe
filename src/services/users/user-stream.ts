import { type RawBuilder, sql } from 'kysely';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import { userClientVisibleTo, type Viewer } from '../access/visibility.ts';
import type { UserRow, usersMatching } from './user-rows.ts';

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
  // The grants of all users are read along with them; those of a few are looked up.
  const areAll = key === 'users';
  const columnOf = (name: UserColumn): RawBuilder<unknown> => {
    if (name === 'clientadmin_of') return sql`administered.client_ids`;
    if (name !== 'apps') return sql.ref(`users.${name}`);
    return areAll
      ? sql`granted.apps`
      : sql`(select ${APP_IDS} ${visibleGrants(viewer)} and g.user_id = users.id)`;
  };
  const rows = users
    .clearSelect()
    .select('users.id')
    .select(encoder.columns.map((name) => columnOf(name).as(name)))
    .leftJoin(administeredAfter(viewer, after).as('administered'), 'administered.user_id', 'users.id')
    .where(sql<boolean>`${sql.ref(areAll ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(sql.lit(limit));
  return areAll
    ? rows.leftJoin(grantsAfter(viewer, after).as('granted'), 'granted.user_id', 'users.id')
    : rows;
};

/** Ids are letters and digits: nothing to escape. */
const APP_IDS = sql`string_agg('"' || a.id || '"', ',' order by a.created_at, a.id)`;

const visibleGrants = (viewer: Viewer) => sql`from app_grants g join apps a on a.id = g.app_id
  where ${userClientVisibleTo(viewer, sql`g.user_id`, sql`a.client_id`)}`;

/** Grouped by user in the order of an index: a merge join takes a third of the time of a lookup for each user. */
const grantsAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select g.user_id, ${APP_IDS} as apps ${visibleGrants(viewer)} and g.user_id > ${after} group by g.user_id)`;

const administeredAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select m.user_id, string_agg(m.client_id::text, ',' order by m.client_id) as client_ids from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
