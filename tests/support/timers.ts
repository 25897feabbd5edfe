import { mock } from 'node:test';

/**
 * Stops the timers of `setTimeout` while it works. `advance` lets those run out that are due then; a socket's own time limits and
 * `AbortSignal.timeout` are not affected.
 */
export const withStoppedTimers = async <T>(
  work: (advance: (ms: number) => void) => Promise<T>,
): Promise<T> => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    return await work((ms) => mock.timers.tick(ms));
  } finally {
    mock.timers.reset();
  }
};
