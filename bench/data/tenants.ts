import { type Plan, startOfLog } from './plan.ts';
import { createRandom, type Random } from './random.ts';

export type Stack = { id: string; slug: string; label: string };
export type App = {
  id: string;
  slug: string;
  label: string;
  clientId: number;
  createdAt: Date;
  /** Usage relative to other apps of the client. */
  popularity: number;
  stacks: [Stack, ...Stack[]];
};
export type Client = { id: number; name: string; domain: string; size: number; apps: [App, ...App[]] };

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SUBJECTS = ['Sales', 'Churn', 'Fleet', 'Stock', 'Margins', 'Hiring', 'Energy', 'Returns'] as const;
const STACKS = ['Overview', 'Trends', 'Regions', 'Products', 'Forecast', 'Quality'] as const;
const MIN_STACKS = 2;

/** Exponents of the power laws by which sizes of clients and apps fall with rank (Zipf's law has 1). */
const CLIENT_EXPONENT = 0.7;
const APP_EXPONENT = 1;

/** Assigns apps to clients round-robin; the first app of the first client is the most used. */
export const makeTenants = (plan: Plan): { clients: [Client, ...Client[]]; apps: App[] } => {
  const random = createRandom(plan.seed, 'tenants');
  const ids = { apps: new Set<string>(), stacks: new Set<string>() };
  const apps = Array.from({ length: plan.apps }, (_, index) => makeApp(plan, index, random, ids));
  const clients = Array.from({ length: plan.clients }, (_, index) => makeClient(index + 1, apps));
  const [first, ...others] = clients;
  if (!first) throw new Error('A plan has a client.');
  return { clients: [first, ...others], apps };
};

const makeClient = (id: number, apps: App[]): Client => {
  const [first, ...others] = apps.filter(({ clientId }) => clientId === id);
  if (!first) throw new Error('A plan has an app for each client.');
  const name = `Client ${id}`;
  return {
    id,
    name,
    domain: `client-${id}.bench.test`,
    size: id ** -CLIENT_EXPONENT,
    apps: [first, ...others],
  };
};

type UsedIds = { apps: Set<string>; stacks: Set<string> };

const makeApp = (plan: Plan, index: number, random: Random, taken: UsedIds): App => {
  const number = index + 1;
  const rankInClient = Math.floor(index / plan.clients) + 1;
  return {
    id: unused(taken.apps, () => random.text(ALPHANUMERIC, 8)),
    slug: `app-${String(number).padStart(3, '0')}`,
    label: `${SUBJECTS[index % SUBJECTS.length]} ${number}`,
    clientId: (index % plan.clients) + 1,
    // Lists of apps are ordered by age: one millisecond apart.
    createdAt: new Date(startOfLog(plan).getTime() + index),
    popularity: rankInClient ** -APP_EXPONENT,
    stacks: makeStacks(random, taken.stacks),
  };
};

const makeStacks = (random: Random, taken: Set<string>): [Stack, ...Stack[]] => {
  const makeStack = (label: string): Stack => ({
    id: unused(taken, random.hex8),
    slug: label.toLowerCase(),
    label,
  });
  const count = MIN_STACKS + random.below(STACKS.length - MIN_STACKS + 1);
  return [makeStack(STACKS[0]), ...STACKS.slice(1, count).map(makeStack)];
};

const unused = (taken: Set<string>, make: () => string): string => {
  for (;;) {
    const id = make();
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
};
