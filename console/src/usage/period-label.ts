import { dayText, shortDayText } from '../components/date-text.tsx';
import type { Interval } from './usage-filter.ts';

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `21 Nov 2026`, `16 Nov 2026 – 21 Nov 2026` or `Nov 2026`. */
export const periodLabel = (interval: Interval, start: string, end: string): string => {
  if (interval === 'month') return MONTH.format(new Date(start));
  return start === end ? dayText(start) : `${dayText(start)} – ${dayText(end)}`;
};

/** The first day of the period, as `16 Nov`, or `Nov 2026`. */
export const shortPeriodLabel = (interval: Interval, start: string): string =>
  interval === 'month' ? MONTH.format(new Date(start)) : shortDayText(start);
