import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';

/** The first half of the keys of these advisory locks; the second is the id of a user. */
const ACCESS_OF_USER = 7_305;

/**
 * Keeps the access of a user as it is until the transaction ends. Both sides lock it last, after all rows: otherwise each could hold
 * what the other waits for. Read the access afterwards.
 *
 *     actor:  locks and changes rows … lockAccess (waits) … reads: was deactivated → rolls back
 *     admin:  deactivates the actor, lockAccessChange, commits
 *
 * An advisory lock, because all superusers are locked before other users: a lock of the actor's row, taken last, could deadlock.
 */
export const lockAccess = (tx: Db, userId: number) =>
  sql`select pg_advisory_xact_lock_shared(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(tables(tx));

/** Waits for transactions that rely on the access of a user, before this one commits and takes it away. Call it last, too. */
export const lockAccessChange = (tx: Db, userId: number) =>
  sql`select pg_advisory_xact_lock(${ACCESS_OF_USER}::int, ${userId}::int)`.execute(tables(tx));
