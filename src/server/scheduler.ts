import { HOUR_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const EVERY_MS = HOUR_MS;

type Deps = { tasks: Record<string, () => Promise<void>>; logger: Pick<Logger, 'warn'>; everyMs?: number };

/** Does these tasks at the start and every hour, one after the other. One that fails is tried again an hour later. */
export const createScheduler = ({ tasks, logger, everyMs = EVERY_MS }: Deps) => {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();

  const round = async (): Promise<void> => {
    for (const [task, run] of Object.entries(tasks)) {
      await run().catch((error: unknown) => logger.warn({ err: error, task }, 'housekeeping failed'));
    }
  };
  const begin = (): void => {
    underWay = underWay.then(round);
  };

  return {
    start: (): void => {
      begin();
      timer = setInterval(begin, everyMs).unref();
    },

    /** Begins nothing more, and waits for what is under way. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      await underWay;
    },
  };
};
