import { DAY_MS } from '../../lib/clock.ts';

/** By which usage is grouped. Weeks begin on Monday. */
export const USAGE_INTERVALS = ['day', 'week', 'month'] as const;
export type UsageInterval = (typeof USAGE_INTERVALS)[number];

/** A range of UTC days; `end` is exclusive. */
export type Period = { start: Date; end: Date };

const addDays = (day: Date, days: number): Date => new Date(day.getTime() + days * DAY_MS);

/** The first day of the interval that contains `at`, `count` intervals later. */
const startOf = (interval: UsageInterval, at: Date, count = 0): Date => {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (interval === 'month') return new Date(Date.UTC(year, month + count, 1));
  const first = interval === 'week' ? day - ((at.getUTCDay() + 6) % 7) : day;
  return new Date(Date.UTC(year, month, first + count * (interval === 'week' ? 7 : 1)));
};

/**
 * The last `count` intervals until today, newest first, each with its counterpart: the one `count` intervals before. The
 * interval of today ends with today, and its counterpart has as many days at most.
 */
export const comparedPeriods = (interval: UsageInterval, count: number, now: Date) =>
  Array.from({ length: count }, (_, back) => {
    const current = { start: startOf(interval, now, -back), end: startOf(interval, now, 1 - back) };
    const previous = {
      start: startOf(interval, now, -back - count),
      end: startOf(interval, now, 1 - back - count),
    };
    if (back > 0) return { current, previous };
    const end = startOf('day', now, 1);
    const sameLength = new Date(previous.start.getTime() + end.getTime() - current.start.getTime());
    return {
      current: { ...current, end },
      previous: { ...previous, end: sameLength < previous.end ? sameLength : previous.end },
    };
  });

/** The last day of a period. */
export const lastDayOf = ({ end }: Period): Date => addDays(end, -1);
