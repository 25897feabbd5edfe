import { expressionBuilder, type InferResult, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Membership } from '../../../entities/client.ts';
import type { Database } from '../../../entities/index.ts';
import type { User } from '../../../entities/user.ts';
import { compileOnce, type Read } from '../../db/batched-reads.ts';
import { arrayOf, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, canViewAll, seesAccounts } from '../access/actor.ts';
import {
  appAccess,
  CLIENTS_OF_USER,
  clientManagedBy,
  userClientVisibleTo,
  userVisibleTo,
  VIEWS_ALL,
  type Viewer,
} from '../access/visibility.ts';

/** The columns of a user that people who see the user may see, besides `membershipColumns`. */
const USER_COLUMNS = [
  ...(['email', 'handle', 'first_name', 'last_name', 'profile_color', 'profile_avatar'] as const),
  ...(['last_login', 'date_joined'] as const),
] as const;

type Users = Selectable<Database['users']>;

/** SQL: the values that a user's memberships in the viewer's clients set; an active membership comes first. For a lateral join. */
const ownMemberships = (viewer: Viewer) => sql`
  (select bool_or(m.is_active_member) as is_active, max(m.ended_at) as ended_at, min(coalesce(m.joined_at, '-infinity')) as since,
      (array_agg(m.extra order by m.is_active_member desc, m.client_id) filter (where m.extra is not null))[1] as extra,
      (array_agg(m.is_demo_user order by m.is_active_member desc, m.client_id)
        filter (where m.is_demo_user is not null))[1] as is_demo_user
    from memberships m
    where m.user_id = users.id and users.id <> ${viewer.id} and ${clientManagedBy(viewer, sql`m.client_id`)})`;

/** SQL: the name of a row of `users`, or of this alias. */
export const fullName = (users: string) =>
  sql<string>`trim(${sql.ref(`${users}.first_name`)} || ' ' || ${sql.ref(`${users}.last_name`)})`;

/**
 * SQL: the columns of `users` that memberships override, joined as `own`. Client admins see what counts in their clients; all others, and
 * users of themselves, see the account.
 */
export const membershipColumns = (viewer: Viewer) => {
  const seesAccount = seesAccounts(viewer);
  /** @param inClients what counts in the clients of an admin */
  const seen = <Name extends string & keyof Users>(
    column: Name,
    inClients: RawBuilder<unknown>,
  ): RawBuilder<Users[Name]> => (seesAccount ? sql.ref(`users.${column}`) : sql`${inClients}`);
  const overridden = (column: string) =>
    sql`coalesce(${sql.ref(`own.${column}`)}, ${sql.ref(`users.${column}`)})`;
  // What other clients have done with the account before is not for admins of these.
  const sinceJoined = (column: string) =>
    sql`case when (${sql.ref(`users.${column}`)} < own.since) is not true then ${sql.ref(`users.${column}`)} end`;
  return {
    extra: seen('extra', overridden('extra')),
    is_demo_user: seen('is_demo_user', overridden('is_demo_user')),
    is_active: seen('is_active', sql`(users.is_active and coalesce(own.is_active, true))`),
    last_activated: seen('last_activated', sinceJoined('last_activated')),
    // When they joined, if it is older.
    last_password_set: seen('last_password_set', sql`greatest(users.last_password_set, own.since)`),
    last_deactivated: seen(
      'last_deactivated',
      sql`greatest(${sinceJoined('last_deactivated')}, own.ended_at)`,
    ),
  };
};

/** The apps of a row of `users`, by age, as far as the viewer may see them. */
export const appsSeenBy = (viewer: Viewer, now: Date) =>
  expressionBuilder<Database, 'users'>()
    .selectFrom(appAccess(now).as('g'))
    .innerJoin('apps as a', 'a.id', 'g.app_id')
    .whereRef('g.user_id', '=', 'users.id')
    .where(userClientVisibleTo(viewer, sql`users.id`, sql`a.client_id`))
    .orderBy('a.created_at')
    .orderBy('a.id');

/** The ids of the clients that a row of `users` administers, as far as the viewer may see them. */
export const clientsAdministered = (viewer: Viewer) =>
  arrayOf(
    CLIENTS_OF_USER.where(({ ref }) => ref('m.is_admin')).where(
      userClientVisibleTo(viewer, sql`users.id`, sql`m.client_id`),
    ),
  );

/**
 * All users, ordered by id. `apps` (by age) and `clientadmin_of` hold only what the viewer may see; callers add the
 * condition on the users themselves.
 */
export const userRows = (em: Em, viewer: Viewer, now: Date) => {
  const own = membershipColumns(viewer);
  const { extra, is_active, is_demo_user, last_activated, last_deactivated, last_password_set } = own;
  return kysely(em)
    .selectFrom('users')
    .$if(!seesAccounts(viewer), (users) =>
      users.leftJoinLateral(ownMemberships(viewer).as('own'), (join) => join.onTrue()),
    )
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

/**
 * The row of a user whom a change has loaded or created, so that it is not read again.
 * @param memberships by client, those that the viewer sees instead of the account: as `membershipColumns`
 */
export const rowOfUser = (
  user: User,
  seen: Pick<UserDetail, 'apps' | 'clientadmin_of'>,
  memberships: readonly Membership[] = [],
): UserDetail => ({
  id: user.id,
  email: user.email,
  handle: user.handle,
  first_name: user.firstName,
  last_name: user.lastName,
  profile_color: user.profileColor,
  profile_avatar: user.profileAvatar ?? null,
  last_login: user.lastLogin ?? null,
  date_joined: user.dateJoined,
  last_password_set: user.lastPasswordSet,
  ...overriddenBy(memberships, user),
  ...seen,
});

const overriddenBy = (memberships: readonly Membership[], user: User) => {
  const activeFirst = memberships.toSorted((a, b) => Number(b.isActive) - Number(a.isActive));
  const joined = memberships.map(({ joinedAt }) => joinedAt?.getTime() ?? -Infinity);
  const sinceJoined = (time: Date | null | undefined) =>
    time && (memberships.length === 0 || time.getTime() >= Math.min(...joined)) ? time : null;
  const ended = [sinceJoined(user.lastDeactivated), ...memberships.map(({ endedAt }) => endedAt)].filter(
    (time) => !!time,
  );
  return {
    extra: activeFirst.find(({ extra }) => extra)?.extra ?? user.extra,
    is_demo_user: activeFirst.find(({ isDemoUser }) => isDemoUser !== null)?.isDemoUser ?? user.isDemoUser,
    is_active: user.isActive && (memberships.length === 0 || memberships.some(({ isActive }) => isActive)),
    last_activated: sinceJoined(user.lastActivated),
    last_deactivated: ended.toSorted((a, b) => b.getTime() - a.getTime())[0] ?? null,
  };
};

/** @throws Problem `not-found`, also for a user the viewer may not see */
export const readUser = async (em: Em, viewer: Viewer, now: Date, email: string): Promise<UserDetail> =>
  requireUser(await visibleUsers(em, viewer, now, [email]).executeTakeFirst());

/** Reads a user as a viewer of everything. Batches lookups per tick, like DataLoader. */
type LoadAnyUser = (email: string) => Promise<UserDetail | undefined>;

export const createAnyUserLoader = (em: Em, read: Read, clock: Clock): LoadAnyUser => {
  const users = compileOnce(visibleUsers(em, VIEWS_ALL, clock.now(), []));
  return createBatchLoader(
    async (emails: readonly string[]) =>
      new Map((await read(users(clock.now(), emails))).map((row) => [row.email, row])),
  );
};

type Deps = { em: Em; read: Read; clock: Clock; loadAnyUser: LoadAnyUser };

/**
 * As `readUser`, but lookups of one event-loop tick share a statement.
 * @throws Problem `not-found`, also for a user the actor may not see
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

/** Users as their detail shows them, and their export. A column that lists do not have is selected here. */
export const visibleUsers = (em: Em, viewer: Viewer, now: Date, emails: readonly string[]) =>
  userRows(em, viewer, now)
    .where(isAnyOf('users.email', emails, 'varchar'))
    .where(userVisibleTo(viewer));

/** A user who is read alone. */
export type UserDetail = InferResult<ReturnType<typeof visibleUsers>>[number];
