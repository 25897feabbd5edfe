import { setTimeout as sleep } from 'node:timers/promises';

/** The time of all tests, at which the demo workspace was filled. */
export const NOON = new Date('2026-11-21T12:00:00.000Z');

/** A clock that stands still at NOON until a test advances it. */
export const createTestClock = () => {
  let at = NOON.getTime();
  return {
    now: () => new Date(at),
    advance: (ms: number): void => {
      at += ms;
    },
  };
};

/** A clock that starts at NOON and runs, for workers that wait for real. */
export const createRunningClock = () => {
  const startedAt = performance.now();
  return { now: () => new Date(NOON.getTime() + performance.now() - startedAt) };
};

let passedMs = 0;
const measured = performance.now.bind(performance);

/** Lets all ages that the service measures by `performance.now()` grow at once. Timers do not end earlier. */
export const passTime = (ms: number): void => {
  passedMs += ms;
  performance.now = () => measured() + passedMs;
};

/** The CPU time of this process. It does not pass while a busy machine lets the process wait. */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const MIN_INTERVAL_MS = 25;
const MAX_INTERVAL_MS = 100;
/** Long waits poll less often: a check may read much, and takes CPU time from what it waits for. */
const pauseSince = (started: number): Promise<void> =>
  sleep(Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, (Date.now() - started) / 10)));

/** Only ends what hangs: a busy machine can take many times as long as an idle one. */
const TIMEOUT_MS = 60_000;

/** Polls until `isSo` returns true. At the deadline it fails with `what`. */
export const until = async (
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> => {
  const started = Date.now();
  while (!(await isSo())) {
    if (Date.now() - started > timeoutMs) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await pauseSince(started);
  }
};

const STALL_INTERVAL_MS = 20;
const MAX_TRIES = 5;

/**
 * Runs work that must take its steps within a limited time. If it fails although this process stood still for `stallMs`, as it
 * does on a busy machine, the failure says nothing, and the work runs again.
 */
export const despiteStalls = async <T>(stallMs: number, work: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    let longestMs = 0;
    let last = performance.now();
    const measure = (): void => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
    };
    const timer = setInterval(measure, STALL_INTERVAL_MS);
    const [outcome] = await Promise.allSettled([work()]);
    clearInterval(timer);
    measure();
    if (outcome.status === 'fulfilled') return outcome.value;
    if (longestMs < stallMs || tries === MAX_TRIES) throw outcome.reason;
    console.log(`\n# repeated after a stall of ${Math.round(longestMs)} ms`);
  }
};

/** Repeats a check until it passes. At the deadline it fails as the check last did. */
export const eventually = async (check: () => Promise<void>): Promise<void> => {
  const started = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() - started > TIMEOUT_MS) throw error;
    }
    await pauseSince(started);
  }
};
