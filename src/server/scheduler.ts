import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { telemetry } from '../lib/telemetry.ts';

/** @param signal is aborted with a `TimeoutError` at the limit, or with another error when the service stops */
export type Task = (signal: AbortSignal) => Promise<void>;

const INTERVAL_MS = HOUR_MS;
const LIMIT_MS = 15 * MINUTE_MS;
/**
 * The next task of a round starts when the previous one ends, or after this time. So the tasks, most of which take milliseconds, rarely use
 * more than one connection of the pool that serves requests.
 */
const PATIENCE_MS = 5_000;

type Deps<Name extends string> = {
  tasks: Record<Name, Task>;
  logger: Pick<Logger, 'warn'>;
  intervalMs?: number;
  /** Time limit of a run of a task. */
  limitMs?: number;
  /** For tasks with their own limit. */
  limits?: Partial<Record<Name, number>>;
  patienceMs?: number;
};

/**
 * Runs each task at the start and every hour. A task that fails or exceeds its limit is reported, and runs again an hour later; the others
 * run on time. A run that ignores its signal is abandoned: a second run at the same time is harmless, because all instances run all tasks.
 */
export const createScheduler = <Name extends string>({
  tasks,
  logger,
  intervalMs = INTERVAL_MS,
  limitMs = LIMIT_MS,
  limits = {},
  patienceMs = PATIENCE_MS,
}: Deps<Name>) => {
  const names = Object.keys(tasks) as Name[];
  /** The unfinished last run of each task. */
  const running = new Map<Name, Promise<void>>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const run = async (name: Name): Promise<void> => {
    const limit = new AbortController();
    const startedAt = performance.now();
    const work = () => tasks[name](AbortSignal.any([stopping.signal, limit.signal]));
    const outcome = await runWithin(limits[name] ?? limitMs, limit, work).then(
      () => 'ok' as const,
      (error: unknown) => {
        // The task continues after the next start.
        if (stopping.signal.aborted) return null;
        logger.warn({ err: error, task: name }, 'scheduled task failed');
        return error === limit.signal.reason ? ('timeout' as const) : ('failed' as const);
      },
    );
    if (outcome === null) return;
    const seconds = (performance.now() - startedAt) / 1000;
    telemetry.task.publish(() => ({ task: name, outcome, seconds }));
  };

  const enqueue = (name: Name): Promise<void> => {
    const ended = (running.get(name) ?? Promise.resolve())
      .then(() => (stopping.signal.aborted ? undefined : run(name)))
      .finally(() => {
        if (running.get(name) === ended) running.delete(name);
      });
    running.set(name, ended);
    return ended;
  };
  const runRound = async (): Promise<void> => {
    for (const name of names) {
      if (running.has(name)) continue;
      await Promise.race([enqueue(name), sleep(patienceMs, undefined, { ref: false })]);
    }
  };

  return {
    /** Runs one task, after its current run. */
    runSoon: (name: Name): void => void enqueue(name),

    start: (): void => {
      void runRound();
      timer = setInterval(() => void runRound(), intervalMs).unref();
    },

    /** Starts no more tasks, aborts the running ones and waits for them. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      stopping.abort(new Error('The service stops.'));
      await Promise.all(running.values());
    },
  };
};

/** @throws DOMException `TimeoutError` at the limit; `limit` is aborted with the same error */
const runWithin = async (limitMs: number, limit: AbortController, work: () => Promise<void>) => {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new DOMException(`The task did not end within ${limitMs / 1000} s.`, 'TimeoutError');
    // First, because the task may fail when it is aborted.
    reject(error);
    limit.abort(error);
  }, limitMs);
  try {
    await Promise.race([work(), expired]);
  } finally {
    clearTimeout(timer);
  }
};
