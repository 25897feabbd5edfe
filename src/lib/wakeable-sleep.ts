/**
 * A sleep that can be ended early, like a condition variable with memory: a wake-up between two sleeps ends the next one
 * immediately, so that none is lost. Does not keep the process alive.
 */
export const createWakeableSleep = () => {
  let isWoken = false;
  let wakeUp = (): void => {};

  return {
    wake: (): void => {
      isWoken = true;
      wakeUp();
    },

    /** Discards earlier wake-ups. Call it before checking for work, not after. */
    reset: (): void => {
      isWoken = false;
    },

    sleep: async (ms: number): Promise<void> => {
      if (isWoken) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms).unref();
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
};
