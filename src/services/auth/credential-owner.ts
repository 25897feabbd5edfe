import { clientIdsOf, type Em } from '../../db/kysely.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import { lockUser, readTarget } from '../users/user-locks.ts';

/** Whose credentials a call concerns, with the clients whose admins may read its audit entry. */
type Owner = { id: number; email: string; clientIds: number[] };

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
 * The actor, or the locked user with this address, whom the actor must be allowed to change.
 * @throws Problem `not-found`, `forbidden`, `unauthenticated`
 */
export const lockOwner = async (tx: Em, actor: Actor, email: string | undefined): Promise<Owner> => {
  if (email === undefined)
    return { id: actor.id, email: actor.email, clientIds: await clientIdsOf(tx, actor.id) };
  const { user, clientIds } = await lockUser(tx, actor, email);
  return { id: user.id, email: user.email, clientIds };
};
