import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The time by which a unit of work must be done, over all its stages. It follows the work through AsyncLocalStorage, so that
 * whatever waits for the database can bound its wait by what is left.
 */
export class Deadline {
  /** By `performance.now()`. */
  #at: number;

  constructor(ms: number) {
    this.#at = performance.now() + ms;
  }

  get remainingMs(): number {
    return this.#at - performance.now();
  }

  extend(ms: number): void {
    this.#at += ms;
  }

  /** For work that may take as long as it needs, such as a stream. From then on each statement has a limit of its own. */
  lift(): void {
    this.#at = Number.POSITIVE_INFINITY;
  }
}

/** Work took longer than its deadline allows. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';

  constructor() {
    super('the deadline was exceeded');
  }
}

const storage = new AsyncLocalStorage<Deadline | null>();

export const withDeadline = <T>(deadline: Deadline, work: () => T): T => storage.run(deadline, work);

/** For work that is shared with others, who may have more time. */
export const withoutDeadline = <T>(work: () => T): T => storage.run(null, work);

export const currentDeadline = (): Deadline | null => storage.getStore() ?? null;

/** Elements of a request that need no deadline yet. */
const MAX_SMALL = 100;

/** Bulk requests may take longer than others: each of their statements has a limit of its own. */
export const liftBulkDeadline = (elements: number): void => {
  if (elements > MAX_SMALL) currentDeadline()?.lift();
};

/** The longest that a wait may take now, given its own limit (milliseconds; null: none); 0 or less when there is no time. */
export const boundedWait = (limitMs: number | null): number | null => {
  const remaining = currentDeadline()?.remainingMs ?? Number.POSITIVE_INFINITY;
  if (remaining === Number.POSITIVE_INFINITY) return limitMs;
  return Math.min(remaining, limitMs ?? remaining);
};

/**
 * Waits for work that goes on without us. What it would have answered is dropped.
 * @throws DeadlineExceeded
 */
export const beforeDeadline = <T>(work: Promise<T>): Promise<T> => {
  const ms = boundedWait(null);
  if (ms === null) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineExceeded()), Math.max(0, ms));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
};
