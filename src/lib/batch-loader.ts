import { endWith, type Span, tracing } from './tracing.ts';

type Request<K, V> = {
  key: K;
  span: Span | null;
  resolve: (value: V | undefined) => void;
  reject: (error: unknown) => void;
};

/** More than one, so that a slow batch does not delay the others. */
const MAX_CONCURRENT_BATCHES = 2;
const MAX_BATCH_KEYS = 500;

/**
 * Batches lookups that arrive in the same event-loop tick into one call of `load`, like DataLoader but without a cache. A result is never
 * older than its request: keys that arrive while a batch is running go into the next one.
 * @returns the loaded value, or undefined
 */
export const createBatchLoader = <K, V>(load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) => {
  let pending: Request<K, V>[] = [];
  let running = 0;

  const runBatch = async (): Promise<void> => {
    const batch = pending.slice(0, MAX_BATCH_KEYS);
    pending = pending.slice(MAX_BATCH_KEYS);
    if (batch.length === 0) return;
    running += 1;
    try {
      const keys = [...new Set(batch.map(({ key }) => key))];
      // A span has one parent: the statement of the batch is part of the trace of its first caller.
      const found = await tracing.runIn(batch[0]?.span ?? null, () => load(keys));
      for (const { key, resolve } of batch) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    running -= 1;
    if (pending.length > 0) void runBatch();
  };

  const enqueue = (key: K, span: Span | null): Promise<V | undefined> =>
    new Promise((resolve, reject) => {
      pending.push({ key, span, resolve, reject });
      // Runs after all requests that were received in this event-loop tick.
      if (running < MAX_CONCURRENT_BATCHES && pending.length === 1) setImmediate(runBatch);
    });
  return (key: K) => {
    const span = tracing.start(() => ({ name: 'batched lookup' }));
    return endWith(span, enqueue(key, span));
  };
};
