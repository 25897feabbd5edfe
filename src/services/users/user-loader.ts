import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Read } from '../../db/batched-reads.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { anyUsers, readUser, requireUser, type UserRow, visibleUser } from './user-rows.ts';

/** Reads one user as whoever sees all of everybody: what is asked for at the same time is read by one statement. */
export type LoadAnyUser = (email: string) => Promise<UserRow | undefined>;

export const createAnyUserLoader = (em: SqlEntityManager, read: Read): LoadAnyUser =>
  createBatchLoader(
    async (emails: readonly string[]) =>
      new Map((await read(anyUsers(em, emails))).map((row) => [row.email, row])),
  );

type Deps = { em: SqlEntityManager; read: Read; loadAnyUser: LoadAnyUser };

/** Reads one user as an actor sees them. */
export const createUserLoader = ({ em, read, loadAnyUser: readAnyUser }: Deps) => {
  let begun: { email: string; row: ReturnType<LoadAnyUser> } | undefined;

  return {
    /** Begins before the caller is known, which is half of the time, for one who is expected to see all users. */
    prefetch: (email: string): void => {
      if (em.isInTransaction()) return; // it sees what nobody else does as yet
      begun = { email, row: readAnyUser(email) };
      // Told to whoever takes it up; and perhaps nobody does.
      begun.row.catch(() => undefined);
    },

    /** @throws Problem `not-found`, also for a user the actor may not see */
    read: async (actor: Actor, email: string): Promise<UserRow> => {
      if (em.isInTransaction()) return readUser(em, actor, email);
      if (!canViewAll(actor)) return requireUser((await read(visibleUser(em, actor, email)))[0]);
      const row = begun?.email === email ? begun.row : readAnyUser(email);
      begun = undefined; // whoever asks again wants to know how it is then
      return requireUser(await row);
    },
  };
};
