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

const INTERVAL_MS = 25;
/** Only ends what hangs: a busy machine can take many times as long as an idle one. */
const TIMEOUT_MS = 60_000;

/** Polls until `isSo` returns true. At the deadline it fails with `what`. */
export const until = async (
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> => {
  const deadline = Date.now() + timeoutMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await sleep(INTERVAL_MS);
  }
};

/** Repeats a check until it passes. At the deadline it fails as the check last did. */
export const eventually = async (check: () => Promise<void>): Promise<void> => {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(INTERVAL_MS);
  }
};
