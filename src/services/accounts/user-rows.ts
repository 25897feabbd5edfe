import { expressionBuilder, type InferResult, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import type { Read } from '../../db/batched-reads.ts';
import { arrayOf, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, canViewAll, seesAccounts } from '../access/actor.ts';
import { CLIENT_ADMIN } from '../access/permissions.ts';
import {
  appAccess,
  CLIENTS_OF_USER,
  hasRole,
  isAllowedIn,
  userClientVisibleTo,
  userVisibleTo,
  type Viewer,
} from '../access/visibility.ts';

/** The columns of a user that everyone who may see the user may see. `membershipColumns` adds more. */
const USER_COLUMNS = [
  ...(['email', 'handle', 'first_name', 'last_name', 'profile_color', 'profile_avatar'] as const),
  ...(['last_login', 'date_joined'] as const),
] as const;

type Users = Selectable<Database['users']>;

/**
 * SQL: the order of the memberships `m` of a user: first in clients that the viewer administers, then active ones, then by age of the
 * client.
 */
export const membershipOrder = (viewer: Viewer) =>
  sql`not ${isAllowedIn(sql`m.client_id`, viewer, 'manage-people')}, not m.is_active_member, m.client_id`;

/** SQL: the fields of a membership that `membershipColumns` reads. Viewers who see the account need only the data. */
export const membershipFields = (viewer: Viewer, membership: RawBuilder<unknown>) => {
  const data = ['extra', 'is_demo_user'];
  const state = ['is_active_member', 'reactivated_at', 'ended_at', 'joined_at'];
  const fields = seesAccounts(viewer) ? data : [...data, ...state];
  return sql.join(fields.map((field) => sql`${membership}.${sql.ref(field)}`));
};

/**
 * SQL: the membership of a user that the viewer sees, or null. For a lateral join. As an aggregate it has exactly one row, so PostgreSQL
 * drops the join if it is not used.
 */
const seenMembership = (viewer: Viewer) => sql`
  (select ${membershipFields(viewer, sql`(seen.m)`)} from (
    select (array_agg(m order by ${membershipOrder(viewer)}))[1] as m
    from memberships m
    where m.user_id = users.id and ${userClientVisibleTo(viewer, sql`users.id`, sql`m.client_id`)}) seen)`;

/** SQL: the name of a row of `users`, or of this alias. */
export const fullName = (users: string) =>
  sql<string>`trim(${sql.ref(`${users}.first_name`)} || ' ' || ${sql.ref(`${users}.last_name`)})`;

/**
 * SQL: the columns of `users` that depend on the membership joined as `own`. Client admins see the state and times of the membership,
 * because they must not see these values of a shared account. All other viewers see the values of the account.
 */
export const membershipColumns = (viewer: Viewer) => {
  const seesAccount = seesAccounts(viewer);
  const seen = <Name extends string & keyof Users>(
    column: Name,
    inClient: (account: RawBuilder<unknown>) => RawBuilder<unknown>,
  ): RawBuilder<Users[Name]> => {
    const account = sql<Users[Name]>`${sql.ref(`users.${column}`)}`;
    const known = sql`case when not users.was_shared or users.id = ${viewer.id} then ${account} end`;
    return seesAccount ? account : sql`${inClient(known)}`;
  };
  return {
    extra: sql<Users['extra']>`coalesce(own.extra, users.extra)`,
    is_demo_user: sql<boolean>`coalesce(own.is_demo_user, users.is_demo_user)`,
    is_active: seen('is_active', () => sql`(users.is_active and coalesce(own.is_active_member, true))`),
    last_activated: seen('last_activated', (known) => sql`greatest(${known}, own.reactivated_at)`),
    last_deactivated: seen('last_deactivated', (known) => sql`greatest(${known}, own.ended_at)`),
    last_password_set: seen(
      'last_password_set',
      (known) => sql`coalesce(${known}, own.joined_at, users.date_joined)`,
    ),
  };
};

/** The apps of a row of `users` that the viewer may see, by age. */
export const appsSeenBy = (viewer: Viewer, now: Date) =>
  expressionBuilder<Database, 'users'>()
    .selectFrom(appAccess(now).as('g'))
    .innerJoin('apps as a', 'a.id', 'g.app_id')
    .whereRef('g.user_id', '=', 'users.id')
    .where(userClientVisibleTo(viewer, sql`users.id`, sql`a.client_id`))
    .orderBy('a.created_at')
    .orderBy('a.id');

/** The ids of the clients that a row of `users` administers and the viewer may see, without those that suspend them. */
export const clientsAdministered = (viewer: Viewer) =>
  arrayOf(
    CLIENTS_OF_USER.where(hasRole(CLIENT_ADMIN, 'm')).where(
      userClientVisibleTo(viewer, sql`users.id`, sql`m.client_id`),
    ),
  );

/**
 * All users, ordered by id. `apps` (by age) and `clientadmin_of` contain only what the viewer may see; callers add the condition on the
 * users themselves.
 */
export const userRows = (em: Em, viewer: Viewer, now: Date) => {
  const own = membershipColumns(viewer);
  const { extra, is_active, is_demo_user, last_activated, last_deactivated, last_password_set } = own;
  return kysely(em)
    .selectFrom('users')
    .leftJoinLateral(seenMembership(viewer).as('own'), (join) => join.onTrue())
    .select('users.id')
    .select(USER_COLUMNS.map((column) => `users.${column}` as const))
    .select([extra.as('extra'), is_active.as('is_active'), is_demo_user.as('is_demo_user')])
    .select([last_activated.as('last_activated'), last_deactivated.as('last_deactivated')])
    .select(last_password_set.as('last_password_set'))
    .select([
      arrayOf(appsSeenBy(viewer, now).select('a.id')).as('apps'),
      clientsAdministered(viewer).as('clientadmin_of'),
    ])
    .orderBy('users.id');
};

export type UserRow = InferResult<ReturnType<typeof userRows>>[number];

/** @throws Problem `not-found`, also for a user whom the viewer may not see */
export const readUser = async (em: Em, viewer: Viewer, now: Date, email: string): Promise<UserDetail> =>
  requireUser(await visibleUsers(em, viewer, now, [email]).executeTakeFirst());

/** Reads a user as a viewer of everything. */
export type LoadAnyUser = (email: string) => Promise<UserDetail | undefined>;

type Deps = { em: Em; read: Read; clock: Clock; loadAnyUser: LoadAnyUser };

/**
 * Like `readUser`, but lookups of one event-loop tick share a statement.
 * @throws Problem `not-found`, also for a user whom the actor may not see
 */
export const loadUser = async ({ em, read, clock, loadAnyUser }: Deps, actor: Actor, email: string) => {
  // A transaction must see its own uncommitted changes.
  if (em.isInTransaction()) return readUser(em, actor, clock.now(), email);
  if (canViewAll(actor) && seesAccounts(actor)) return requireUser(await loadAnyUser(email));
  return requireUser((await read(visibleUsers(em, actor, clock.now(), [email])))[0]);
};

const requireUser = (row: UserDetail | undefined): UserDetail => {
  if (!row) throw notFound('user');
  return row;
};

/** Users with the columns of their detail page. Select a column here if lists do not have it. */
export const visibleUsers = (em: Em, viewer: Viewer, now: Date, emails: readonly string[]) =>
  userRows(em, viewer, now)
    .where(isAnyOf('users.email', emails, 'varchar'))
    .where(userVisibleTo(viewer));

/** A user who is read alone, not in a list. */
export type UserDetail = InferResult<ReturnType<typeof visibleUsers>>[number];
