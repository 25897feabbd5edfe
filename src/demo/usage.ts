import { DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import type { UsageEntryInput } from '../services/usage/usage-writes.ts';
import {
  ALL_APPS,
  ALL_STACKS,
  APP_IN_MAINTENANCE,
  IDLE_APP,
  MAINTENANCE_DAYS,
  MEMBERS,
  type Member,
} from './organization.ts';
import { PEOPLE, STACKS, USAGE_DAYS } from './workspace.ts';

/** Between two actions. All actions of a day fit into its 24 hours. */
const STEP_MINUTES = 97;

type Person = { email: string; firstName: string; lastName: string };
type Stack = (typeof STACKS)[number];
type DemoEntry = UsageEntryInput & { appId: string };

/** Deterministic entries relative to `now`: each member of the workspace opens a few stacks per day. */
export const demoUsage = (now: Date): DemoEntry[] =>
  PEOPLE.flatMap((person, index) => {
    const stacks = STACKS.filter(({ appId }) => person.apps?.includes(appId));
    return daysOf(USAGE_DAYS).flatMap((day) =>
      Array.from({ length: 1 + ((day * 7 + index * 3) % 4) }, (_, step) => {
        const occurredAt = new Date(
          now.getTime() - day * DAY_MS - (step * STEP_MINUTES + index + 1) * MINUTE_MS,
        );
        return entryOf(person, stacks[(day + step) % stacks.length], occurredAt);
      }).flat(),
    );
  });

/** Entries of the other people: on working days between 7:00 and 18:00 UTC, seldom at weekends. */
export const organizationUsage = (now: Date): DemoEntry[] => {
  const random = createRandom(1);
  return MEMBERS.flatMap((member) =>
    daysOf(Math.min(USAGE_DAYS, member.joinedDaysAgo)).flatMap((day) =>
      entriesOfDay(member, day, now, random),
    ),
  );
};

const WEEKEND_SHARE = 0.12;
const FIRST_MINUTE = 7 * 60;
const WORKING_MINUTES = 11 * 60;

const entriesOfDay = (member: Member, day: number, now: Date, random: () => number): DemoEntry[] => {
  const midnight = new Date(now.getTime() - day * DAY_MS).setUTCHours(0, 0, 0, 0);
  const weekday = new Date(midnight).getUTCDay();
  const share = member.frequency * (weekday === 0 || weekday === 6 ? WEEKEND_SHARE : 1);
  const { lastSeenDaysAgo } = member;
  if (lastSeenDaysAgo === null || day < lastSeenDaysAgo || random() >= share) return [];
  const stacks = ALL_STACKS.filter(({ appId }) => member.apps.includes(appId) && isUsed(appId, day));
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
    const stack = stacks[Math.floor(random() * stacks.length)];
    const minute = FIRST_MINUTE + random() * WORKING_MINUTES;
    const occurredAt = new Date(midnight + Math.floor(minute * MINUTE_MS));
    return occurredAt < now ? entryOf(member, stack, occurredAt) : [];
  }).flat();
};

const isUsed = (appId: string, day: number): boolean =>
  appId === APP_IN_MAINTENANCE ? day > MAINTENANCE_DAYS : appId !== IDLE_APP;

const daysOf = (count: number): number[] => Array.from({ length: count }, (_, day) => day);

/** Mulberry32: the same numbers from 0 up to 1 in every demo. */
const createRandom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const entryOf = (person: Person, stack: Stack | undefined, occurredAt: Date): DemoEntry[] => {
  const app = ALL_APPS.find(({ id }) => id === stack?.appId);
  if (!app || !stack) return [];
  const path = `/apps/${app.slug}/${stack.slug}/`;
  const request = { path, session: `demo-${occurredAt.getTime().toString(36)}`, META: metaOf(path) };
  const entry = {
    appId: app.id,
    email: person.email,
    fullName: `${person.firstName} ${person.lastName}`,
    action: 'STACK_ACCESS',
    actionDescription: `Opened ${stack.label} of ${app.label}`,
    entryKey: null,
    stack: stack.id,
    extra: JSON.stringify({ app: app.slug, stack: stack.id, app_id: app.id, request }),
    occurredAt,
  };
  return [entry];
};

const metaOf = (path: string): Record<string, string> => ({
  HTTP_USER_AGENT: 'Mozilla/5.0 (X11; Linux x86_64)',
  SERVER_NAME: 'localhost',
  HTTP_REFERER: `http://localhost:8000${path}`,
  REMOTE_ADDR: '127.0.0.1',
  CONTENT_TYPE: 'text/html',
  REQUEST_METHOD: 'GET',
  HTTP_HOST: 'localhost:8000',
  SERVER_PORT: '8000',
  QUERY_STRING: '',
  HTTP_ACCEPT_ENCODING: 'gzip, deflate, br',
});
