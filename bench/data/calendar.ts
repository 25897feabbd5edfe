import { DAY_MS } from '../../src/lib/clock.ts';
import { before, HOT_DAYS, type Plan } from './plan.ts';
import { createChoice, type Random } from './random.ts';

/** One day of the log: which entries it gets, by their numbers, and how many of them are the hot app's. */
export type LogDay = { start: Date; firstId: number; entries: number; hot: number; isHot: boolean };

/** Sunday first. */
const WEEKDAYS = [0.15, 1, 1.1, 1.15, 1.1, 0.9, 0.2];
/** From midnight to midnight: mornings, a break at noon, and afternoons. */
const HOURS = [1, 1, 1, 1, 1, 2, 5, 12, 28, 40, 42, 38, 24, 34, 40, 38, 30, 20, 12, 8, 6, 4, 2, 1];
const HOUR_MS = DAY_MS / HOURS.length;

/** The days of the log, the oldest first. */
export const makeCalendar = (plan: Plan): LogDay[] => {
  const starts = Array.from({ length: plan.days }, (_, index) => before(plan, (plan.days - index) * DAY_MS));
  const weights = starts.map((start) => WEEKDAYS[start.getUTCDay()] ?? 1);
  const isHotDay = (index: number): boolean => index >= plan.days - HOT_DAYS;
  const others = shares(plan.entries - plan.hotEntries, weights);
  const hot = shares(
    plan.hotEntries,
    weights.map((weight, index) => (isHotDay(index) ? weight : 0)),
  );

  let firstId = 1;
  return starts.map((start, index) => {
    const day = { start, firstId, hot: hot[index] ?? 0, entries: (others[index] ?? 0) + (hot[index] ?? 0) };
    firstId += day.entries;
    // The day before the hot ones is partly in a window of 30 days, too: the hot app does nothing on it.
    return { ...day, isHot: plan.hotEntries > 0 && isHotDay(index + 1) };
  });
};

/** Divides a whole number by weights, into whole numbers that add up to it. */
const shares = (total: number, weights: readonly number[]): number[] => {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  let reached = 0;
  let given = 0;
  return weights.map((weight) => {
    reached += weight;
    const share = Math.round((total * reached) / sum) - given;
    given += share;
    return share;
  });
};

const hours = createChoice(HOURS);

/** Milliseconds since 1970 of each entry of a day, ascending. */
export const timesOf = (day: LogDay, random: Random): Float64Array =>
  Float64Array.from(
    { length: day.entries },
    () => day.start.getTime() + hours.choose(random) * HOUR_MS + random.below(HOUR_MS),
  ).sort();
