import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 25;

/** Polls until `isSo` returns true. At the deadline it fails with `what`. */
export const until = async (
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = 20_000,
): Promise<void> => {
  const deadline = Date.now() + timeoutMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain: ${what}`);
    await sleep(INTERVAL_MS);
  }
};

/** Repeats a check until it passes. At the deadline it fails as the check last did. */
export const eventually = async (check: () => Promise<void>, timeoutMs = 10_000): Promise<void> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(INTERVAL_MS);
  }
};
