import { DAY_MS } from '../../src/lib/clock.ts';

/** What a database is to be filled with. The same plan gives the same rows. */
export type Plan = {
  users: number;
  apps: number;
  clients: number;
  entries: number;
  /** So many of the entries are the first app's, within the `HOT_DAYS` before `until`; 0: as many as it happens to get. */
  hotEntries: number;
  /** How far back the log goes. */
  days: number;
  seed: number;
  /** Midnight UTC at which the log ends. */
  until: Date;
};

/** A window of 30 days that ends within the day after `until` holds all of these 29. */
export const HOT_DAYS = 29;

export class BadPlan extends Error {}

/** @throws BadPlan, with a sentence for each fault */
export const checkPlan = (plan: Plan): Plan => {
  const { users, apps, clients, entries, hotEntries, days, until } = plan;
  const faults = [
    clients < 1 && 'There must be a client.',
    clients > apps && 'Each client needs an app: there cannot be more clients than apps.',
    users < 10 * clients && 'Each client needs ten users.',
    hotEntries > entries && 'The first app cannot have more entries than there are.',
    hotEntries > 0 && apps < 2 && 'Besides a first app of its own there must be another.',
    days <= HOT_DAYS && `The log must go back more than ${HOT_DAYS} days.`,
    until.getTime() % DAY_MS !== 0 && 'The log must end at midnight UTC.',
  ].filter((fault) => fault !== false);
  if (faults.length > 0) throw new BadPlan(faults.join('\n'));
  return plan;
};

/** This instant, so many milliseconds before the log ends. */
export const before = ({ until }: Plan, ageMs: number): Date => new Date(until.getTime() - ageMs);

export const startOfLog = (plan: Plan): Date => before(plan, plan.days * DAY_MS);
