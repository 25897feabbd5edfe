import { sql } from 'kysely';
import { clientIdsOf, type Db, tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { lockUser } from '../users/user-locks.ts';

/** Whose credentials a call concerns, with the clients whose admins may read its audit entry. */
export type Owner = { id: number; email: string; clientIds: number[] };

/**
 * The id of the actor, or of the user with this address, whom the actor must be allowed to change. Locks nothing.
 * @throws Problem `not-found`, `forbidden`
 */
export const readOwnerId = async (db: Db, actor: Actor, email: string | undefined): Promise<number> => {
  if (email === undefined) return actor.id;
  const { id, isSuperuser, isStaff, clientIds, adminOf } = await tables(db)
    .selectFrom('users')
    .select(['id', 'is_superuser as isSuperuser', 'is_staff as isStaff'])
    .select([
      sql<number[]>`array(select m.client_id from memberships m where m.user_id = users.id)`.as('clientIds'),
      sql<
        number[]
      >`array(select m.client_id from memberships m where m.user_id = users.id and m.is_admin)`.as('adminOf'),
    ])
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));
  requireUserAdmin(actor, { isSuperuser, isStaff, clientIds, adminOf });
  return id;
};

/**
 * The actor, or the locked user with this address, whom the actor must be allowed to change.
 * @throws Problem `not-found`, `forbidden`, `unauthenticated`
 */
export const lockOwner = async (tx: Db, actor: Actor, email: string | undefined): Promise<Owner> => {
  if (email === undefined)
    return { id: actor.id, email: actor.email, clientIds: await clientIdsOf(tx, actor.id) };
  const { user, clientIds } = await lockUser(tx, actor, email);
  return { id: user.id, email: user.email, clientIds };
};
