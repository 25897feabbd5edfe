import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Read } from '../../db/batched-reads.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import type { Unit } from '../unit.ts';
import { anyUsers, readUser, requireUser, type UserRow, visibleUser } from './user-rows.ts';

/** Reads a user as a viewer of everything. Batches lookups per tick, like DataLoader. */
export type LoadAnyUser = (email: string) => Promise<UserRow | undefined>;

export const createAnyUserLoader = (em: SqlEntityManager, read: Read): LoadAnyUser =>
  createBatchLoader(
    async (emails: readonly string[]) =>
      new Map((await read(anyUsers(em, emails))).map((row) => [row.email, row])),
  );

type Deps = Pick<Unit, 'em' | 'read' | 'loadAnyUser'>;

export type UserLoader = ReturnType<typeof createUserLoader>;

/** Reads a user as the actor sees them. */
export const createUserLoader = ({ em, read, loadAnyUser }: Deps) => ({
  /** @throws Problem `not-found`, also for a user the actor may not see */
  load: async (actor: Actor, email: string): Promise<UserRow> => {
    // A transaction must see its own uncommitted changes.
    if (em.isInTransaction()) return readUser(em, actor, email);
    if (canViewAll(actor)) return requireUser(await loadAnyUser(email));
    return requireUser((await read(visibleUser(em, actor, email)))[0]);
  },
});
