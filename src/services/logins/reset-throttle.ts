import type { Pool } from 'pg';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../../core/problems.ts';
import { createLimiter, keyOf, networkOf, secondsUntilNext } from './rate-limits.ts';

const HOUR_SECONDS = 3600;
/** Enough for somebody who looks into the wrong mailbox, and no flood for whoever owns the address. */
const REQUESTS_PER_ACCOUNT = 5;
const REQUESTS_PER_NETWORK = 50;

export type ResetThrottle = ReturnType<typeof createResetThrottle>;

/** Bounds the mails that strangers can make the service send, in the database and so over all instances. */
export const createResetThrottle = (pool: Pool) => {
  const limiter = (keyPrefix: string, points: number) =>
    createLimiter(pool, { keyPrefix, points, seconds: HOUR_SECONDS });
  const accounts = limiter('reset-account', REQUESTS_PER_ACCOUNT);
  const networks = limiter('reset-network', REQUESTS_PER_NETWORK);

  return {
    /** Whether or not the address is anybody's. @throws Problem `throttled` */
    take: async (email: string, address: string): Promise<void> => {
      // The network's bound first: one that is past it uses up nobody's own.
      await networks.consume(networkOf(address)).catch(refuse);
      await accounts.consume(keyOf(email)).catch(refuse);
    },
  };
};

/** The library rejects with its count, or with the error of the database. */
const refuse = (reason: unknown): never => {
  if (!(reason instanceof RateLimiterRes)) throw reason;
  throw new Problem('throttled', { retryAfterSeconds: secondsUntilNext(reason) });
};
