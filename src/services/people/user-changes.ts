import { LockMode, type SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { notFound, Problem } from '../../core/problems.ts';
import { type Actor, changesClient } from '../actor.ts';
import { endCredentials } from '../logins/credentials.ts';
import { tables } from '../tables.ts';
import { isSeenUser } from './user-rows.ts';

/** A user locked for change, and the clients that say who may change it. */
export type LockedUser = { user: User; clientIds: number[]; adminOf: number[] };

/**
 * Locks a user that the actor may change.
 * @throws Problem `not-found` (also for one the actor may not see), `not-allowed`, `not-signed-in`
 */
export const lockUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<LockedUser> => {
  const id = await approachUser(tx, actor, email);
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
  if (!mayChangeUser(actor, locked)) throw new Problem('not-allowed');
  return locked;
};

/**
 * Locks a user that the actor may see, for whoever is to look at them before they are changed.
 * @throws Problem `not-found`, `not-signed-in`
 */
export const lockSeenUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<void> => {
  const id = await approachUser(tx, actor, email);
  await tables(tx).selectFrom('users').select('id').where('id', '=', id).forUpdate().execute();
};

/**
 * What has to be locked before a user: of superusers all, always in the order of their ids. Two who deactivate each
 * other take turns, neither waits for the other for ever, and whoever comes second sees what the first has done.
 * @throws Problem `not-found`, `not-signed-in`
 */
const approachUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  const seen = await tables(tx)
    .selectFrom('users')
    .select(['id', 'is_superuser'])
    .where('email', '=', email)
    .where(isSeenUser(actor))
    .executeTakeFirst();
  if (!seen) throw notFound('user');
  if (seen.is_superuser) await lockSuperusers(tx, actor);
  return seen.id;
};

/** Locks a user by id until the end of the transaction. False when they have been deactivated. */
export const lockActiveUser = async (tx: SqlEntityManager, id: number): Promise<boolean> => {
  const locked = await tables(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('is_active', '=', true)
    .forUpdate()
    .executeTakeFirst();
  return locked !== undefined;
};

/** Nobody ends or alters the access of somebody who holds an office that they do not hold themselves. */
const mayChangeUser = (actor: Actor, { user, clientIds, adminOf }: LockedUser): boolean => {
  if (actor.isSuperuser) return true;
  if (user.isSuperuser || user.isStaff) return false;
  return clientIds.some((id) => changesClient(actor, id)) && adminOf.every((id) => changesClient(actor, id));
};

/** @throws Problem `not-signed-in` when the actor was one, and was ended while this waited for the lock */
const lockSuperusers = async (tx: SqlEntityManager, actor: Actor): Promise<void> => {
  const superusers = await tables(tx)
    .selectFrom('users')
    .select(['id', 'is_active'])
    .where('is_superuser', '=', true)
    .orderBy('id')
    .forUpdate()
    .execute();
  const self = superusers.find(({ id }) => id === actor.id);
  if (actor.isSuperuser && !self?.is_active) throw new Problem('not-signed-in');
};

/**
 * Ends a user's access: no login, no token, no session, no link in a mail. Repeating it keeps the first
 * date, and answers false.
 * @throws Problem `not-yourself`, `last-superuser`
 */
export const endAccess = async (
  tx: SqlEntityManager,
  actor: Actor,
  { user }: LockedUser,
  now: Date,
): Promise<boolean> => {
  if (user.id === actor.id) throw new Problem('not-yourself');
  if (user.isSuperuser && user.isActive) await refuseLastSuperuser(tx, user);
  const isEnded = user.isActive;
  user.deactivate(now);
  await endCredentials(tx, user.id);
  return isEnded;
};

/** Only under the lock of all superusers is the count still true at commit. */
export const refuseLastSuperuser = async (tx: SqlEntityManager, user: User): Promise<void> => {
  const { others } = await tables(tx)
    .selectFrom('users')
    .select(sql<number>`count(*)`.as('others'))
    .where('is_superuser', '=', true)
    .where('is_active', '=', true)
    .where('id', '<>', user.id)
    .executeTakeFirstOrThrow();
  if (others === 0) throw new Problem('last-superuser');
};
