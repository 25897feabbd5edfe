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
  remainingWork,
} from './password-hashes.ts';

/** Limit of the work that is queued per core: 65 hashes made here. */
const MAX_WAIT_MS = 3_000;

export type PasswordHasher = Awaited<ReturnType<typeof createPasswordHasher>>;

type Observe = (family: string, units: number) => void;

/**
 * Makes and verifies Argon2id hashes, and verifies imported hashes of Django. Limits how many run at the same time, because each
 * takes a core and at least 19 MiB.
 * @param cost lower only in tests
 * @param observe called with the family and the units of each check
 * @throws Problem `overloaded` from `hash` and `verify` when the queue is full
 */
export const createPasswordHasher = async (concurrency: number, cost = COST, observe: Observe = () => {}) => {
  const limit = pLimit(concurrency);
  const queued = createQueue(limit);
  // Verified if there is no hash, so that an unknown user takes as long as a wrong password.
  const decoy = readArgon2Hash(await makeArgon2Hash('no password has this hash', cost));
  if (!isCheck(decoy)) throw new Error('The hash of a new password cannot be read.');

  /** In the form in which it was typed first: an imported password may have been hashed in any form. */
  const perform = async ({ family, units, verify }: PasswordCheck, typed: string): Promise<boolean> => {
    for (const password of new Set([typed, preparePassword(typed)])) {
      observe(family, units);
      if (await traced({ name: `verify ${algorithmOf(family)}` }, () => verify(password))) return true;
    }
    return false;
  };

  return {
    hash: async (password: string): Promise<string> =>
      queued(decoy.costMs, () =>
        traced({ name: `hash ${algorithmOf(decoy.family)}` }, () =>
          makeArgon2Hash(preparePassword(password), cost),
        ),
      ),

    /**
     * A missing hash, or one of an unknown format, never verifies. Every failure does the same work: one hash made here, and one of each
     * other kind in use.
     * @param readKinds reads the kinds of hashes in use, for every failure: see `remainingWork`
     */
    verify: async (
      hash: string | null,
      password: string,
      readKinds: () => Promise<readonly string[]> = async () => [],
    ): Promise<boolean> => {
      const read = hash === null ? null : readHash(hash);
      const own = isCheck(read) ? read : null;
      const first = own ?? decoy;
      return queued(first.costMs, async (addWork) => {
        if ((await perform(first, password)) && own !== null) return true;
        // Not queued again: once a guess was admitted, it gets its result.
        for (const check of remainingWork([decoy.family, ...(await readKinds())], first)) {
          await addWork(check.costMs, () => perform(check, password));
        }
        return false;
      });
    },

    queue: () => ({ running: limit.activeCount, waiting: limit.pendingCount }),

    /** Whether a hash that verifies should be replaced by a new one. */
    isOutdated: (hash: string): boolean =>
      isCheck(readArgon2Hash(hash)) ? isOutdatedArgon2Hash(hash, cost) : isCheck(readDjangoHash(hash)),
  };
};

/** Converts `$argon2id$v=19$m=19456,t=2,p=1` to `argon2id`. */
const algorithmOf = (family: string): string => /\w+/.exec(family)?.[0] ?? family;

type AddWork = <T>(costMs: number, work: () => Promise<T>) => Promise<T>;

/** Limits the queue by its work, not its length: a hash of Django takes seven times as long as one made here. */
const createQueue = (limit: LimitFunction) => {
  let aheadMs = 0;

  const counted: AddWork = async (costMs, work) => {
    aheadMs += costMs;
    try {
      return await work();
    } finally {
      aheadMs -= costMs;
    }
  };

  return async <T>(costMs: number, work: (addWork: AddWork) => Promise<T>): Promise<T> => {
    if (aheadMs >= limit.concurrency * MAX_WAIT_MS) throw new Problem('overloaded');
    return counted(costMs, () => limit(() => work(counted)));
  };
};
