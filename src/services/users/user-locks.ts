import { LockMode, type SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { tables } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import { preparedForViewer } from '../access/viewer-query.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { revokeCredentials } from '../auth/credentials.ts';

/** A user locked for change, and the clients that say who may change it. */
export type LockedUser = { user: User; clientIds: number[]; adminOf: number[] };

/**
 * Locks a user that the actor may change.
 * @throws Problem `not-found` (also for one the actor may not see), `forbidden`, `unauthenticated`
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
  requireUserAdmin(actor, { isSuperuser: user.isSuperuser, isStaff: user.isStaff, ...locked });
  return locked;
};

/**
 * Locks a user that the actor may see, and answers their id. What was read before it waited may be out of date.
 * @throws Problem `not-found`, `unauthenticated`
 */
export const lockVisibleUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  const [locked] = await LOCK_ORDINARY.run(tx, actor, { email });
  return locked ? locked.id : lockSuperuser(tx, actor, email);
};

/** Locks a user that the actor may see, and answers their id; nobody, where that is a superuser. */
export const ordinaryUserLock = (em: SqlEntityManager, actor: Actor, email: string) =>
  LOCK_ORDINARY.bound(em, actor, { email });

/** Matches no superuser: those are locked in a fixed order, by `lockSuperuser`. */
const LOCK_ORDINARY = preparedForViewer((db, viewer, { email }: { email: string }) =>
  db
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where('is_superuser', '=', false)
    .where(userVisibleTo(viewer))
    .forUpdate(),
);

/**
 * Of superusers all are locked first, always in the order of their ids. Two who deactivate each other take keyedMutex,
 * neither waits for the other for ever, and whoever comes second sees what the first has done.
 * @throws Problem `not-found`, `unauthenticated`
 */
const lockSuperuser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  const seen = await tables(tx)
    .selectFrom('users')
    .select(['id', 'is_superuser'])
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirst();
  if (!seen) throw notFound('user');
  if (seen.is_superuser) await lockSuperusers(tx, actor);
  await tables(tx).selectFrom('users').select('id').where('id', '=', seen.id).forUpdate().execute();
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

/** @throws Problem `unauthenticated` when the actor was one, and was ended while this waited for the lock */
const lockSuperusers = async (tx: SqlEntityManager, actor: Actor): Promise<void> => {
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
 * Ends a user's access: no login, no token, no session, no link in a mail. Repeating it keeps the first
 * date, and answers false.
 * @throws Problem `self-modification`, `last-superuser`
 */
export const deactivateUser = async (
  tx: SqlEntityManager,
  actor: Actor,
  { user }: LockedUser,
  now: Date,
): Promise<boolean> => {
  if (user.id === actor.id) throw new Problem('self-modification');
  if (user.isSuperuser && user.isActive) await refuseLastSuperuser(tx, user);
  const isEnded = user.isActive;
  user.deactivate(now);
  await revokeCredentials(tx, user.id);
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
