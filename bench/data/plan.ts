import { DAY_MS } from '../../src/lib/clock.ts';
import { createChoice, type Random } from './random.ts';

/** The amount of data to generate. The same plan gives the same rows. */
export type Plan = {
  users: number;
  apps: number;
  clients: number;
  entries: number;
  /** Entries of the first app within `HOT_DAYS` before `until`; 0 leaves it to chance. */
  hotEntries: number;
  /** Length of the log. */
  days: number;
  seed: number;
  /** Midnight UTC at which the log ends. */
  until: Date;
};

/** A window of 30 days that ends within the day after `until` contains all of these 29. */
export const HOT_DAYS = 29;

export class InvalidPlan extends Error {}

/** @throws InvalidPlan with a sentence per error */
export const checkPlan = (plan: Plan): Plan => {
  const { users, apps, clients, entries, hotEntries, days, until } = plan;
  const errors = [
    clients < 1 && 'A plan needs a client.',
    clients > apps && 'Each client needs an app: there cannot be more clients than apps.',
    users < 10 * clients && 'Each client needs ten users.',
    hotEntries > entries && 'The first app cannot have more entries than there are.',
    hotEntries > 0 && apps < 2 && 'With hot entries, a plan needs a second app.',
    days <= HOT_DAYS && `The log must go back more than ${HOT_DAYS} days.`,
    until.getTime() % DAY_MS !== 0 && 'The log must end at midnight UTC.',
  ].filter((error) => error !== false);
  if (errors.length > 0) throw new InvalidPlan(errors.join('\n'));
  return plan;
};

/** The time `ageMs` before the log ends. */
export const before = ({ until }: Plan, ageMs: number): Date => new Date(until.getTime() - ageMs);

export const startOfLog = (plan: Plan): Date => before(plan, plan.days * DAY_MS);

/** One day of the log: its first entry id, and the numbers of all entries and of the hot app's. */
export type LogDay = { start: Date; firstId: number; entries: number; hot: number; isHot: boolean };

/** Sunday first. */
const WEEKDAYS = [0.15, 1, 1.1, 1.15, 1.1, 0.9, 0.2];
/** By hour of the day: mornings, a break at noon, and afternoons. */
const HOURS = [1, 1, 1, 1, 1, 2, 5, 12, 28, 40, 42, 38, 24, 34, 40, 38, 30, 20, 12, 8, 6, 4, 2, 1];
const HOUR_MS = DAY_MS / HOURS.length;

/** The days of the log, oldest first. */
export const makeCalendar = (plan: Plan): LogDay[] => {
  const starts = Array.from({ length: plan.days }, (_, index) => before(plan, (plan.days - index) * DAY_MS));
  const weights = starts.map((start) => WEEKDAYS[start.getUTCDay()] ?? 1);
  const isHotDay = (index: number): boolean => index >= plan.days - HOT_DAYS;
  const others = splitByWeight(plan.entries - plan.hotEntries, weights);
  const hot = splitByWeight(
    plan.hotEntries,
    weights.map((weight, index) => (isHotDay(index) ? weight : 0)),
  );

  let firstId = 1;
  return starts.map((start, index) => {
    const day = { start, firstId, hot: hot[index] ?? 0, entries: (others[index] ?? 0) + (hot[index] ?? 0) };
    firstId += day.entries;
    // The day before the hot days is partly in a window of 30 days: the hot app has no entries on it.
    return { ...day, isHot: plan.hotEntries > 0 && isHotDay(index + 1) };
  });
};

/** Splits an integer by weights into integers with the same sum. */
const splitByWeight = (total: number, weights: readonly number[]): number[] => {
  const sum = weights.reduce((all, weight) => all + weight, 0);
  let cumulative = 0;
  let assigned = 0;
  return weights.map((weight) => {
    cumulative += weight;
    const share = Math.round((total * cumulative) / sum) - assigned;
    assigned += share;
    return share;
  });
};

const hours = createChoice(HOURS);

/** Timestamps of a day's entries in milliseconds, ascending. */
export const timesOf = (day: LogDay, random: Random): Float64Array =>
  Float64Array.from(
    { length: day.entries },
    () => day.start.getTime() + hours.choose(random) * HOUR_MS + random.below(HOUR_MS),
  ).sort();
