import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { Actor } from './actor.ts';

/** The first half of the keys of these advisory locks; the second is the id of a user. */
const ACCESS_OF_USER = 7_305;

/**
 * Keeps the access of a user unchanged until the transaction ends. Read the access after taking it. Both sides take this lock last, after
 * all rows: taken earlier, they could deadlock.
 *
 *     actor:  locks and changes rows … lockAccess (waits) … reads: was deactivated → rolls back
 *     admin:  deactivates the actor, lockAccessChange, commits
 *
 * An advisory lock, because all superusers are locked before other users: locking the actor's row last could deadlock. Only the audit
 * entry may follow, because it waits for no lock.
 */
export const lockAccess = (tx: Em, userId: number) =>
  sql`select pg_advisory_xact_lock_shared(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(kysely(tx));

/**
 * Waits for transactions that rely on the access of a user, before this one commits the end of that access. Call it last, too. If two
 * admins end each other's access at the same time, both first lock the one with the lower id. The second admin then finds that their own
 * access has ended.
 */
export const lockAccessChange = async (tx: Em, userId: number, actor: Pick<Actor, 'id'> | null) => {
  if (actor && actor.id < userId) await lockAccess(tx, actor.id);
  await sql`select pg_advisory_xact_lock(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(kysely(tx));
};
