import type { Db } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, hasRolesOf } from '../access/actor.ts';
import { reloadActor } from '../auth/identity.ts';

/** Rows between two lookups of the actor. */
const ROWS_PER_LOOKUP = 50;

/**
 * The actor with their current roles, which they may lose while a long request runs.
 * @param row the index of the row that is changed next
 * @throws Problem `unauthenticated`, `role-lost`, when called
 */
export const createCurrentActor = (em: Db, actor: Actor) => {
  let current: Actor | null = actor;
  return async (row: number): Promise<Actor> => {
    if (row % ROWS_PER_LOOKUP === 0) current = await reloadActor(em, actor);
    if (!current) throw new Problem('unauthenticated');
    if (!hasRolesOf(current, actor)) throw new Problem('role-lost');
    return current;
  };
};
