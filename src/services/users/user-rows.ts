import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import type { User } from '../../../entities/user.ts';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { userClientVisibleTo, userVisibleTo, VIEWS_ALL, type Viewer } from '../access/visibility.ts';

/**
 * All users, ordered by id. `apps` (by age) and `clientadmin_of` hold only what the viewer may see; callers add the
 * condition on the users themselves.
 */
export const userRows = (em: SqlEntityManager, viewer: Viewer) => {
  const isAppVisible = userClientVisibleTo(viewer, sql`users.id`, sql`a.client_id`);
  const isAdminVisible = userClientVisibleTo(viewer, sql`users.id`, sql`m.client_id`);
  return tables(em)
    .selectFrom('users')
    .select(['users.id', 'users.email', 'users.handle', 'users.first_name', 'users.last_name', 'users.extra'])
    .select(['users.is_active', 'users.is_demo_user', 'users.profile_color', 'users.profile_avatar'])
    .select(['users.last_login', 'users.date_joined', 'users.last_activated', 'users.last_deactivated'])
    .select('users.last_password_set')
    .select([
      sql<string[]>`array(select a.id from app_grants g join apps a on a.id = g.app_id
        where g.user_id = users.id and ${isAppVisible} order by a.created_at, a.id)`.as('apps'),
      sql<number[]>`array(select m.client_id from memberships m
        where m.user_id = users.id and m.is_admin and ${isAdminVisible} order by m.client_id)`.as(
        'clientadmin_of',
      ),
    ])
    .orderBy('users.id');
};

export type UserRow = InferResult<ReturnType<typeof userRows>>[number];

/** The row of a user whom a change has loaded or created, so that it is not read again. */
export const rowOfUser = (user: User, seen: Pick<UserRow, 'apps' | 'clientadmin_of'>): UserRow => ({
  id: user.id,
  email: user.email,
  handle: user.handle,
  first_name: user.firstName,
  last_name: user.lastName,
  extra: user.extra,
  is_active: user.isActive,
  is_demo_user: user.isDemoUser,
  profile_color: user.profileColor,
  profile_avatar: user.profileAvatar ?? null,
  last_login: user.lastLogin ?? null,
  date_joined: user.dateJoined,
  last_activated: user.lastActivated ?? null,
  last_deactivated: user.lastDeactivated ?? null,
  last_password_set: user.lastPasswordSet,
  ...seen,
});

/** @throws Problem `not-found`, also for a user the viewer may not see */
export const readUser = async (em: SqlEntityManager, viewer: Viewer, email: string): Promise<UserRow> => {
  const [row] = await visibleUsers(em, viewer, [email]).execute();
  return requireUser(row);
};

/** @throws Problem `not-found` */
export const requireUser = (row: UserRow | undefined): UserRow => {
  if (!row) throw notFound('user');
  return row;
};

/** Query for the user of this address, if the viewer may see them. */
export const visibleUser = (em: SqlEntityManager, viewer: Viewer, email: string) =>
  visibleUsers(em, viewer, [email]);

/** Query for the users of these addresses, as a viewer of everything sees them. */
export const anyUsers = (em: SqlEntityManager, emails: readonly string[]) =>
  visibleUsers(em, VIEWS_ALL, emails);

const visibleUsers = (em: SqlEntityManager, viewer: Viewer, emails: readonly string[]) =>
  userRows(em, viewer)
    .where(sql<boolean>`users.email = any(${emails}::varchar[])`)
    .where(userVisibleTo(viewer));
