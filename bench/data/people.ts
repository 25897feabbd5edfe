import { DAY_MS } from '../../src/lib/clock.ts';
import { DEPARTMENTS, FIRST_NAMES, LAST_NAMES, LOCALES } from './names.ts';
import { before, type Plan } from './plan.ts';
import { createChoice, createRandom, type Random } from './random.ts';
import type { Client } from './tenants.ts';

export type Person = {
  id: number;
  email: string;
  firstName: string;
  lastName: string;
  extra: Record<string, unknown>;
  /** Those they belong to; officers aside, everybody has one. */
  clients: Client[];
  isAdmin: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
  isActive: boolean;
  isDemoUser: boolean;
  /** Only the officers have one. */
  hasPassword: boolean;
  dateJoined: Date;
  lastLogin: Date | null;
};

/** The officers: a superuser, a staff member, and an admin of the first client. */
export const ROOT = 'root@bench.test';
export const STAFF = 'staff@bench.test';
export const ADMIN = 'admin@client-1.test';

const OFFICERS = 3;
const ADMINS_PER_CLIENT = 2;
const MEMBER_SINCE_DAYS = 1000;

/** As many people as planned, spread over the clients by their size, the officers first. */
export const makePeople = (plan: Plan, clients: [Client, ...Client[]]): Person[] => {
  const random = createRandom(plan.seed, 'people');
  const bySize = createChoice(clients.map(({ size }) => size));
  const pickClient = (): Client => clients[bySize.choose(random)] ?? clients[0];

  const admins = clients.flatMap((client) => Array.from({ length: ADMINS_PER_CLIENT }, () => client));
  const officers = [
    { ...makePerson(plan, 1, random, []), email: ROOT, isStaff: true, isSuperuser: true },
    { ...makePerson(plan, 2, random, []), email: STAFF, isStaff: true },
    { ...makePerson(plan, 3, random, [clients[0]]), email: ADMIN, isAdmin: true },
  ].map((person) => ({ ...person, hasPassword: true, isActive: true, isDemoUser: false }));
  const others = Array.from({ length: plan.users - OFFICERS }, (_, index) => {
    const administered = admins[index];
    const own = administered ?? pickClient();
    const isOfTwo = administered === undefined && random.isOnce(0.05);
    const person = makePerson(plan, OFFICERS + index + 1, random, isOfTwo ? [own, pickClient()] : [own]);
    return administered ? { ...person, isAdmin: true, isActive: true } : person;
  });
  return [...officers, ...others];
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
    isActive: !random.isOnce(0.04),
    isDemoUser: random.isOnce(0.02),
    hasPassword: false,
    dateJoined: before(plan, joinedDays * DAY_MS + random.below(DAY_MS)),
    lastLogin: random.isOnce(0.9) ? before(plan, random.below(plan.days * DAY_MS)) : null,
  };
};

/** `Jörg Müller` is `jorg.muller`. */
const localPart = (...names: string[]): string =>
  names
    .join('.')
    .normalize('NFD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase();
