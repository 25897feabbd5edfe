import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Read } from '../../db/pipeline.ts';
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
export const createUserLoader = ({ em, read, loadAnyUser }: Deps) => {
  let prefetched: { email: string; row: ReturnType<LoadAnyUser> } | undefined;

  return {
    /**
     * Starts reading before the caller is authenticated, if they are expected to view all users. Authentication takes as
     * long as the read.
     */
    prefetch: (email: string): void => {
      if (em.isInTransaction()) return; // must see its own uncommitted changes
      prefetched = { email, row: loadAnyUser(email) };
      // Reported by `load`, which might not be called.
      prefetched.row.catch(() => undefined);
    },

    /** @throws Problem `not-found`, also for a user the actor may not see */
    load: async (actor: Actor, email: string): Promise<UserRow> => {
      if (em.isInTransaction()) return readUser(em, actor, email);
      if (!canViewAll(actor)) return requireUser((await read(visibleUser(em, actor, email)))[0]);
      const row = prefetched?.email === email ? prefetched.row : loadAnyUser(email);
      prefetched = undefined; // a later read must be current
      return requireUser(await row);
    },
  };
};
