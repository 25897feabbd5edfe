import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { RateLimiterPostgres } from 'rate-limiter-flexible';

type Bound = { keyPrefix: string; points: number; seconds: number };

/** Counts in the table `rate_limits`, so that all instances share the count. */
export const createLimiter = (pool: Pool, { keyPrefix, points, seconds }: Bound): RateLimiterPostgres =>
  new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    // Its timer would outlive the pool, and hold all that belongs to it: housekeeping removes what is over.
    clearExpiredByTimeout: false,
    keyPrefix,
    points,
    duration: seconds,
  });

/** Hashed, because what callers send is any text of any length and need not be kept. */
export const keyOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whole seconds, as `Retry-After` has them. */
export const secondsUntilNext = ({ msBeforeNext }: { msBeforeNext: number }): number =>
  Math.max(1, Math.ceil(msBeforeNext / 1000));

/** Of IPv6 the /64 that one customer is given: they have as many addresses in it as they like. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const trailing = tail.split(':').filter(Boolean);
  const zeros = Array(Math.max(0, 8 - groups.length - trailing.length)).fill('0');
  return [...groups, ...(address.includes('::') ? zeros : []), ...trailing].slice(0, 4).join(':');
};
