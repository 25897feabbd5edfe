import type { Person } from './people.ts';
import type { Plan } from './plan.ts';
import { createChoice, createRandom, type Random } from './random.ts';
import type { App } from './tenants.ts';

/** A person may open an app. */
export type Grant = {
  person: Person;
  app: App;
  /** How much this person does there, next to others: a few do most of it. */
  activity: number;
};

const MAX_APPS = 5;
/** Exponent of a Pareto distribution, cut off at 100 times the least. */
const ACTIVITY_EXPONENT = 0.6;
const MIN_SHARE = 100 ** (-1 / ACTIVITY_EXPONENT);

/** One to five apps of their clients for each member, the popular ones more often. */
export const makeGrants = (plan: Plan, people: readonly Person[]): Grant[] => {
  const random = createRandom(plan.seed, 'grants');
  return people.flatMap((person) => {
    const apps = person.clients.flatMap((client) => client.apps);
    const count = Math.min(1 + random.below(MAX_APPS), apps.length);
    const activity = Math.max(random.fraction(), MIN_SHARE) ** -ACTIVITY_EXPONENT;
    return pickApps(apps, count, random).map((app) => ({ person, app, activity: activity * app.popularity }));
  });
};

const pickApps = (apps: readonly App[], count: number, random: Random): App[] => {
  const choice = createChoice(apps.map(({ popularity }) => popularity));
  const picked = new Set<App>();
  while (picked.size < count) {
    const app = apps[choice.choose(random)];
    if (app) picked.add(app);
  }
  return [...picked];
};
