import pLimit, { type LimitFunction } from 'p-limit';
import { Problem } from '../../lib/problems.ts';
import { traced } from '../../lib/tracing.ts';
import { preparePassword } from '../../lib/typed-text.ts';
import {
  COST,
  isCheck,
  isOutdatedArgon2Hash,
  makeArgon2Hash,
  type PasswordCheck,
  readArgon2Hash,
  readDjangoHash,
  readHash,
} from './password-hashes.ts';

/** Limit of the work that is queued per core: 65 hashes made here. */
const MAX_WAIT_MS = 3_000;

export type PasswordHasher = Awaited<ReturnType<typeof createPasswordHasher>>;

/**
 * Makes and verifies Argon2id hashes, and verifies imported hashes of Django. Limits how many run at the same time, because each
 * takes a core and at least 19 MiB.
 * @param cost lower only in tests
 * @param observe called with the algorithm of each check
 * @throws Problem `overloaded` from `hash` and `verify` when the queue is full
 */
export const createPasswordHasher = async (
  concurrency: number,
  cost = COST,
  observe: (algorithm: string) => void = () => {},
) => {
  const limit = pLimit(concurrency);
  const queued = createQueue(limit);
  // Verified if there is no hash, so that an unknown user takes as long as a wrong password.
  const decoy = readArgon2Hash(await makeArgon2Hash('no password has this hash', cost));
  if (!isCheck(decoy)) throw new Error('The hash of a new password cannot be read.');

  /** In the form in which it was typed first: an imported password may have been hashed in any form. */
  const perform = async ({ algorithm, verify }: PasswordCheck, typed: string): Promise<boolean> => {
    for (const password of new Set([typed, preparePassword(typed)])) {
      observe(algorithm);
      if (await traced({ name: `verify ${algorithm}` }, () => verify(password))) return true;
    }
    return false;
  };

  return {
    hash: async (password: string): Promise<string> =>
      queued(decoy.costMs, () =>
        traced({ name: `hash ${decoy.algorithm}` }, () => makeArgon2Hash(preparePassword(password), cost)),
      ),

    /** A missing hash, or one of an unknown format, never verifies, and takes as long as a hash made here. */
    verify: async (hash: string | null, password: string): Promise<boolean> => {
      const read = hash === null ? null : readHash(hash);
      const own = isCheck(read) ? read : null;
      const check = own ?? decoy;
      return queued(check.costMs, async () => (await perform(check, password)) && own !== null);
    },

    queue: () => ({ running: limit.activeCount, waiting: limit.pendingCount }),

    /** Whether a hash that verifies should be replaced by a new one. */
    isOutdated: (hash: string): boolean =>
      isCheck(readArgon2Hash(hash)) ? isOutdatedArgon2Hash(hash, cost) : isCheck(readDjangoHash(hash)),
  };
};

/** Limits the queue by its work, not its length: a hash of Django takes seven times as long as one made here. */
const createQueue = (limit: LimitFunction) => {
  let aheadMs = 0;

  return async <T>(costMs: number, work: () => Promise<T>): Promise<T> => {
    if (aheadMs >= limit.concurrency * MAX_WAIT_MS) throw new Problem('overloaded');
    aheadMs += costMs;
    try {
      return await limit(work);
    } finally {
      aheadMs -= costMs;
    }
  };
};
