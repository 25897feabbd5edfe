/** A worker that ran this long did not fail during startup. */
const STABLE_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Consecutive exits without any listening worker before giving up. Before the first worker has listened, one is enough. */
const MAX_FAILED_STARTS = 8;

type Exit = { uptimeMs: number; areOthersListening: boolean };

/** Decides how long to wait before replacing a worker that exited. */
export const createRestartPolicy = () => {
  let hasListened = false;
  let failedStarts = 0;
  let earlyExits = 0;

  return {
    listened: (): void => {
      hasListened = true;
      failedStarts = 0;
    },
    /** The pause in milliseconds, with exponential backoff for early exits; null to give up. */
    pauseAfter: ({ uptimeMs, areOthersListening }: Exit): number | null => {
      failedStarts += 1;
      earlyExits = uptimeMs < STABLE_MS ? earlyExits + 1 : 0;
      if (!areOthersListening && failedStarts > (hasListened ? MAX_FAILED_STARTS : 0)) return null;
      return earlyExits < 2 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (earlyExits - 2));
    },
  };
};
