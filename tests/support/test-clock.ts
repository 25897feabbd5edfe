/** A noon at which the demo workspace was filled, for every test. */
export const NOON = new Date('2026-11-21T12:00:00.000Z');

/** Stands still at that noon until a test moves it. */
export const createTestClock = () => {
  let at = NOON.getTime();
  return {
    now: () => new Date(at),
    advance: (ms: number): void => {
      at += ms;
    },
  };
};
