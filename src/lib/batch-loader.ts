import { beforeDeadline, withoutDeadline } from './deadline.ts';

type Waiting<K, V> = { key: K; resolve: (value: V | undefined) => void; reject: (error: unknown) => void };

/** Look-ups under way at a time: one that is slow does not hold up all that come after it. */
const AT_ONCE = 2;
/** Keys of one look-up. */
const MAX_KEYS = 500;

/**
 * Gathers what is asked for at the same time into one look-up: whoever asks while one is under way is part of the next, so
 * that each answer is as of a moment after its question.
 * @returns what `load` has found for the key, or undefined; it rejects with DeadlineExceeded when that takes too long
 */
export const createBatchLoader = <K, V>(load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) => {
  let waiting: Waiting<K, V>[] = [];
  let underWay = 0;

  const next = async (): Promise<void> => {
    const asked = waiting.slice(0, MAX_KEYS);
    waiting = waiting.slice(MAX_KEYS);
    if (asked.length === 0) return;
    underWay += 1;
    try {
      const keys = [...new Set(asked.map(({ key }) => key))];
      const found = await withoutDeadline(() => load(keys));
      for (const { key, resolve } of asked) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    underWay -= 1;
    if (waiting.length > 0) void next();
  };

  const ask = (key: K): Promise<V | undefined> =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      // After all requests that have come in with this one: they are read in one turn of the event loop.
      if (underWay < AT_ONCE && waiting.length === 1) setImmediate(next);
    });
  return (key: K) => beforeDeadline(ask(key));
};
