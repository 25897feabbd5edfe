import type { Interval } from './usage-filter.ts';

const WEEK_DAYS = 7;

/**
 * Whether usage reaches back to the start of the previous period: a percentage of less would show growth that is none. Days without
 * use, such as weekends, are no gap until they are a week.
 * @param actions of the intervals of the previous period, oldest first
 */
export const isWholePeriod = (actions: readonly number[], interval: Interval): boolean =>
  actions.slice(0, interval === 'day' ? WEEK_DAYS : 1).some((count) => count > 0);
