import type { Pool } from 'pg';
import { MINUTE_MS } from '../../core/clock.ts';
import { Problem } from '../../core/problems.ts';
import { createLimiter, keyOf, networkOf, secondsUntilNext } from './rate-limits.ts';

const FAILURES_PER_ACCOUNT = 10;
const FAILURES_PER_ADDRESS = 100;
const WINDOW_SECONDS = (15 * MINUTE_MS) / 1000;

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Counts failed logins in the database, so that all instances share the count. */
export const createLoginThrottle = (pool: Pool) => {
  const limiter = (keyPrefix: string, points: number) =>
    createLimiter(pool, { keyPrefix, points, seconds: WINDOW_SECONDS });
  const accounts = limiter('login-account', FAILURES_PER_ACCOUNT);
  const addresses = limiter('login-address', FAILURES_PER_ADDRESS);

  /** @throws Problem `throttled` */
  const refuse = async (username: string, address: string): Promise<void> => {
    const counts = await Promise.all([
      accounts.get(keyOf(username)).then((count) => waitOf(count, FAILURES_PER_ACCOUNT)),
      addresses.get(keyOf(networkOf(address))).then((count) => waitOf(count, FAILURES_PER_ADDRESS)),
    ]);
    const waitSeconds = Math.max(...counts);
    if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
  };

  return {
    refuse,

    /**
     * Of a burst of guesses that passed `refuse` together, those past the limit are told so, wrong or right
     * (see `recordSuccess`): whichever answer stood out would give the password away.
     * @throws Problem `throttled`
     */
    recordFailure: async (username: string, address: string): Promise<void> => {
      const [account, network] = await Promise.all([
        accounts.penalty(keyOf(username)),
        addresses.penalty(keyOf(networkOf(address))),
      ]);
      const waitSeconds = Math.max(
        waitOf(account, FAILURES_PER_ACCOUNT + 1),
        waitOf(network, FAILURES_PER_ADDRESS + 1),
      );
      if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
    },

    /**
     * Clears the account's count, unless enough other tries failed while this one was being verified.
     * @throws Problem `throttled`
     */
    recordSuccess: async (username: string, address: string): Promise<void> => {
      await refuse(username, address);
      await accounts.delete(keyOf(username));
    },

    /** For somebody who has shown by other means that the account is theirs. */
    forgive: async (username: string): Promise<void> => {
      await accounts.delete(keyOf(username));
    },
  };
};

const waitOf = (count: { consumedPoints: number; msBeforeNext: number } | null, limit: number): number =>
  count !== null && count.consumedPoints >= limit ? secondsUntilNext(count) : 0;
