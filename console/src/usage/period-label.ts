import type { Interval } from './usage-filter.ts';

/** `2026-11-21`, `2026-11-16 – 2026-11-21` or `2026-11`. */
export const periodLabel = (interval: Interval, start: string, end: string): string => {
  if (interval === 'month') return start.slice(0, 7);
  return start === end ? start : `${start} – ${end}`;
};
