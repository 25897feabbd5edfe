import type { Pool } from 'pg';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import {
  createWindowCounter,
  hashKey,
  networkOf,
  secondsLeft,
  type WindowCount,
} from '../rate-limits/window-counter.ts';

/** Enough for a user who looks in the wrong mailbox, too few to flood the owner of the address. */
const REQUESTS_PER_ACCOUNT = 5;
const REQUESTS_PER_NETWORK = 50;

export type ResetThrottle = ReturnType<typeof createResetThrottle>;

/** Limits the mails that anonymous callers can trigger. Counted in the database, shared by all instances. */
export const createResetThrottle = (pool: Pool) => {
  const accounts = createWindowCounter(pool, { keyPrefix: 'reset-account', windowMs: HOUR_MS });
  const networks = createWindowCounter(pool, { keyPrefix: 'reset-network', windowMs: HOUR_MS });

  return {
    /**
     * Counts a request, whether or not the account exists.
     * @throws Problem `throttled`
     */
    consume: async (email: string, address: string): Promise<void> => {
      // The network first: beyond its limit, requests must not use up the limits of accounts.
      rejectBeyond(REQUESTS_PER_NETWORK, await networks.add(networkOf(address)));
      rejectBeyond(REQUESTS_PER_ACCOUNT, await accounts.add(hashKey(email)));
    },
  };
};

const rejectBeyond = (limit: number, count: WindowCount): void => {
  if (count.points > limit) throw new Problem('throttled', { retryAfterSeconds: secondsLeft(count) });
};
