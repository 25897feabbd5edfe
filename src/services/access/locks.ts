import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from './actor.ts';

/** The first half of the keys of these advisory locks; the second is the id of a user. */
const ACCESS_OF_USER = 7_305;

/**
 * Keeps the access of a user as it is until the transaction ends. Both sides take this lock last, after all rows: taken earlier, they
 * could deadlock. Read the access afterwards.
 *
 *     actor:  locks and changes rows … lockAccess (waits) … reads: was deactivated → rolls back
 *     admin:  deactivates the actor, lockAccessChange, commits
 *
 * An advisory lock, because all superusers are locked before other users: a lock of the actor's row, taken last, could deadlock.
 * Only the audit entry may follow it, which waits for no lock.
 */
export const lockAccess = (tx: Em, userId: number) =>
  sql`select pg_advisory_xact_lock_shared(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(kysely(tx));

/**
 * Waits for transactions that rely on the access of a user, before this one commits and takes it away. Call it last, too. Two
 * admins may end each other's access at the same time: both lock the access of the one with the lower id first, and the second of
 * them then finds that they have lost their own.
 */
export const lockAccessChange = async (tx: Em, userId: number, actor: Pick<Actor, 'id'> | null) => {
  if (actor && actor.id < userId) await lockAccess(tx, actor.id);
  await sql`select pg_advisory_xact_lock(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(kysely(tx));
};
