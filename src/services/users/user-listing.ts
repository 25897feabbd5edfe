import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Actor } from '../access/actor.ts';
import { isNotErased, userVisibleTo } from '../access/visibility.ts';
import { requireViewableAppId } from '../apps/app-rows.ts';
import { readClient } from '../clients/clients.ts';
import { type UserFilter, usersMatching } from './user-filter.ts';

/** All visible users, those with a grant of an app (its slug), or the members of a client. */
export type Listing = UserFilter & { app?: string | undefined };

type Users = Awaited<ReturnType<typeof usersMatching>>;

/** `key`: the table whose `user_id` orders the list. */
type Listed = { users: Users; key: 'users' | 'app_grants' | 'memberships' };

/** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor` */
export const findUsers = async (
  em: SqlEntityManager,
  actor: Actor,
  filter: Listing,
  now: Date,
): Promise<Listed> => {
  const { app, client } = filter;
  if (client !== undefined) await readClient(em, actor, client);
  const appId = app === undefined ? undefined : await requireViewableAppId(em, actor, app);
  const users = await usersMatching(em, actor, filter, now);
  if (client !== undefined) {
    const members = users
      .innerJoin('memberships', 'memberships.user_id', 'users.id')
      .where('memberships.client_id', '=', client)
      .where(isNotErased);
    const isGranted = sql<boolean>`exists (select from app_grants g
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
