import pLimit, { type LimitFunction } from 'p-limit';

/**
 * Runs at most so much work with the same key at a time within this process; 1 is a mutex. Work with different keys runs
 * concurrently.
 * @param admit called with the amount of work of the key that runs or waits; what it throws refuses more
 */
export const createKeyedLimit = (concurrency: number, admit = (_pending: number): void => {}) => {
  const entries = new Map<string, { limit: LimitFunction; pending: number }>();

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const entry = entries.get(key) ?? { limit: pLimit(concurrency), pending: 0 };
    admit(entry.pending);
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
