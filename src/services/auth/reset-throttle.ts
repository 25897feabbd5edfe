import type { Pool } from 'pg';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { type Count, createCounter, hashKey, networkOf, secondsLeft } from '../rate-limits/window-counter.ts';

/** Enough for somebody who looks into the wrong mailbox, and no flood for whoever owns the address. */
const REQUESTS_PER_ACCOUNT = 5;
const REQUESTS_PER_NETWORK = 50;

export type ResetThrottle = ReturnType<typeof createResetThrottle>;

/** Bounds the mails that strangers can make the service send, in the database and so over all instances. */
export const createResetThrottle = (pool: Pool) => {
  const accounts = createCounter(pool, { keyPrefix: 'reset-account', windowMs: HOUR_MS });
  const networks = createCounter(pool, { keyPrefix: 'reset-network', windowMs: HOUR_MS });

  return {
    /** Whether or not the address is anybody's. @throws Problem `throttled` */
    consume: async (email: string, address: string): Promise<void> => {
      // The network's bound first: one that is past it uses up nobody's own.
      refuseBeyond(REQUESTS_PER_NETWORK, await networks.add(networkOf(address)));
      refuseBeyond(REQUESTS_PER_ACCOUNT, await accounts.add(hashKey(email)));
    },
  };
};

const refuseBeyond = (limit: number, count: Count): void => {
  if (count.points > limit) throw new Problem('throttled', { retryAfterSeconds: secondsLeft(count) });
};
