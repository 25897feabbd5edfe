import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { Reading } from '../../db/json-stream/chunk-reader.ts';
import type { Columns, ColumnWriter } from '../../db/json-stream/column-encoders.ts';
import { objectOf } from '../../db/json-stream/column-encoders.ts';
import type { Actor } from '../access/actor.ts';
import { mostRows } from '../access/json-list-stream.ts';
import { userClientVisibleTo } from '../access/visibility.ts';
import type { usersMatching } from './user-lists.ts';
import type { UserRow } from './user-rows.ts';
import { seenApps } from './visible-apps.ts';

export type UserColumn = Exclude<keyof UserRow, 'id'>;
/** The columns of a user's JSON; `apps` is how the ids of their apps are written, as the actor sees them. */
export type UserColumns = (apps: ColumnWriter) => Columns<UserColumn>;

type Users = Awaited<ReturnType<typeof usersMatching>>;
type Options = {
  em: SqlEntityManager;
  actor: Actor;
  users: Users;
  columns: UserColumns;
  /**
   * What they are the users of. The page behind an id is looked for there: the planner knows no better than that it is a third
   * of all users, and would read these rather than look up the few.
   */
  of: 'everything' | 'app_grants' | 'memberships';
};

/** How these users are read as text, by id. */
export const userReading = async ({ em, actor, users, columns, of }: Options): Promise<Reading<number>> => {
  const apps = await seenApps(em, actor);
  const shown = columns(apps.write);
  const writeUser = objectOf(shown);
  const names = Object.values(shown).map(([column]) => column);
  return {
    statement: (after = 0) => selected(actor, users, { names, of, after }).compile(),
    write: (row, out) => {
      row.next();
      const id = row.int();
      apps.ofOneself(id === actor.id);
      writeUser(row, out);
      return id;
    },
    isOutdated: apps.isOutdated,
  };
};

type Selection = { names: readonly UserColumn[]; of: Options['of']; after: number };

const selected = (actor: Actor, users: Users, { names, of, after }: Selection) => {
  // Then their apps are read along with them; of a few, they are looked up for each.
  const areAll = of === 'everything';
  const key = areAll ? sql.ref('users.id') : sql.ref(`${of}.user_id`);
  const columnOf = (name: UserColumn): RawBuilder<unknown> => {
    if (name === 'clientadmin_of') return sql`administered.clientadmin_of`;
    if (name !== 'apps') return sql.ref(`users.${name}`);
    return areAll
      ? sql`granted.apps`
      : sql`array(select g.app_id from app_grants g where g.user_id = users.id)`;
  };
  const rows = users
    .clearSelect()
    .select('users.id')
    .select(names.map((name) => columnOf(name).as(name)))
    .leftJoin(administeredClientsAfter(actor, after).as('administered'), 'administered.user_id', 'users.id')
    .where(sql<boolean>`${key} > ${after}`)
    .limit(mostRows);
  return areAll ? rows.leftJoin(grantsBehind(after).as('granted'), 'granted.user_id', 'users.id') : rows;
};

/** By user, as an index has them: users are merged with these, where a look-up for each takes three times as long. */
const grantsBehind = (after: number) => sql<{ user_id: number }>`(
  select user_id, array_agg(app_id) as apps from app_grants where user_id > ${after} group by user_id)`;

const administeredClientsAfter = (actor: Actor, after: number) => sql<{ user_id: number }>`(
  select m.user_id, array_agg(m.client_id order by m.client_id) as clientadmin_of from memberships m
  where m.is_admin and m.user_id > ${after} and ${userClientVisibleTo(actor, sql`m.user_id`, sql`m.client_id`)}
  group by m.user_id)`;
