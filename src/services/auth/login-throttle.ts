import type { Pool } from 'pg';
import { MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { type Count, createCounter, hashKey, networkOf, secondsLeft } from '../rate-limits/window-counter.ts';

const FAILURES_PER_ACCOUNT = 10;
const FAILURES_PER_ADDRESS = 100;
const WINDOW_MS = 15 * MINUTE_MS;

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Counts failed logins in the database, so that all instances share the count. */
export const createLoginThrottle = (pool: Pool) => {
  const accounts = createCounter(pool, { keyPrefix: 'login-account', windowMs: WINDOW_MS });
  const addresses = createCounter(pool, { keyPrefix: 'login-address', windowMs: WINDOW_MS });

  /** @throws Problem `throttled` */
  const check = async (username: string, address: string): Promise<void> => {
    const counts = await Promise.all([
      accounts.read(hashKey(username)).then((count) => waitOf(count, FAILURES_PER_ACCOUNT)),
      addresses.read(hashKey(networkOf(address))).then((count) => waitOf(count, FAILURES_PER_ADDRESS)),
    ]);
    const waitSeconds = Math.max(...counts);
    if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
  };

  return {
    refuse: check,

    /**
     * Of a burst of guesses that passed `refuse` together, those past the limit are told so, wrong or right
     * (see `recordSuccess`): whichever answer stood out would give the password away.
     * @throws Problem `throttled`
     */
    recordFailure: async (username: string, address: string): Promise<void> => {
      const [account, network] = await Promise.all([
        accounts.add(hashKey(username)),
        addresses.add(hashKey(networkOf(address))),
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
      await check(username, address);
      await accounts.remove(hashKey(username));
    },

    /** For somebody who has shown by other means that the account is theirs. */
    clear: async (username: string): Promise<void> => {
      await accounts.remove(hashKey(username));
    },
  };
};

const waitOf = (count: Count | null, limit: number): number =>
  count !== null && count.points >= limit ? secondsLeft(count) : 0;
