import { HOUR_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const INTERVAL_MS = HOUR_MS;

type Deps = { tasks: Record<string, () => Promise<void>>; logger: Pick<Logger, 'warn'>; intervalMs?: number };

/** Runs tasks at the start and every hour, one after another. A failed task is retried an hour later. */
export const createScheduler = ({ tasks, logger, intervalMs = INTERVAL_MS }: Deps) => {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const runTask = async (task: string): Promise<void> => {
    await tasks[task]?.().catch((error: unknown) =>
      logger.warn({ err: error, task }, 'scheduled task failed'),
    );
  };
  const runTasks = async (): Promise<void> => {
    for (const task of Object.keys(tasks)) await runTask(task);
  };
  const enqueueRun = (): void => {
    running = running.then(runTasks);
  };

  return {
    /** Runs one task after those that are running. */
    runSoon: (task: string): void => {
      running = running.then(() => runTask(task));
    },

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
