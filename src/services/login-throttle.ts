import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { MINUTE_MS } from '../core/clock.ts';
import { Problem } from '../core/problems.ts';

const FAILURES_PER_ACCOUNT = 10;
const FAILURES_PER_ADDRESS = 100;
const WINDOW_SECONDS = (15 * MINUTE_MS) / 1000;

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Counts failed logins in the database, so that all instances share the count. */
export const createLoginThrottle = (pool: Pool) => {
  const limiter = (keyPrefix: string, points: number) =>
    new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: true,
      keyPrefix,
      points,
      duration: WINDOW_SECONDS,
    });
  const accounts = limiter('login-account', FAILURES_PER_ACCOUNT);
  const addresses = limiter('login-address', FAILURES_PER_ADDRESS);

  /** @throws Problem `throttled` */
  const refuse = async (username: string, address: string): Promise<void> => {
    const counts = await Promise.all([
      accounts.get(accountKey(username)).then((count) => waitOf(count, FAILURES_PER_ACCOUNT)),
      addresses.get(address).then((count) => waitOf(count, FAILURES_PER_ADDRESS)),
    ]);
    const waitSeconds = Math.max(...counts);
    if (waitSeconds > 0) throw new Problem('throttled', { retryAfterSeconds: waitSeconds });
  };

  return {
    refuse,

    recordFailure: async (username: string, address: string): Promise<void> => {
      await Promise.all([accounts.penalty(accountKey(username)), addresses.penalty(address)]);
    },

    /**
     * Clears the account's count, unless enough other tries failed while this one was being verified: a burst
     * of guesses that passed `refuse` together must not get through by the one that was right.
     * @throws Problem `throttled`
     */
    recordSuccess: async (username: string, address: string): Promise<void> => {
      await refuse(username, address);
      await accounts.delete(accountKey(username));
    },
  };
};

/** Hashed, because a username is any text of any length and need not be kept. */
const accountKey = (username: string): string => createHash('sha256').update(username).digest('hex');

const waitOf = (count: { consumedPoints: number; msBeforeNext: number } | null, limit: number): number =>
  count !== null && count.consumedPoints >= limit ? Math.max(1, Math.ceil(count.msBeforeNext / 1000)) : 0;
