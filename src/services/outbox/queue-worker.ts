import { setTimeout as pause } from 'node:timers/promises';
import type { Notifications } from '../../db/pg-listener.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';

const POLL_MS = 30_000;
/** Interval of polling while notifications are unavailable. */
const UNNOTIFIED_POLL_MS = 5_000;
/** Minimum pause: due items that cannot be claimed are briefly locked by another worker. */
const MIN_PAUSE_MS = 250;
const RETRY_MS = 2_000;
const STOP_MS = 8_000;
/** Time to record interrupted deliveries. */
const RECORD_MS = 1_000;

/** `next_attempt_at`: the end of the lease, when another worker may claim it. */
type Claimed = { next_attempt_at: Date };

/** Stores the result of a delivery. Retries while the database is unavailable, until the lease ends: a lost result would deliver again. */
type Store = (write: () => Promise<void>) => Promise<void>;

/** A table of items to deliver to an external system, for any number of workers in any number of instances. */
export type Queue<T extends Claimed> = {
  /** The name of the queue in the log. */
  name: string;
  /** Concurrent deliveries of one worker; if the worker is killed, these may be repeated. 0: nothing is delivered. */
  maxInFlight: number;
  /** Leases up to `limit` due items. `found` also counts items that need no delivery any more. */
  claim: (limit: number) => Promise<{ claimed: T[]; found: number }>;
  /** Gives back items that were claimed too late. */
  release: (items: readonly T[]) => Promise<void>;
  /** Never rejects. */
  deliver: (item: T, store: Store) => Promise<void>;
  /** Milliseconds until an item can be claimed; null if none is queued. */
  msUntilDue: () => Promise<number | null>;
  /** Interrupts running deliveries. */
  close: () => void;
};

export type WorkerOptions = {
  /** Starts to listen for new items. */
  listen: (onHeard: () => void) => Notifications;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
  pollMs?: number | undefined;
  retryMs?: number | undefined;
  stopMs?: number | undefined;
};

/** Share of each wait that is random, so that items that failed together are not retried together. */
const JITTER = 0.25;

/** How long to wait after an attempt: `baseMs` after the first, then twice that, four times … up to `maxMs`. */
export const backoffOf = (attempts: number, baseMs: number, maxMs: number): number =>
  Math.min(maxMs, baseMs * 2 ** (attempts - 1) * (1 + JITTER * Math.random()));

/** Events within this time are delivered together. */
const THROTTLE_MS = 50;

/** Calls a function once for all calls within a short time. */
export const throttle = (onHeard: () => void) => {
  let isPlanned = false;
  return (): void => {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(() => {
      isPlanned = false;
      onHeard();
    }, THROTTLE_MS).unref();
  };
};

/** Delivers the items of a queue. Every instance runs one worker per queue; the workers share the queue through the database. */
export const createQueueWorker = <T extends Claimed>(
  queue: Queue<T>,
  { listen, clock, logger, pollMs = POLL_MS, retryMs = RETRY_MS, stopMs = STOP_MS }: WorkerOptions,
) => {
  let wakeUp = new AbortController();
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let isDatabaseUnavailable = false;
  let running: Promise<void> | undefined;
  let notifications: Notifications | undefined;

  const isFull = (): boolean => inFlight.size > 0 && inFlight.size >= queue.maxInFlight;
  const wake = (): void => wakeUp.abort();
  /** Ends early if there was a wake-up since the last check for work, so that no wake-up is lost. */
  const sleep = (ms: number): Promise<void> =>
    pause(ms, undefined, { ref: false, signal: wakeUp.signal }).catch(() => {}); // it was woken

  const onDatabaseError = (err: unknown): void => {
    if (!isDatabaseUnavailable)
      logger.warn({ err }, `the ${queue.name} worker cannot reach the database; retrying`);
    isDatabaseUnavailable = true;
  };

  const storeUntil =
    (leaseEnd: Date): Store =>
    async (write) => {
      for (;;) {
        try {
          return await write();
        } catch (error) {
          onDatabaseError(error);
          if (signal.aborted || clock.now() >= leaseEnd) return;
          await pause(retryMs, undefined, { ref: false });
        }
      }
    };

  /** Starts to deliver due items, as many as there is room for. Returns how many it found. */
  const startDue = async (): Promise<number> => {
    if (isFull()) return 0;
    const { claimed, found } = await queue.claim(queue.maxInFlight - inFlight.size);
    if (signal.aborted) {
      await queue.release(claimed);
      return 0;
    }
    for (const item of claimed) {
      const work = queue.deliver(item, storeUntil(item.next_attempt_at)).finally(() => {
        inFlight.delete(work);
        wake();
      });
      inFlight.add(work);
    }
    return found;
  };

  const pauseMs = async (): Promise<number> => {
    const dueMs = isFull() ? null : await queue.msUntilDue();
    const longestMs = notifications?.isListening() ? pollMs : Math.min(pollMs, UNNOTIFIED_POLL_MS);
    return Math.min(longestMs, Math.max(MIN_PAUSE_MS, dueMs ?? longestMs));
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      wakeUp = new AbortController();
      try {
        const found = await startDue();
        isDatabaseUnavailable = false;
        if (found === 0 || isFull()) await sleep(await pauseMs());
      } catch (error) {
        onDatabaseError(error);
        await sleep(retryMs);
      }
    }
  };

  return {
    start: (): void => {
      notifications = listen(wake);
      running = run();
    },

    /** Delivers all due items and waits for them. */
    drain: async (): Promise<void> => {
      for (;;) {
        wakeUp = new AbortController();
        const found = await startDue();
        // A delivery that was recorded meanwhile may have made other items due.
        if (wakeUp.signal.aborted) continue;
        if (inFlight.size > 0) await Promise.race(inFlight);
        else if (found === 0) return;
      }
    },

    /** Claims no more items and gives running deliveries 8 s to finish. */
    stop: async (): Promise<void> => {
      stopping.abort();
      wake();
      const closeTimer = setTimeout(queue.close, stopMs);
      const finished = Promise.all([notifications?.close(), running]).then(() => Promise.all(inFlight));
      await Promise.race([finished, pause(stopMs + RECORD_MS, undefined, { ref: false })]);
      clearTimeout(closeTimer);
      queue.close();
    },
  };
};
