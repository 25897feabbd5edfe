/** A worker that has lived as long did not die of how it was started. */
const SETTLED_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Ends in a row before any worker listens, after which waiting helps no more; at the very start the first tells. */
const MAX_FAILED_STARTS = 8;

type End = { livedMs: number; areOthersListening: boolean };

/** How long to wait before a worker that has ended is replaced. */
export const createRestartPolicy = () => {
  let hasEverListened = false;
  let failedStarts = 0;
  let earlyEnds = 0;

  return {
    listened: (): void => {
      hasEverListened = true;
      failedStarts = 0;
    },
    /** Milliseconds: none at first, and longer with each that ends early; null when none can start any more. */
    pauseAfter: ({ livedMs, areOthersListening }: End): number | null => {
      failedStarts += 1;
      earlyEnds = livedMs < SETTLED_MS ? earlyEnds + 1 : 0;
      if (!areOthersListening && failedStarts > (hasEverListened ? MAX_FAILED_STARTS : 0)) return null;
      return earlyEnds < 2 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (earlyEnds - 2));
    },
  };
};
