import { type RawBuilder, sql } from 'kysely';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import { userClientVisibleTo, type Viewer } from '../access/visibility.ts';
import type { AppOrder } from './app-order.ts';
import type { usersMatching } from './user-filter.ts';
import type { UserRow } from './user-rows.ts';

type UserColumn = Exclude<keyof UserRow, 'id'>;
/** `apps` and `clientadmin_of` are the elements of JSON arrays, or null. */
export type UserEncoder = RowEncoder<UserColumn>;

type Users = Awaited<ReturnType<typeof usersMatching>>;
type Options = {
  viewer: Viewer;
  appOrder: AppOrder;
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
export const openUserList = async (options: Options): Promise<OpenList> => {
  const { appOrder, encoder } = options;
  await appOrder.refresh();
  const apps = KEY_COLUMNS + encoder.columns.indexOf('apps');
  let isOutdated = false;
  return {
    ...encoder,
    statement: (row, limit) => pageOfUsers(options, Number(row?.[0] ?? 0), limit).compile(),
    encode: (row) => {
      const ids = row[apps];
      if (ids) {
        row[apps] = appOrder.sortedElements(ids);
        isOutdated ||= row[apps] === null;
      }
      return encoder.encode(row, KEY_COLUMNS);
    },
    isOutdated: () => isOutdated,
  };
};

const pageOfUsers = ({ viewer, users, encoder, key }: Options, after: number, limit: PageSize) => {
  const isOfAll = key === 'users';
  const page = users
    .clearSelect()
    .select('users.id')
    .where(sql<boolean>`${sql.ref(isOfAll ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(sql.lit(limit))
    .select(encoder.columns.map((name) => columnOf(name, viewer, isOfAll).as(name)))
    .leftJoin(administeredAfter(viewer, after).as('administered'), 'administered.user_id', 'users.id');
  return isOfAll
    ? page.leftJoin(grantsAfter(viewer, after).as('granted'), 'granted.user_id', 'users.id')
    : page;
};

const columnOf = (name: UserColumn, viewer: Viewer, isOfAll: boolean): RawBuilder<unknown> => {
  if (name === 'apps') return isOfAll ? sql`granted.apps` : appsOf(viewer);
  if (name === 'clientadmin_of') return sql`administered.client_ids`;
  return sql.ref(`users.${name}`);
};

/** A left join: PostgreSQL leaves it out for viewers of all clients. */
const visibleGrants = (viewer: Viewer, isWanted: RawBuilder<boolean>) => sql`
  from app_grants g left join apps a on a.id = g.app_id
  where ${isWanted} and ${userClientVisibleTo(viewer, sql`g.user_id`, sql`a.client_id`)}`;

/** The grants of a few users are looked up, those of all are read along with them, in the order of an index. */
const appsOf = (viewer: Viewer) => sql`
  (select string_agg(g.app_id, ',') ${visibleGrants(viewer, sql`g.user_id = users.id`)})`;

const grantsAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select g.user_id, string_agg(g.app_id, ',') as apps
  ${visibleGrants(viewer, sql`g.user_id > ${after}`)} group by g.user_id)`;

const administeredAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select m.user_id, string_agg(m.client_id::text, ',' order by m.client_id) as client_ids from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
