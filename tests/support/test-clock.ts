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
