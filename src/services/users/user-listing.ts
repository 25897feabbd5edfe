import { type RawBuilder, sql } from 'kysely';
import { condition, type Em } from '../../db/kysely.ts';
import type { OpenList, RowEncoder } from '../../db/list-pages.ts';
import type { Actor } from '../access/actor.ts';
import { isNotErased, userClientVisibleTo, userVisibleTo, type Viewer } from '../access/visibility.ts';
import { requireViewableAppId } from '../apps/app-rows.ts';
import { readClient } from '../clients/clients.ts';
import { type UserFilter, usersMatching } from './user-filter.ts';
import type { UserRow } from './user-rows.ts';

/** All visible users, those with a grant of an app (its slug), or the members of a client. */
export type Listing = UserFilter & { app?: string | undefined };

type Users = Awaited<ReturnType<typeof usersMatching>>;

type Listed = {
  users: Users;
  /**
   * The table whose `user_id` is the key of a page. The planner estimates that a third of all users follow any id, and would
   * read these instead of looking up the few members of an app or a client.
   */
  key: 'users' | 'app_grants' | 'memberships';
};

/** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor` */
export const listingQuery = async (em: Em, actor: Actor, filter: Listing, now: Date): Promise<Listed> => {
  const { app, client } = filter;
  if (client !== undefined) await readClient(em, actor, client);
  const appId = app === undefined ? undefined : await requireViewableAppId(em, actor, app);
  const users = await usersMatching(em, actor, filter, now);
  if (client !== undefined) {
    const members = users
      .innerJoin('memberships', 'memberships.user_id', 'users.id')
      .where('memberships.client_id', '=', client)
      .where(isNotErased);
    const isGranted = condition`exists (select from app_grants g
      where g.user_id = users.id and g.app_id = ${appId})`;
    return {
      users: asUsers(appId === undefined ? members : members.where(isGranted)),
      key: 'memberships',
    };
  }
  const visible = users.where(userVisibleTo(actor));
  if (appId === undefined) return { users: visible, key: 'users' };
  const granted = visible.innerJoin('app_grants', 'app_grants.user_id', 'users.id').where(isNotErased);
  return { users: asUsers(granted.where('app_grants.app_id', '=', appId)), key: 'app_grants' };
};

/** Callers select no columns of the joined table. */
const asUsers = (joined: unknown): Users => joined as Users;

type UserColumn = Exclude<keyof UserRow, 'id'>;
export type UserEncoder = RowEncoder<UserColumn>;

/** Opens a whole list of users, ordered by id. */
export const openUserList = (viewer: Viewer, listed: Listed, encoder: UserEncoder): OpenList => ({
  encoder,
  page: (after, limit) => pageOfUsers(viewer, listed, encoder.columns, Number(after?.[0] ?? 0), limit),
});

const pageOfUsers = (
  viewer: Viewer,
  { users, key }: Listed,
  columns: readonly UserColumn[],
  after: number,
  limit: number,
) => {
  const isOfAll = key === 'users';
  const page = users
    .clearSelect()
    .where(condition`${sql.ref(isOfAll ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(limit)
    .select(columns.map((name) => columnOf(name, viewer, isOfAll).as(`output_${name}`)))
    .select('users.id')
    .leftJoin(administeredAfter(viewer, after).as('administered'), 'administered.user_id', 'users.id');
  return isOfAll
    ? page.leftJoin(grantsAfter(viewer, after).as('granted'), 'granted.user_id', 'users.id')
    : page;
};

const columnOf = (name: UserColumn, viewer: Viewer, isOfAll: boolean): RawBuilder<unknown> => {
  if (name === 'apps') return sql`coalesce(${isOfAll ? sql`granted.apps` : appsOf(viewer)}, '[]')`;
  if (name === 'clientadmin_of') return sql`coalesce(administered.client_ids, '[]')`;
  return sql.ref(`users.${name}`);
};

/** JSON, oldest app first. */
const APP_IDS = sql`'["' || string_agg(g.app_id, '","' order by a.created_at, a.id) || '"]'`;

const visibleGrants = (viewer: Viewer, isWanted: RawBuilder<boolean>) => sql`
  from app_grants g join apps a on a.id = g.app_id
  where ${isWanted} and ${userClientVisibleTo(viewer, sql`g.user_id`, sql`a.client_id`)}`;

/** The grants of a few users are looked up, those of all are read along with them, in the order of an index. */
const appsOf = (viewer: Viewer) => sql`
  (select ${APP_IDS} ${visibleGrants(viewer, sql`g.user_id = users.id`)})`;

const grantsAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select g.user_id, ${APP_IDS} as apps
  ${visibleGrants(viewer, sql`g.user_id > ${after}`)} group by g.user_id)`;

/** `client_ids` is JSON. */
const administeredAfter = (viewer: Viewer, after: number) => sql<{ user_id: number }>`(
  select m.user_id, '[' || string_agg(m.client_id::text, ',' order by m.client_id) || ']' as client_ids from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
