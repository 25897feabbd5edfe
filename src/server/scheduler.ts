import { HOUR_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const INTERVAL_MS = HOUR_MS;

type Deps = { tasks: Record<string, () => Promise<void>>; logger: Pick<Logger, 'warn'>; intervalMs?: number };

/** Runs tasks at the start and every hour, one after another. A failed task is retried an hour later. */
export const createScheduler = ({ tasks, logger, intervalMs = INTERVAL_MS }: Deps) => {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const runTasks = async (): Promise<void> => {
    for (const [task, run] of Object.entries(tasks)) {
      await run().catch((error: unknown) => logger.warn({ err: error, task }, 'scheduled task failed'));
    }
  };
  const enqueueRun = (): void => {
    running = running.then(runTasks);
  };

  return {
    start: (): void => {
      enqueueRun();
      timer = setInterval(enqueueRun, intervalMs).unref();
    },

    /** Starts no more tasks and waits for the running ones. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      await running;
    },
  };
};
