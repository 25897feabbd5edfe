/**
 * A sleep that others can end. One that is rung while nobody sleeps ends the next sleep at once, so that nothing is
 * missed between looking and sleeping. Keeps no process alive.
 */
export const createWakeableSleep = () => {
  let isRung = false;
  let wakeUp = (): void => {};

  return {
    wake: (): void => {
      isRung = true;
      wakeUp();
    },

    /** Forgets what was rung so far: before looking, not after. */
    reset: (): void => {
      isRung = false;
    },

    sleep: async (ms: number): Promise<void> => {
      if (isRung) return;
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
