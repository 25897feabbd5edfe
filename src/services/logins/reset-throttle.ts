import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from '../../core/problems.ts';
import { networkOf } from './login-throttle.ts';

const HOUR_SECONDS = 3600;
/** Enough for somebody who looks into the wrong mailbox, and no flood for whoever owns the address. */
const REQUESTS_PER_ACCOUNT = 5;
const REQUESTS_PER_NETWORK = 50;

export type ResetThrottle = ReturnType<typeof createResetThrottle>;

/** Bounds the mails that strangers can make the service send, in the database and so over all instances. */
export const createResetThrottle = (pool: Pool) => {
  const limiter = (keyPrefix: string, points: number) =>
    new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      tableCreated: true,
      clearExpiredByTimeout: true,
      keyPrefix,
      points,
      duration: HOUR_SECONDS,
    });
  const accounts = limiter('reset-account', REQUESTS_PER_ACCOUNT);
  const networks = limiter('reset-network', REQUESTS_PER_NETWORK);

  return {
    /** Whether or not the address is anybody's. @throws Problem `throttled` */
    take: async (email: string, address: string): Promise<void> => {
      const account = createHash('sha256').update(email).digest('hex');
      // The network's bound first: one that is past it uses up nobody's own.
      await networks.consume(networkOf(address)).catch(refuse);
      await accounts.consume(account).catch(refuse);
    },
  };
};

/** The library rejects with its count, or with the error of the database. */
const refuse = (reason: unknown): never => {
  if (!(reason instanceof RateLimiterRes)) throw reason;
  const retryAfterSeconds = Math.max(1, Math.ceil(reason.msBeforeNext / 1000));
  throw new Problem('throttled', { retryAfterSeconds });
};
