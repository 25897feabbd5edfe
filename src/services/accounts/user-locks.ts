import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireUserAdmin, type TargetRoles } from '../access/actor.ts';
import { CLIENT_IDS, HELD_ROLE_COLUMNS, ROLE_COLUMNS, userVisibleTo } from '../access/visibility.ts';

/** A locked user, with the roles and clients that determine who may change the user. */
export type LockedUser = { user: User } & TargetRoles;

/**
 * Locks a user whom the actor may change.
 * @param requireMay the rule that the actor must meet
 * @throws Problem `not-found` (also for a user whom the actor may not see), `unauthenticated`, and the problems of `requireMay`
 */
export const lockUser = async (
  tx: Em,
  actor: Actor,
  email: string,
  requireMay: (actor: Actor, user: TargetRoles) => void = requireUserAdmin,
): Promise<LockedUser> => {
  const user = await lockVisibleUser(tx, actor, email);
  // A separate statement: a statement that waits for a lock sees the other tables as they were before it waited.
  const target = await usersWithRoles(tx)
    .where('id', '=', user.id)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));
  requireMay(actor, target);
  return { user, ...target };
};

/**
 * Locks a user whom the actor may see. If the user is a superuser, locks all superusers in the order of their ids, because the last one
 * must not be deactivated.
 * @throws Problem `not-found`, `unauthenticated`
 */
export const lockVisibleUser = async (tx: Em, actor: Actor, email: string): Promise<User> => {
  const { is_superuser } = await kysely(tx)
    .selectFrom('users')
    .select('is_superuser')
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
  // Superusers are locked in a fixed order, including one who became a superuser while this waited for the lock.
  const ordinary = is_superuser ? null : await tx.findOne(User, { email, isSuperuser: false }, lock);
  if (ordinary) return ordinary;
  await lockSuperusers(tx, actor);
  const user = await tx.findOne(User, { email }, lock);
  if (!user) throw notFound('user');
  return user;
};

/**
 * Locks all superusers, ordered by id, before one of them changes.
 *
 * Two superusers may deactivate each other at the same time:
 *
 *     A: lock 1, lock 2 … deactivate 2, commit
 *     B:         (waits for 1) ………………… lock 1, lock 2: sees that 2 is inactive → unauthenticated
 *
 * The fixed order prevents a deadlock; the second transaction sees the outcome of the first.
 * @throws Problem `unauthenticated` if the actor is a superuser who was deactivated while this waited for the lock
 */
export const lockSuperusers = async (tx: Em, actor: Actor | null): Promise<void> => {
  const superusers = await kysely(tx)
    .selectFrom('users')
    .select(['id', 'is_active'])
    .where('is_superuser', '=', true)
    .orderBy('id')
    // Their invitations may be inserted meanwhile.
    .forNoKeyUpdate()
    .execute();
  // A service account is not among them. If it has lost its role, its change is refused before the commit.
  const self = superusers.find(({ id }) => id === actor?.id);
  if (self && !self.is_active) throw new Problem('unauthenticated');
};

/**
 * Locks the admins of a client, because the last one must not be suspended or lose the role. Locks users in the order of their ids, with a
 * member who may be no admin any more: locking that member afterwards could deadlock.
 */
export const lockAdmins = (tx: Em, client: number, memberId: number | null = null) =>
  sql`
    select from users where id in (select user_id from memberships where client_id = ${client} and is_admin)
      or id = ${memberId} order by id for update`.execute(kysely(tx));

/** Requires the lock of all superusers, so that the count is still correct at commit. @throws Problem `last-superuser` */
export const requireAnotherSuperuser = async (tx: Em, { id }: Pick<User, 'id'>): Promise<void> => {
  await kysely(tx)
    .selectFrom('users')
    .select('id')
    .where('is_superuser', '=', true)
    .where('is_active', '=', true)
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirstOrThrow(() => new Problem('last-superuser'));
};

/**
 * Locks a user until the end of the transaction. Returns false if the user is inactive, or if the password was not set at `passwordSet`.
 */
export const lockActiveUser = async (tx: Em, id: number, passwordSet?: Date): Promise<boolean> => {
  const active = kysely(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('is_active', '=', true);
  const unchanged = passwordSet ? active.where('last_password_set', '=', passwordSet) : active;
  return (await unchanged.forUpdate().executeTakeFirst()) !== undefined;
};

/**
 * The roles of a user whom the actor may see. Locks nothing.
 * @throws Problem `not-found`
 */
export const readTarget = (db: Em, actor: Actor, email: string): Promise<TargetRoles> =>
  usersWithRoles(db)
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));

/** Users whom others change, with the roles that they hold and all of their clients. */
export const usersWithRoles = (db: Em) =>
  kysely(db)
    .selectFrom('users')
    .select(['users.id', 'users.email', 'users.was_shared as wasShared'])
    .select([...HELD_ROLE_COLUMNS, CLIENT_IDS]);

/** Users who act, with the roles that count. */
export const actingUsers = (db: Em) =>
  kysely(db).selectFrom('users').select(['users.id', 'users.email']).select(ROLE_COLUMNS);

/**
 * The id of the actor, or of the user with this address, whom the actor must be allowed to change. Locks nothing.
 * @throws Problem `not-found`, `forbidden`
 */
export const readOwnerId = async (db: Em, actor: Actor, email: string | undefined): Promise<number> => {
  if (email === undefined) return actor.id;
  const owner = await readTarget(db, actor, email);
  requireUserAdmin(actor, owner);
  return owner.id;
};

/**
 * The user whose credentials a call concerns, with all clients: the actor, or the locked user with this address, whom the actor must be
 * allowed to change.
 * @throws Problem `not-found`, `forbidden`, `unauthenticated`
 */
export const lockOwner = async (tx: Em, actor: Actor, email: string | undefined) =>
  email === undefined ? { ...actor, clientIds: await clientIdsOf(tx, actor.id) } : lockUser(tx, actor, email);
