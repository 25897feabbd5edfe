import { LockMode, type SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { prepared } from '../../db/compiled-query.ts';
import { tables } from '../../db/kysely.ts';
import { notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, administersClient, canViewAll } from '../access/actor.ts';
import { endCredentials } from '../auth/credentials.ts';
import { isSeenUser } from './user-rows.ts';

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
  requireChangeable(actor, { isSuperuser: user.isSuperuser, isStaff: user.isStaff, ...locked });
  return locked;
};

/**
 * Locks a user that the actor may see, and answers their id. What was read before it waited may be out of date.
 * @throws Problem `not-found`, `unauthenticated`
 */
export const lockVisibleUser = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<number> => {
  const { id, adminOf } = actor;
  const [locked] = await lockFor(actor)(tx, { id, adminOf, email });
  return locked ? locked.id : lockSuperuser(tx, actor, email);
};

/** Locks a user that the actor may see, and answers their id; nobody, where that is a superuser. */
export const ordinaryLock = (em: SqlEntityManager, actor: Actor, email: string) =>
  lockFor(actor).bound(em, { id: actor.id, adminOf: actor.adminOf, email });

type Sought = Pick<Actor, 'id' | 'adminOf'> & { email: string };

/** One who is no superuser: those have an order in which they are locked. */
const lockOrdinary = (isStaff: boolean) =>
  prepared((db, { id, adminOf, email }: Sought) =>
    db
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .where('is_superuser', '=', false)
      .where(isSeenUser({ id, adminOf, isStaff, isSuperuser: false, email: '', credential: null }))
      .forUpdate(),
  );

const LOCK_ANY = lockOrdinary(true);
const LOCK_OF_OFFICE = lockOrdinary(false);
const lockFor = (actor: Actor) => (canViewAll(actor) ? LOCK_ANY : LOCK_OF_OFFICE);

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
    .where(isSeenUser(actor))
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

/** What says who may change a user. */
export type TargetRoles = { isSuperuser: boolean; isStaff: boolean; clientIds: number[]; adminOf: number[] };

/**
 * Nobody ends or alters the access of somebody who holds an office that they do not hold themselves.
 * @throws Problem `forbidden`
 */
export const requireChangeable = (
  actor: Actor,
  { isSuperuser, isStaff, clientIds, adminOf }: TargetRoles,
): void => {
  if (actor.isSuperuser) return;
  if (isSuperuser || isStaff) throw roleRequired('superuser, as this user is a superuser or staff');
  const administersAny = clientIds.some((id) => administersClient(actor, id));
  if (!administersAny) throw roleRequired('client admin of a client of this user, or superuser');
  if (!adminOf.every((id) => administersClient(actor, id)))
    throw roleRequired('superuser, as this user administers other clients too');
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
export const endAccess = async (
  tx: SqlEntityManager,
  actor: Actor,
  { user }: LockedUser,
  now: Date,
): Promise<boolean> => {
  if (user.id === actor.id) throw new Problem('self-modification');
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
