import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { createGathering } from '../../core/gathering.ts';
import { type Actor, seesAll } from '../actor.ts';
import { found, type UserRow, userRow, usersSeen } from './user-rows.ts';

export type ReadUser = ReturnType<typeof createUserReading>;

/** Whoever sees all sees the same of everybody: what several of them ask for at a time is read by one statement. */
const WHO_SEES_ALL: Actor = { id: 0, email: '', isStaff: true, isSuperuser: false, adminOf: [], via: null };

/** Reads one user as an actor sees them. */
export const createUserReading = (em: SqlEntityManager) => {
  const gathered = createGathering(
    async (emails: readonly string[]) =>
      new Map((await usersSeen(em, WHO_SEES_ALL, emails)).map((row) => [row.email, row])),
  );

  /** @throws Problem `not-found`, also for a user the actor may not see */
  return async (unit: SqlEntityManager, actor: Actor, email: string): Promise<UserRow> =>
    // A transaction sees what nobody else does as yet.
    seesAll(actor) && !unit.isInTransaction() ? found(await gathered(email)) : userRow(unit, actor, email);
};
