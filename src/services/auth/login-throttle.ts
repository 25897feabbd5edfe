import type { Pool } from 'pg';
import { MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import {
  createWindowCounter,
  hashKey,
  networkOf,
  secondsLeft,
  type WindowCount,
} from '../rate-limits/window-counter.ts';

const FAILURES_PER_ACCOUNT = 10;
const FAILURES_PER_ADDRESS = 100;
const WINDOW_MS = 15 * MINUTE_MS;

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Limits failed logins per account and per network. Counted in the database, so that all instances share the counts. */
export const createLoginThrottle = (pool: Pool) => {
  const accounts = createWindowCounter(pool, { keyPrefix: 'login-account', windowMs: WINDOW_MS });
  const addresses = createWindowCounter(pool, { keyPrefix: 'login-address', windowMs: WINDOW_MS });

  /** @throws Problem `throttled` */
  const check = async (username: string, address: string): Promise<void> => {
    const waits = await Promise.all([
      accounts.read(hashKey(username)).then((count) => waitSecondsFor(count, FAILURES_PER_ACCOUNT)),
      addresses
        .read(hashKey(networkOf(address)))
        .then((count) => waitSecondsFor(count, FAILURES_PER_ADDRESS)),
    ]);
    const waitSeconds = Math.max(...waits);
    if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
  };

  return {
    refuse: check,

    /**
     * Guesses sent in one burst all pass `check`. Those beyond the limit get `throttled` whether wrong or right (see
     * `recordSuccess`): a different response to the right one would reveal the password.
     * @throws Problem `throttled`
     */
    recordFailure: async (username: string, address: string): Promise<void> => {
      const [account, network] = await Promise.all([
        accounts.add(hashKey(username)),
        addresses.add(hashKey(networkOf(address))),
      ]);
      const waitSeconds = Math.max(
        waitSecondsFor(account, FAILURES_PER_ACCOUNT + 1),
        waitSecondsFor(network, FAILURES_PER_ADDRESS + 1),
      );
      if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
    },

    /**
     * Clears the account's count, unless other logins reached the limit while this one was being verified.
     * @throws Problem `throttled`
     */
    recordSuccess: async (username: string, address: string): Promise<void> => {
      await check(username, address);
      await accounts.remove(hashKey(username));
    },

    /** Clears the account's count after a password reset, which proves ownership by mail. */
    clear: async (username: string): Promise<void> => {
      await accounts.remove(hashKey(username));
    },
  };
};

const waitSecondsFor = (count: WindowCount | null, limit: number): number =>
  count !== null && count.points >= limit ? secondsLeft(count) : 0;
