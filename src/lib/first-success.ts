import { setTimeout as sleep } from 'node:timers/promises';

type Attempt<Item, Result> = (item: Item, signal: AbortSignal) => Promise<Result>;

/**
 * Resolves with the first success. Attempts start in the order of the items, each when the one before has failed or has taken
 * `staggerMs`, as in Happy Eyeballs (RFC 8305). A success aborts the signal of the others.
 * @throws AggregateError of all failures
 */
export const firstSuccess = async <Item, Result>(
  items: readonly [Item, ...Item[]],
  attempt: Attempt<Item, Result>,
  { staggerMs, signal }: { staggerMs: number; signal?: AbortSignal },
): Promise<Result> => {
  const done = new AbortController();
  const stopSignal = signal ? AbortSignal.any([done.signal, signal]) : done.signal;
  const failures: unknown[] = [];

  const startFrom = async ([item, ...later]: readonly [Item, ...Item[]]): Promise<Result> => {
    const current = attempt(item, stopSignal).then(
      (result) => {
        done.abort();
        return result;
      },
      (error: unknown) => {
        failures.push(...(error instanceof AggregateError ? error.errors : [error]));
        throw error;
      },
    );
    const [next, ...rest] = later;
    if (later.length === 0) return current;
    const failedOrSlow = Promise.race([current, sleep(staggerMs, undefined, { signal: stopSignal })]);
    const following = failedOrSlow
      .catch(() => {})
      .then(() => {
        stopSignal.throwIfAborted();
        return startFrom([next as Item, ...rest]); // `later` is not empty
      });
    return Promise.any([current, following]);
  };

  try {
    return await startFrom(items);
  } catch {
    throw new AggregateError(failures);
  } finally {
    done.abort();
  }
};
