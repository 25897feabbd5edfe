import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The time by which a unit of work must finish. AsyncLocalStorage passes it along, so that code that waits for the database
 * can limit its wait to the remaining time.
 */
export class Deadline {
  /** In terms of `performance.now()`. */
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

  /** Removes the deadline, for example for a stream. The limits of single statements remain. */
  lift(): void {
    this.#at = Number.POSITIVE_INFINITY;
  }
}

/** The work did not finish before its deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';

  constructor() {
    super('the deadline was exceeded');
  }
}

const storage = new AsyncLocalStorage<Deadline | null>();

export const withDeadline = <T>(deadline: Deadline, work: () => T): T => storage.run(deadline, work);

/** For work shared by several callers with different deadlines. */
export const withoutDeadline = <T>(work: () => T): T => storage.run(null, work);

export const currentDeadline = (): Deadline | null => storage.getStore() ?? null;

/** Requests with more elements have no deadline. */
const MAX_ELEMENTS_WITH_DEADLINE = 100;

/** Bulk requests may take longer than others; only their single statements are limited. */
export const liftBulkDeadline = (elements: number): void => {
  if (elements > MAX_ELEMENTS_WITH_DEADLINE) currentDeadline()?.lift();
};

/**
 * The smaller of the remaining time and the limit of a wait, in milliseconds (null: none).
 * 0 or less if the deadline has passed.
 */
export const boundedWait = (limitMs: number | null): number | null => {
  const remaining = currentDeadline()?.remainingMs ?? Number.POSITIVE_INFINITY;
  if (remaining === Number.POSITIVE_INFINITY) return limitMs;
  return Math.min(remaining, limitMs ?? remaining);
};

/**
 * Waits for work until the deadline. The work itself continues; its result is ignored.
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
