import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import type { Actor } from '../access/actor.ts';
import { userClientVisibleTo } from '../access/visibility.ts';
import { createAppEncoder } from './app-encoder.ts';
import type { usersMatching } from './user-lists.ts';
import type { UserRow } from './user-rows.ts';

type UserColumn = Exclude<keyof UserRow, 'id'>;
/** Creates the encoder of a user's view; `encodeApps` encodes their app ids, as the actor sees them. */
export type UserEncoder = (
  encodeApps: (ids: string | null, userId: string | null) => string,
) => RowEncoder<UserColumn>;

type Users = Awaited<ReturnType<typeof usersMatching>>;
type Options = {
  em: SqlEntityManager;
  actor: Actor;
  users: Users;
  encoder: UserEncoder;
  /**
   * The table whose `user_id` is the key of a page. The planner estimates that a third of all users are behind any id, and
   * would read these instead of looking up the few members of an app or a client.
   */
  key: 'users' | 'app_grants' | 'memberships';
};

/** Opens a list of users, ordered by id. */
export const openUserList = async ({ em, actor, users, encoder, key }: Options): Promise<OpenList> => {
  const apps = await createAppEncoder(em, actor);
  const { columns, encode, ...frame } = encoder(apps.encode);
  return {
    ...frame,
    statement: (after, limit) =>
      pageOfUsers(actor, users, { columns, key, after: Number(after?.[0] ?? 0), limit }).compile(),
    encode: (row) => encode(row, 1),
    isOutdated: apps.isOutdated,
  };
};

type Selection = { columns: readonly UserColumn[]; key: Options['key']; after: number; limit: PageSize };

const pageOfUsers = (actor: Actor, users: Users, { columns, key, after, limit }: Selection) => {
  // The grants of all users are read along with them; those of a few are looked up.
  const areAll = key === 'users';
  const columnOf = (name: UserColumn): RawBuilder<unknown> => {
    if (name === 'clientadmin_of') return sql`coalesce(administered.clientadmin_of, '{}')`;
    if (name !== 'apps') return sql.ref(`users.${name}`);
    return areAll
      ? sql`granted.apps`
      : sql`array(select g.app_id from app_grants g where g.user_id = users.id)`;
  };
  const rows = users
    .clearSelect()
    .select('users.id')
    .select(columns.map((name) => columnOf(name).as(name)))
    .leftJoin(administeredClientsAfter(actor, after).as('administered'), 'administered.user_id', 'users.id')
    .where(sql<boolean>`${sql.ref(areAll ? 'users.id' : `${key}.user_id`)} > ${after}`)
    .limit(sql.lit(limit));
  return areAll ? rows.leftJoin(grantsAfter(after).as('granted'), 'granted.user_id', 'users.id') : rows;
};

/** Grouped by user in the order of an index: a merge join takes a third of the time of a lookup for each user. */
const grantsAfter = (after: number) => sql<{ user_id: number }>`(
  select user_id, array_agg(app_id) as apps from app_grants where user_id > ${after} group by user_id)`;

const administeredClientsAfter = (actor: Actor, after: number) => sql<{ user_id: number }>`(
  select m.user_id, array_agg(m.client_id order by m.client_id) as clientadmin_of from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(actor, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
