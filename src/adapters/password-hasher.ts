import pLimit from 'p-limit';
import { Problem } from '../core/problems.ts';
import {
  type Argon2Cost,
  COST,
  isOutdatedArgon2Hash,
  makeArgon2Hash,
  type PasswordCheck,
  readArgon2Hash,
} from './argon2-hash.ts';
import { readDjangoHash } from './django-hashes.ts';

/** How much work may be ahead of anybody, for each one at work: 65 hashes of our own. */
const MAX_WAIT_MS = 3_000;

export type PasswordHasher = Awaited<ReturnType<typeof createPasswordHasher>>;

/**
 * Argon2id, and the hashes of a Django service until their owners log in, with an upper bound on how much of it runs
 * at once, since each run takes a core and 19 MiB or more.
 * @param cost other than that of the service only where hashes protect nobody
 * @throws Problem `overloaded` from `hash` and `verify` when the queue is full
 */
export const createPasswordHasher = async (concurrency: number, cost: Argon2Cost = COST) => {
  const queued = createQueue(concurrency);
  // Verified in place of a missing hash, so that an unknown user takes as long as a wrong password.
  const decoyHash = await makeArgon2Hash('no password has this hash', cost);
  const decoy = readArgon2Hash(decoyHash);
  if (!decoy) throw new Error('A hash made here was not understood here.');

  return {
    hash: async (password: string): Promise<string> =>
      queued(decoy.costMs, () => makeArgon2Hash(password, cost)),

    /** No hash, or one of a kind that is not known here, never verifies, and takes as long as one of ours. */
    verify: async (hash: string | null, password: string): Promise<boolean> => {
      const known = hash === null ? null : readHash(hash);
      const check = known ?? decoy;
      return (await queued(check.costMs, () => check.verify(password))) && known !== null;
    },

    /** Whether a hash that verifies should be replaced by one made here. */
    isOutdated: (hash: string): boolean =>
      readArgon2Hash(hash) ? isOutdatedArgon2Hash(hash, cost) : readDjangoHash(hash) !== null,
  };
};

/** Whether a password could ever be verified by this hash. */
export const isKnownHash = (hash: string): boolean => readHash(hash) !== null;

const readHash = (hash: string): PasswordCheck | null => readArgon2Hash(hash) ?? readDjangoHash(hash);

/** Counts the work rather than the waiting: a hash of Django's takes seven times as long as one of ours. */
const createQueue = (concurrency: number) => {
  const limit = pLimit(concurrency);
  let aheadMs = 0;

  return async <T>(costMs: number, work: () => Promise<T>): Promise<T> => {
    if (aheadMs >= concurrency * MAX_WAIT_MS) throw new Problem('overloaded');
    aheadMs += costMs;
    try {
      return await limit(work);
    } finally {
      aheadMs -= costMs;
    }
  };
};
