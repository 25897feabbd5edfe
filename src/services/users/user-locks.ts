import { LockMode, type SqlEntityManager } from '@mikro-orm/postgresql';
import { User } from '../../../entities/user.ts';
import { tables } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { lockAccessChange } from '../access/access-locks.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { revokeCredentials } from '../auth/credentials.ts';

/** A locked user, with the clients that decide who may change them. */
export type LockedUser = { user: User; clientIds: number[]; adminOf: number[] };

/**
 * Locks a user whom the actor may change.
 * @throws Problem `not-found` (also for a user the actor may not see), `forbidden`, `shared-user`, `unauthenticated`
 */
export const lockUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<LockedUser> => {
  const id = await lockVisibleUser(tx, actor, email);
  const user = await tx.findOneOrFail(User, id, { lockMode: LockMode.PESSIMISTIC_WRITE });

  const memberships = await tables(tx)
    .selectFrom('memberships')
    .select(['client_id', 'is_admin'])
    .where('user_id', '=', user.id)
    .execute();
  const locked = {
    user,
    clientIds: memberships.map((row) => row.client_id),
    adminOf: memberships.filter((row) => row.is_admin).map((row) => row.client_id),
  };
  const { email: address, isSuperuser, isStaff } = user;
  requireUserAdmin(actor, { id, email: address, isSuperuser, isStaff, ...locked });
  return locked;
};

/**
 * Locks a user whom the actor may see, and returns their id. Anything read before may be out of date.
 * @throws Problem `not-found`, `unauthenticated`
 */
export const lockVisibleUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  // Superusers are locked in a fixed order.
  const locked = await tables(tx)
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where('is_superuser', '=', false)
    .where(userVisibleTo(actor))
    .forUpdate()
    .executeTakeFirst();
  return locked ? locked.id : lockSuperuser(tx, actor, email);
};

/**
 * Locks a user who may be a superuser: all superusers are locked first, ordered by id.
 *
 * Two superusers may deactivate each other at the same time:
 *
 *     A: lock 1, lock 2 … deactivate 2, commit
 *     B:         (waits for 1) ………………… lock 1, lock 2: sees that 2 is inactive → unauthenticated
 *
 * The fixed order prevents a deadlock; the second transaction sees the outcome of the first.
 * @throws Problem `not-found`, `unauthenticated`
 */
const lockSuperuser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  const user = await tables(tx)
    .selectFrom('users')
    .select(['id', 'is_superuser'])
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));
  if (user.is_superuser) await lockSuperusers(tx, actor);
  await tables(tx).selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute();
  return user.id;
};

/**
 * Locks a user until the end of the transaction. Returns false if they are inactive, or their password was set at another
 * time than `passwordSet`.
 */
export const lockActiveUser = async (
  tx: SqlEntityManager,
  id: number,
  passwordSet?: Date,
): Promise<boolean> => {
  const active = tables(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('is_active', '=', true);
  const unchanged = passwordSet ? active.where('last_password_set', '=', passwordSet) : active;
  return (await unchanged.forUpdate().executeTakeFirst()) !== undefined;
};

/** @throws Problem `unauthenticated` if the actor is a superuser who was deactivated while this waited for the lock */
export const lockSuperusers = async (tx: SqlEntityManager, actor: Actor): Promise<void> => {
  const superusers = await tables(tx)
    .selectFrom('users')
    .select(['id', 'is_active'])
    .where('is_superuser', '=', true)
    .orderBy('id')
    .forUpdate()
    .execute();
  const self = superusers.find(({ id }) => id === actor.id);
  if (actor.isSuperuser && !self?.is_active) throw new Problem('unauthenticated');
};

/**
 * Deactivates a user and revokes their tokens, sessions and password links. Returns false if they were inactive
 * already, and then keeps the first date.
 * @throws Problem `self-modification`, `last-superuser`
 */
export const deactivateUser = async (tx: SqlEntityManager, actor: Actor, { user }: LockedUser, now: Date) => {
  if (user.id === actor.id) throw new Problem('self-modification');
  if (user.isSuperuser && user.isActive) await requireAnotherSuperuser(tx, user);
  const wasActive = user.isActive;
  user.deactivate(now);
  await revokeCredentials(tx, user.id);
  await lockAccessChange(tx, user.id);
  return wasActive;
};

/** Requires the lock of all superusers, so that the count is still correct at commit. */
export const requireAnotherSuperuser = async (tx: SqlEntityManager, user: User): Promise<void> => {
  await tables(tx)
    .selectFrom('users')
    .select('id')
    .where('is_superuser', '=', true)
    .where('is_active', '=', true)
    .where('id', '<>', user.id)
    .limit(1)
    .executeTakeFirstOrThrow(() => new Problem('last-superuser'));
};
