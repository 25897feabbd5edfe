import type { Em } from '../../db/kysely.ts';
import { Problem, type ProblemCode } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { canAllOf } from '../access/permissions.ts';
import { reloadActor } from './authentication.ts';

/** Rows between two lookups of the actor. */
const ROWS_PER_LOOKUP = 50;

/**
 * Yields the rows of a long request one by one, each with the actor and their current roles, which the actor may lose meanwhile.
 * @throws Problem `unauthenticated`, `role-lost`
 */
export async function* withCurrentActor<T>(em: Em, actor: Actor, rows: readonly T[]) {
  let current: Actor | null = actor;
  for (const [index, row] of rows.entries()) {
    if (index % ROWS_PER_LOOKUP === 0) current = await reloadActor(em, actor);
    if (!current) throw new Problem('unauthenticated');
    if (!canAllOf(current, actor)) throw new Problem('role-lost');
    yield [current, row] as const;
  }
}

export type RowProblem = { code: string; detail: string };

/** Problems of an actor who has lost access during the request. */
const ACCESS_LOST: readonly ProblemCode[] = ['unauthenticated', 'role-lost'];

/** The problem of one row of a bulk request. Rethrows problems of the whole request, such as an unavailable database. */
export const rowProblemOf = (error: unknown): RowProblem => {
  if (!(error instanceof Problem) || error.status >= 500 || ACCESS_LOST.includes(error.code)) throw error;
  const messages = Object.values(error.fields ?? {}).flat();
  return { code: error.code, detail: messages.length > 0 ? messages.join(' ') : error.message };
};
