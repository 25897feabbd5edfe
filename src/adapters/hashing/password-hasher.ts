import pLimit from 'p-limit';
import { Problem } from '../../lib/problems.ts';
import {
  type Argon2Cost,
  COST,
  isOutdatedArgon2Hash,
  makeArgon2Hash,
  readArgon2Hash,
} from './argon2-hash.ts';
import { readDjangoHash } from './django-hashes.ts';
import { readHash, remainingWork } from './hash-work.ts';
import { isCheck, type PasswordCheck } from './password-check.ts';

/** How much work may be ahead of anybody, for each one at work: 65 hashes of our own. */
const MAX_WAIT_MS = 3_000;

export type PasswordHasher = Awaited<ReturnType<typeof createPasswordHasher>>;

type Attempt = {
  /** The kinds of hashes that are in use: see `remainingWork`. */
  kinds?: readonly string[];
  /** Asked once the password is right. What it throws is thrown after the same work as for a wrong password. */
  confirm?: () => Promise<void>;
};

/**
 * Argon2id, and the hashes of a Django service until their owners log in, with an upper bound on how much of it runs
 * at once, since each run takes a core and 19 MiB or more.
 * @param cost other than that of the service only where hashes protect nobody
 * @param observe is called with the family and the units of each check that `verify` makes
 * @throws Problem `overloaded` from `hash` and `verify` when the queue is full
 */
export const createPasswordHasher = async (
  concurrency: number,
  cost: Argon2Cost = COST,
  observe: (family: string, units: number) => void = () => {},
) => {
  const queued = createQueue(concurrency);
  // Verified in place of a missing hash, so that an unknown user takes as long as a wrong password.
  const decoy = readArgon2Hash(await makeArgon2Hash('no password has this hash', cost));
  if (!isCheck(decoy)) throw new Error('A hash made here was not understood here.');

  const perform = ({ family, units, verify }: PasswordCheck, password: string): Promise<boolean> => {
    observe(family, units);
    return verify(password);
  };

  return {
    hash: async (password: string): Promise<string> =>
      queued(decoy.costMs, () => makeArgon2Hash(password, cost)),

    /**
     * No hash, or one of a format that is not known here, never verifies. Every failure does the same work: one hash
     * of our own, and one of each other kind in use.
     */
    verify: async (
      hash: string | null,
      password: string,
      { kinds = [], confirm = async () => {} }: Attempt = {},
    ): Promise<boolean> => {
      const read = hash === null ? null : readHash(hash);
      const own = isCheck(read) ? read : null;
      const first = own ?? decoy;
      return queued(first.costMs, async (addWork) => {
        const isRight = (await perform(first, password)) && own !== null;
        const refusal = isRight ? await confirm().then(() => null, toRefusal) : null;
        if (isRight && refusal === null) return true;
        // In the same place of the queue: a guess that was admitted is always told, and so always counted.
        for (const check of remainingWork([decoy.family, ...kinds], first)) {
          await addWork(check.costMs, () => perform(check, password));
        }
        if (refusal) throw refusal.error;
        return false;
      });
    },

    /** Whether a hash that verifies should be replaced by one made here. */
    isOutdated: (hash: string): boolean =>
      isCheck(readArgon2Hash(hash)) ? isOutdatedArgon2Hash(hash, cost) : isCheck(readDjangoHash(hash)),
  };
};

const toRefusal = (error: unknown) => ({ error });

/** Why no password could ever be verified by this hash; null when one could. */
export const reasonAgainstHash = (hash: string): string | null => {
  const read = readHash(hash);
  if (read === null) return 'Has a format that cannot be verified here.';
  return isCheck(read) ? null : `Would cost each login too much: ${read.tooCostly}.`;
};

type AddWork = <T>(costMs: number, work: () => Promise<T>) => Promise<T>;

/** Counts the work rather than the waiting: a hash of Django's takes seven times as long as one of ours. */
const createQueue = (concurrency: number) => {
  const limit = pLimit(concurrency);
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
    if (aheadMs >= concurrency * MAX_WAIT_MS) throw new Problem('overloaded');
    return counted(costMs, () => limit(() => work(counted)));
  };
};
