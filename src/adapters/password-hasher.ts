import argon2 from 'argon2';
import pLimit from 'p-limit';
import { Problem } from '../core/problems.ts';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane; about 40 ms. */
const COST = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

const ARGON2_FORM = /^\$argon2(id|i|d)\$v=\d+\$[mtp=,\d]+\$[\w+/]+\$[\w+/]+$/;

/** Waiting places for each one at work: 64 of about 40 ms each keep the longest wait under 3 s. */
const QUEUE_PER_WORKER = 64;

export type PasswordHasher = Awaited<ReturnType<typeof createPasswordHasher>>;

/**
 * Argon2id with an upper bound on how much of it runs at once, since each run takes a core and 19 MiB.
 * @throws Problem `overloaded` from `hash` and `verify` when the queue is full
 */
export const createPasswordHasher = async (concurrency: number) => {
  const limit = pLimit(concurrency);
  const queued = <T>(work: () => Promise<T>): Promise<T> => {
    if (limit.pendingCount >= concurrency * QUEUE_PER_WORKER) throw new Problem('overloaded');
    return limit(work);
  };
  // Verified in place of a missing hash, so that an unknown user takes as long as a wrong password.
  const decoy = await argon2.hash('no password has this hash', COST);

  return {
    hash: async (password: string): Promise<string> => queued(() => argon2.hash(password, COST)),

    /** No hash, or one of a kind that is not known here, never verifies, and takes as long as any other. */
    verify: async (hash: string | null, password: string): Promise<boolean> => {
      const known = hash !== null && ARGON2_FORM.test(hash) ? hash : null;
      return (await queued(() => argon2.verify(known ?? decoy, password))) && known !== null;
    },

    isOutdated: (hash: string): boolean => argon2.needsRehash(hash, COST),
  };
};
