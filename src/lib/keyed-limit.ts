import pLimit, { type LimitFunction } from 'p-limit';

type Options = {
  /** Called with the amount of the key's work that runs or waits. Throws to refuse more. */
  admit?: (pending: number) => void;
  /** Work that has not started after `ms` is dropped, and fails with `failure`. */
  maxWait?: { ms: number; failure: () => Error };
};

/**
 * Runs at most a given amount of work with the same key at a time within this process; with 1, it is a mutex. Work with
 * different keys runs concurrently.
 */
export const createKeyedLimit = (concurrency: number, { admit, maxWait }: Options = {}) => {
  const entries = new Map<string, { limit: LimitFunction; pending: number }>();

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const entry = entries.get(key) ?? { limit: pLimit(concurrency), pending: 0 };
    admit?.(entry.pending);
    entries.set(key, entry);
    entry.pending += 1;
    try {
      return await (maxWait ? startInTime(entry.limit, work, maxWait) : entry.limit(work));
    } finally {
      entry.pending -= 1;
      if (entry.pending === 0) entries.delete(key);
    }
  };
};

const startInTime = <T>(
  limit: LimitFunction,
  work: () => Promise<T>,
  { ms, failure }: NonNullable<Options['maxWait']>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    let isDropped = false;
    const timer = setTimeout(() => {
      isDropped = true;
      reject(failure());
    }, ms);
    limit(async () => {
      clearTimeout(timer);
      if (!isDropped) resolve(await work());
    }).catch(reject);
  });
