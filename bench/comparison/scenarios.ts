import { UNIQUE_TOKEN } from './load.ts';
import type { Member, Samples } from './samples.ts';

/** One call, described for both protocols that the peers speak. */
export type Call = {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  body?: unknown;
  /** For tRPC; absent for what only Steward has. */
  procedure?: string;
  input?: unknown;
  /** Default: that of the superuser. */
  token?: string;
};

/**
 * What Steward should reach. Ratios compare the work done with the same CPU time of server and PostgreSQL, because the load
 * generator and other programs share the machine.
 */
export type Goal = {
  minOfBefore?: number;
  minOfDjango?: number;
  minOfTrpc?: number;
  minPerSecond?: number;
  maxProbeP99Ms?: number;
};

export type Scenario = {
  name: string;
  requests: (samples: Samples) => Call[];
  connections: number;
  /** Sends `GET /healthz` at the same time, to measure how long others wait. */
  hasProbe?: true;
  /** For mutations: how many to compare, and how to strip ids, times and secrets from a response. */
  writes?: { compared: number; normalize?: (response: unknown) => unknown };
  goal: Goal;
};

/** Of all scenarios. */
export const MAX_PEAK_MB = 320;
export const MAX_START_MS = 1_200;

const CONNECTIONS = 8;
const GATE_CONNECTIONS = 32;
const BULK_INVITATIONS = 1_000;
const BULK_REQUESTS = 4;
const PATCHED_APPS = 3;
const LIST_GOAL: Goal = { minOfBefore: 0.8, minOfDjango: 8 };

const get = (path: string, procedure: string, input: unknown): Call => ({
  method: 'GET',
  path: `/api/v1/jb${path}`,
  procedure,
  input,
});

/** Grants three apps of the user's client, different ones for each `variant`. */
const patchUser = ({ email, appIds }: Member, variant: number): Call => {
  const apps = Array.from(
    { length: PATCHED_APPS },
    (_, index) => appIds[(variant * PATCHED_APPS + index) % appIds.length],
  );
  const body = { first_name: `Ada ${UNIQUE_TOKEN}`, apps };
  const path = `/api/v1/jb/users/${encodeURIComponent(email)}/`;
  return { method: 'PATCH', path, body, procedure: 'users.update', input: { email, ...body } };
};

const inviteMany = ({ clientId, appIds }: Member, request: number): Call => {
  const items = Array.from({ length: BULK_INVITATIONS }, (_, index) => ({
    email: `guest-${request}-${index}-${UNIQUE_TOKEN}@example.test`,
    client: clientId,
    extra: { department: `Sales ${index % 20}`, locale: 'de' },
    initial_apps: [appIds[index % appIds.length], appIds[(index + 1) % appIds.length]],
    is_demo_user: index % 2 === 0,
  }));
  const path = '/api/v1/jb/users/invitations/';
  return { method: 'POST', path, body: items, procedure: 'invitations.create', input: { items } };
};

const membersWithApps = ({ members }: Samples): Member[] =>
  members.filter(({ appIds }) => appIds.length > PATCHED_APPS);

const normalizeInvitation = (invitation: Record<string, unknown>) => ({
  ...invitation,
  id: typeof invitation.id,
  key: String(invitation.key).length,
  date_invited: String(invitation.date_invited).length,
});

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'one',
    requests: ({ members }) =>
      members.map(({ email }) => get(`/users/${encodeURIComponent(email)}/`, 'users.get', { email })),
    connections: CONNECTIONS,
    goal: { minOfBefore: 0.75 },
  },
  {
    name: 'app-users',
    requests: ({ popularApp: app }) => [get(`/users/?app=${app}`, 'users.list', { app })],
    connections: CONNECTIONS,
    goal: LIST_GOAL,
  },
  {
    name: 'all-users',
    requests: () => [get('/users/', 'users.list', {})],
    connections: 1,
    hasProbe: true,
    goal: { ...LIST_GOAL, maxProbeP99Ms: 50 },
  },
  {
    name: 'usage',
    requests: ({ activeApp: id }) => [
      get(`/apps/${id}/usage/?window=30`, 'usage.listByApp', { app_id: id, window: 30 }),
    ],
    connections: CONNECTIONS,
    goal: LIST_GOAL,
  },
  {
    name: 'apps',
    requests: () => [get('/apps/', 'apps.list', {})],
    connections: CONNECTIONS,
    goal: LIST_GOAL,
  },
  {
    name: 'patch',
    requests: (samples) =>
      [0, 1].flatMap((variant) => membersWithApps(samples).map((member) => patchUser(member, variant))),
    connections: CONNECTIONS,
    writes: { compared: 3 },
    goal: { minOfDjango: 1.4 },
  },
  {
    name: 'bulk',
    requests: (samples) => membersWithApps(samples).slice(0, BULK_REQUESTS).map(inviteMany),
    connections: CONNECTIONS,
    writes: {
      compared: 1,
      normalize: (response) => (response as Record<string, unknown>[]).map(normalizeInvitation), // an array of invitations
    },
    goal: { minOfDjango: 2.5, minOfTrpc: 1.5 },
  },
  {
    name: 'gate',
    requests: ({ visitors }) =>
      visitors.map(({ slug, token }) => ({ method: 'GET', path: `/gate/${slug}/`, token })),
    connections: GATE_CONNECTIONS,
    goal: { minPerSecond: 3_000 },
  },
];
