import { useEffect, useState } from 'react';

/** The longest wait of a browser's timer; browsers end longer ones at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** How far the clock of the service is ahead of the browser's, according to the last response. */
let aheadMs = 0;

/** Reads the header `Date`, which is exact to the second. */
export const noteServerTime = (headers: Headers): void => {
  const time = Date.parse(headers.get('date') ?? '');
  if (!Number.isNaN(time)) aheadMs = time - Date.now();
};

/** The time of the service. Use it to decide what has ended: the browser's clock may be minutes off. */
export const serverNow = (): number => Date.now() + aheadMs;

/** Whether a time has passed by the clock of the service; false without a time. */
export const useIsOver = (time: Date | null): boolean => {
  const left = time === null ? Number.POSITIVE_INFINITY : time.getTime() - serverNow();
  const [, setOver] = useState(0);
  useEffect(() => {
    if (left <= 0 || left > MAX_TIMER_MS) return;
    const timer = setTimeout(() => setOver((count) => count + 1), left + 1);
    return () => clearTimeout(timer);
  }, [left]);
  return left <= 0;
};
