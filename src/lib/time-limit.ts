import { Problem } from './problems.ts';

const tooSlow = () =>
  new Problem('overloaded', { detail: 'The database did not answer in time. Try again shortly.' });

/** Calls with more elements have no limit. */
const MAX_LIMITED_ELEMENTS = 100;

/**
 * Limits how long a caller waits for work. The work is not interrupted, because a query that is refused halfway would leave its transaction
 * open: PostgreSQL's own timeouts end it. Before it commits, the work must call `requireTime`.
 * @param ms milliseconds from the call of `run`
 */
export const createTimeLimit = (ms: number) => {
  let timer: NodeJS.Timeout | undefined;
  let hasPassed = false;
  const lift = (): void => clearTimeout(timer);

  return {
    /** @throws Problem `overloaded` when the time has passed; the later result of the work is ignored */
    run: <T>(work: () => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        timer = setTimeout(() => {
          hasPassed = true;
          reject(tooSlow());
        }, ms);
        work().then(resolve, reject).finally(lift);
      }),

    /** @throws Problem `overloaded` if the caller has already received the 503 */
    requireTime: (): void => {
      if (hasPassed) throw tooSlow();
    },

    /** For work without a limit: a download, or rows that are changed one after another. */
    lift,

    /** Many elements in one transaction may take longer; only their single statements are limited. */
    liftForBulk: (elements: number): void => {
      if (elements > MAX_LIMITED_ELEMENTS) lift();
    },
  };
};
