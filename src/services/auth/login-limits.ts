import type { Pool } from 'pg';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { createKeyedLimit } from '../../lib/keyed-limit.ts';
import { Problem } from '../../lib/problems.ts';
import {
  createWindowCounter,
  hashKey,
  networkOf,
  secondsLeft,
  type WindowCount,
} from '../rate-limits/window-counter.ts';

const FAILURES_PER_ACCOUNT = 10;
const FAILURES_PER_NETWORK = 100;

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Limits failed logins per account and per network. */
export const createLoginThrottle = (pool: Pool) => {
  const failures = createWindowCounter(pool, 15 * MINUTE_MS);

  const read = async (username: string, address: string) => {
    const keys = [accountKey('login', username), networkKey('login', address)];
    const [account, network] = await failures.read(...keys);
    rejectAt([account, FAILURES_PER_ACCOUNT], [network, FAILURES_PER_NETWORK]);
    return { account };
  };

  return {
    /** @throws Problem `throttled` */
    check: async (username: string, address: string): Promise<void> => {
      await read(username, address);
    },

    /**
     * Guesses sent in one burst all pass `check`. Those beyond the limit get `throttled` whether wrong or right (see
     * `recordSuccess`): a different response to the right one would reveal the password.
     * @throws Problem `throttled`
     */
    recordFailure: async (username: string, address: string): Promise<void> => {
      const counts = await Promise.all([
        failures.add(accountKey('login', username)),
        failures.add(networkKey('login', address)),
      ]);
      rejectAt([counts[0], FAILURES_PER_ACCOUNT + 1], [counts[1], FAILURES_PER_NETWORK + 1]);
    },

    /**
     * Clears the account's count, unless other logins reached the limit while this one was being verified.
     * @throws Problem `throttled`
     */
    recordSuccess: async (username: string, address: string): Promise<void> => {
      const { account } = await read(username, address);
      if (account) await failures.remove(accountKey('login', username));
    },

    /** Clears the account's count after a password reset, which proves ownership by mail. */
    clear: (username: string): Promise<void> => failures.remove(accountKey('login', username)),
  };
};

/** Enough for a user who looks in the wrong mailbox, too few to flood the owner of the address. */
const RESETS_PER_ACCOUNT = 5;
const RESETS_PER_NETWORK = 50;

/** Limits the mails that anonymous callers can trigger. */
export const createResetThrottle = (pool: Pool) => {
  const requests = createWindowCounter(pool, HOUR_MS);
  return {
    /**
     * Counts a request, whether or not the account exists.
     * @throws Problem `throttled`
     */
    consume: async (email: string, address: string): Promise<void> => {
      // The network first: beyond its limit, requests must not use up the limits of accounts.
      rejectAt([await requests.add(networkKey('reset', address)), RESETS_PER_NETWORK + 1]);
      rejectAt([await requests.add(accountKey('reset', email)), RESETS_PER_ACCOUNT + 1]);
    },
  };
};

/** Codes have 256 random bits: this bounds the load of guesses, not their success. */
const CODE_FAILURES_PER_NETWORK = 300;

/** Limits failed exchanges of launch codes. */
export const createLaunchThrottle = (pool: Pool) =>
  createNetworkThrottle(pool, 'launch', CODE_FAILURES_PER_NETWORK);

/**
 * Limits checks and refreshes of invalid tokens as failed logins, but counts them apart: a platform that checks expired tokens
 * must not block the logins of its network.
 */
export const createTokenThrottle = (pool: Pool) => createNetworkThrottle(pool, 'token', FAILURES_PER_NETWORK);

/** A page that is reloaded each second stays below it. */
const USES_PER_VIEW_AND_NETWORK = 1_000;

/** Limits attempts to open access views with unknown keys, and uses of those that have no limit. */
export const createViewThrottle = (pool: Pool) => {
  const uses = createWindowCounter(pool, 15 * MINUTE_MS);
  return {
    ...createNetworkThrottle(pool, 'view', FAILURES_PER_NETWORK),

    /**
     * Counts a use, as each adds rows that are kept.
     * @throws Problem `throttled`
     */
    consumeUse: async (viewId: number, address: string): Promise<void> => {
      rejectAt([await uses.add(networkKey(`view-${viewId}`, address)), USES_PER_VIEW_AND_NETWORK + 1]);
    },
  };
};

/** For secrets that are too long to be guessed, and belong to no known account. */
const createNetworkThrottle = (pool: Pool, prefix: string, maxFailures: number) => {
  const failures = createWindowCounter(pool, 15 * MINUTE_MS);
  return {
    /** @throws Problem `throttled` */
    check: async (address: string): Promise<void> => {
      const [network] = await failures.read(networkKey(prefix, address));
      rejectAt([network, maxFailures]);
    },

    recordFailure: async (address: string): Promise<void> => {
      await failures.add(networkKey(prefix, address));
    },
  };
};

/** The key of a count for an account. */
export const accountKey = (prefix: 'login' | 'reset', email: string): string =>
  `${prefix}-account:${hashKey(email)}`;

const networkKey = (prefix: string, address: string): string =>
  `${prefix}-network:${hashKey(networkOf(address))}`;

/** @throws Problem `throttled` if a count has reached its limit */
const rejectAt = (...limits: [count: WindowCount | null | undefined, limit: number][]): void => {
  const waits = limits.map(([count, limit]) => (count && count.points >= limit ? secondsLeft(count) : 0));
  const retryAfterSeconds = Math.max(...waits);
  if (retryAfterSeconds > 0) throw new Problem('throttled', { retryAfterSeconds });
};

/** Concurrent verifications, including those in the shared hashing queue. Each takes about 40 ms of a core. */
const PER_ACCOUNT = 4;
const PER_NETWORK = 16;
/** Further logins that may wait per account or network. */
const MAX_WAITING = 200;

const TOO_MANY = { detail: 'Too many logins at the same time. Try again in a moment.', retryAfterSeconds: 1 };

/**
 * Limits concurrent logins per account and per network, so that one of them cannot fill the shared hashing queue. The
 * failure limits do not prevent that: logins with a correct password are never throttled. Kept in memory, as is the queue.
 */
export const createLoginConcurrency = () => {
  const accounts = createLoginLimit(PER_ACCOUNT);
  const networks = createLoginLimit(PER_NETWORK);
  return {
    /** @throws Problem `throttled` */
    run: <T>(email: string, network: string, work: () => Promise<T>): Promise<T> =>
      accounts(email, () => networks(network, work)),
  };
};

const createLoginLimit = (concurrency: number) =>
  createKeyedLimit(concurrency, (pending) => {
    if (pending >= concurrency + MAX_WAITING) throw new Problem('throttled', TOO_MANY);
  });
