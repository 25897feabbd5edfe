import { DAY_MS, MINUTE_MS } from '../lib/clock.ts';
import type { UsageEntryInput } from '../services/usage/usage-writes.ts';
import { APPS, PEOPLE, STACKS, USAGE_DAYS } from './workspace.ts';

/** Between two actions. All actions of a day fit into its 24 hours. */
const STEP_MINUTES = 97;

type Person = (typeof PEOPLE)[number];
type Stack = (typeof STACKS)[number];
type DemoEntry = UsageEntryInput & { appId: string };

/** Deterministic entries relative to `now`: each member opens a few stacks per day. */
export const demoUsage = (now: Date): DemoEntry[] =>
  PEOPLE.flatMap((person, index) =>
    Array.from({ length: USAGE_DAYS }, (_, day) => entriesOfDay(person, index, day, now)).flat(),
  );

const entriesOfDay = (person: Person, index: number, day: number, now: Date) => {
  const stacks = STACKS.filter((stack) => person.apps?.includes(stack.appId));
  const count = 1 + ((day * 7 + index * 3) % 4);
  return Array.from({ length: count }, (_, step) => {
    const occurredAt = new Date(now.getTime() - day * DAY_MS - (step * STEP_MINUTES + index + 1) * MINUTE_MS);
    return entryOf(person, stacks[(day + step) % stacks.length], occurredAt);
  }).flat();
};

const entryOf = (person: Person, stack: Stack | undefined, occurredAt: Date): DemoEntry[] => {
  const app = APPS.find(({ id }) => id === stack?.appId);
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
