import pLimit, { type LimitFunction } from 'p-limit';
import { Problem } from '../../lib/problems.ts';

/** Concurrent verifications, including those in the shared hashing queue. Each takes about 40 ms of a core. */
const PER_ACCOUNT = 4;
const PER_NETWORK = 16;
/** Further logins that may wait per account or network. */
const MAX_WAITING = 200;

const TOO_MANY = { detail: 'Too many logins at the same time. Try again in a moment.', retryAfterSeconds: 1 };

export type LoginConcurrency = ReturnType<typeof createLoginConcurrency>;

/**
 * Limits concurrent logins per account and per network, so that one of them cannot fill the shared hashing queue. The
 * failure limits do not prevent that: logins with a correct password are never throttled. Kept in memory, as is the queue.
 */
export const createLoginConcurrency = () => {
  const accounts = createKeyedLimit(PER_ACCOUNT);
  const networks = createKeyedLimit(PER_NETWORK);
  return {
    /** @throws Problem `throttled` */
    run: <T>(email: string, network: string, work: () => Promise<T>): Promise<T> =>
      accounts(email, () => networks(network, work)),
  };
};

type Entry = { limit: LimitFunction; pending: number };

const createKeyedLimit = (concurrency: number) => {
  const entries = new Map<string, Entry>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const entry = entries.get(key) ?? { limit: pLimit(concurrency), pending: 0 };
    if (entry.pending >= concurrency + MAX_WAITING) throw new Problem('throttled', TOO_MANY);
    entries.set(key, entry);
    entry.pending += 1;
    try {
      return await entry.limit(work);
    } finally {
      entry.pending -= 1;
      if (entry.pending === 0) entries.delete(key);
    }
  };
};
