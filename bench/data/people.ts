import { DAY_MS } from '../../src/lib/clock.ts';
import { before, type Plan } from './plan.ts';
import {
  createChoice,
  createRandom,
  DEPARTMENTS,
  FIRST_NAMES,
  LAST_NAMES,
  LOCALES,
  type Random,
} from './random.ts';
import type { App, Client } from './tenants.ts';

export type Person = {
  id: number;
  email: string;
  firstName: string;
  lastName: string;
  extra: Record<string, unknown>;
  /** All but the accounts with roles belong to at least one. */
  clients: Client[];
  isAdmin: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  isActive: boolean;
  isDemoUser: boolean;
  /** Only accounts with roles have one. */
  hasPassword: boolean;
  dateJoined: Date;
  lastLogin: Date | null;
};

/** Accounts with roles: a superuser, a staff member, and an admin of the first client. */
export const ROOT = 'root@bench.test';
export const STAFF = 'staff@bench.test';
export const ADMIN = 'admin@client-1.test';

const ROLE_ACCOUNTS = 3;
const ADMINS_PER_CLIENT = 2;
const MEMBER_SINCE_DAYS = 1000;

/** The accounts with roles, then other people, spread over the clients by size. */
export const makePeople = (plan: Plan, clients: [Client, ...Client[]]): Person[] => {
  const random = createRandom(plan.seed, 'people');
  const bySize = createChoice(clients.map(({ size }) => size));
  const pickClient = (): Client => clients[bySize.choose(random)] ?? clients[0];

  const admins = clients.flatMap((client) => Array.from({ length: ADMINS_PER_CLIENT }, () => client));
  const roleAccounts = [
    { ...makePerson(plan, 1, random, []), email: ROOT, isStaff: true, isSuperuser: true },
    { ...makePerson(plan, 2, random, []), email: STAFF, isStaff: true },
    { ...makePerson(plan, 3, random, [clients[0]]), email: ADMIN, isAdmin: true },
  ].map((person) => ({ ...person, hasPassword: true, isActive: true, isDemoUser: false }));
  const others = Array.from({ length: plan.users - ROLE_ACCOUNTS }, (_, index) => {
    const administered = admins[index];
    const own = administered ?? pickClient();
    const isOfTwo = administered === undefined && random.chance(0.05);
    const person = makePerson(plan, ROLE_ACCOUNTS + index + 1, random, isOfTwo ? [own, pickClient()] : [own]);
    return administered ? { ...person, isAdmin: true, isActive: true } : person;
  });
  return [...roleAccounts, ...others];
};

const makePerson = (plan: Plan, id: number, random: Random, clients: Client[]): Person => {
  const firstName = random.pick(FIRST_NAMES);
  const lastName = random.pick(LAST_NAMES);
  const joinedDays = plan.days + random.below(MEMBER_SINCE_DAYS);
  const [client] = clients;
  return {
    id,
    email: `${localPart(firstName, lastName)}${id}@client-${client?.id ?? 0}.test`,
    firstName,
    lastName,
    extra: {
      department: `${random.pick(DEPARTMENTS)} ${random.below(20)}`,
      phone: `+49 30 ${1_000_000 + id}`,
      locale: random.pick(LOCALES),
      flags: [random.below(2), random.below(3)],
    },
    clients: [...new Set(clients)],
    isAdmin: false,
    isStaff: false,
    isSuperuser: false,
    isActive: !random.chance(0.04),
    isDemoUser: random.chance(0.02),
    hasPassword: false,
    dateJoined: before(plan, joinedDays * DAY_MS + random.below(DAY_MS)),
    lastLogin: random.chance(0.9) ? before(plan, random.below(plan.days * DAY_MS)) : null,
  };
};

/** Converts `Jörg Müller` to `jorg.muller`. */
const localPart = (...names: string[]): string =>
  names
    .join('.')
    .normalize('NFD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();

/** Access of a person to an app. */
export type Grant = {
  person: Person;
  app: App;
  /** Relative number of actions: few people do most of them. */
  activity: number;
};

const MAX_APPS = 5;
/** Exponent of a Pareto distribution, cut off at 100 times the minimum. */
const ACTIVITY_EXPONENT = 0.6;
const MIN_SHARE = 100 ** (-1 / ACTIVITY_EXPONENT);

/** Grants each member one to five apps of their clients, popular ones more often. */
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
