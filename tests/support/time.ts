import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, DAY_MS } from '../../src/lib/clock.ts';

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

const MIN_INTERVAL_MS = 25;
const MAX_INTERVAL_MS = 100;
/** Long waits poll less often: a check may read much, and takes CPU time from what it waits for. */
const pauseSince = (started: number): Promise<void> =>
  sleep(Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, (Date.now() - started) / 10)));

/** Only ends what hangs. */
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

/** As `until`, for a state that assertions describe. At the deadline it fails as they last did. */
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

export const inDays = ({ clock }: { clock: Clock }, days: number): Date =>
  new Date(clock.now().getTime() + days * DAY_MS);
