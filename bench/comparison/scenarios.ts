import { PASSWORD } from '../data/content.ts';
import { UNIQUE_TOKEN } from './load.ts';
import type { Call } from './requests.ts';
import type { Member, Samples } from './samples.ts';

/** What Steward should reach: ratios of requests per second to other peers, and upper bounds. */
export type Goal = {
  minOfBaseline?: number;
  minOfDjango?: number;
  maxFirstByteMs?: number;
  maxPeakMb?: number;
  maxProbeP99Ms?: number;
  /** At 32 connections: the p99 latency as a multiple of the baseline's. */
  maxP99OfBaseline?: number;
  /** Calls per second as a share of the rate of `one`. */
  minOfOne?: number;
};

export type Scenario = {
  name: string;
  /** The calls of each request; only tRPC takes more than one. */
  requests: (samples: Samples) => Call[][];
  connections: readonly number[];
  /** Number of requests per turn, for requests that take longer than a turn. */
  amount?: number;
  isTrpcOnly?: true;
  /** Light requests sent at the same time to measure how long others wait. */
  probe?: { request: 'health' | 'one'; intervalMs: number };
  /** For mutations: how many to compare, and how to strip ids, times and secrets from a response. */
  writes?: { compared: number; normalize?: (response: unknown) => unknown };
  goal: Goal;
};

const DEFAULT_CONNECTIONS = [8];
/** Of the second measurement of `one`. */
export const MANY_CONNECTIONS = 32;
const BATCH_CALLS = 10;
const BULK_INVITATIONS = 1_000;
const BULK_REQUESTS = 4;
const PATCHED_APPS = 3;

const get = (path: string, procedure: string, input: unknown): Call => ({
  method: 'GET',
  path,
  procedure,
  input,
});

export const getUser = (email: string): Call =>
  get(`/jb/users/${encodeURIComponent(email)}/`, 'users.get', { email });

/** Grants three apps of the user's client, different ones for each `variant`. */
const patchUser = ({ email, appIds }: Member, variant: number): Call => {
  const apps = Array.from(
    { length: PATCHED_APPS },
    (_, index) => appIds[(variant * PATCHED_APPS + index) % appIds.length],
  );
  const body = { first_name: `Ada ${UNIQUE_TOKEN}`, apps };
  const path = `/jb/users/${encodeURIComponent(email)}/`;
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
  const path = '/jb/users/invitations/';
  return { method: 'POST', path, body: items, procedure: 'invitations.create', input: { items } };
};

const logIn = (email: string): Call => {
  const body = { username: email, password: PASSWORD };
  return { method: 'POST', path: '/api-token-auth/', body, procedure: 'tokens.create', input: body };
};

const membersWithApps = ({ members }: Samples): Member[] =>
  members.filter(({ appIds }) => appIds.length > PATCHED_APPS);

const normalizeInvitation = (invitation: Record<string, unknown>) => ({
  ...invitation,
  id: typeof invitation.id,
  key: String(invitation.key).length,
  date_invited: String(invitation.date_invited).length,
});

const READS: readonly Scenario[] = [
  {
    name: 'one',
    requests: ({ members }) => members.map(({ email }) => [getUser(email)]),
    connections: [...DEFAULT_CONNECTIONS, MANY_CONNECTIONS],
    goal: { minOfBaseline: 0.6, minOfDjango: 9, maxP99OfBaseline: 2 },
  },
  {
    name: 'app-users',
    requests: ({ popularApp: app }) => [[get(`/jb/users/?app=${app}`, 'users.list', { app })]],
    connections: DEFAULT_CONNECTIONS,
    goal: { minOfBaseline: 0.8, minOfDjango: 14 },
  },
  {
    name: 'all-users',
    requests: () => [[get('/jb/users/', 'users.list', {})]],
    connections: [1],
    amount: 5,
    probe: { request: 'health', intervalMs: 10 },
    goal: { minOfBaseline: 0.8, minOfDjango: 35, maxFirstByteMs: 100, maxPeakMb: 200, maxProbeP99Ms: 30 },
  },
  {
    name: 'usage',
    requests: ({ activeApp: id }) => [
      [get(`/jb/apps/${id}/usage/?window=30`, 'usage.listByApp', { app_id: id, window: 30 })],
    ],
    connections: DEFAULT_CONNECTIONS,
    goal: { minOfBaseline: 0.8, minOfDjango: 9 },
  },
  {
    name: 'apps',
    requests: () => [[get('/jb/apps/', 'apps.list', {})]],
    connections: DEFAULT_CONNECTIONS,
    goal: { minOfBaseline: 5, minOfDjango: 8 },
  },
];

const WRITES: readonly Scenario[] = [
  {
    name: 'patch',
    requests: (samples) =>
      [0, 1].flatMap((variant) => membersWithApps(samples).map((member) => [patchUser(member, variant)])),
    connections: DEFAULT_CONNECTIONS,
    writes: { compared: 3 },
    goal: { minOfBaseline: 0.6, minOfDjango: 6 },
  },
  {
    name: 'bulk',
    requests: (samples) =>
      membersWithApps(samples)
        .slice(0, BULK_REQUESTS)
        .map((member, request) => [inviteMany(member, request)]),
    connections: DEFAULT_CONNECTIONS,
    writes: {
      compared: 1,
      normalize: (response) => (response as Record<string, unknown>[]).map(normalizeInvitation), // an array of invitations
    },
    goal: { minOfBaseline: 0.8, minOfDjango: 4 },
  },
  {
    name: 'login',
    requests: ({ logins }) => logins.map((email) => [logIn(email)]),
    connections: DEFAULT_CONNECTIONS,
    probe: { request: 'one', intervalMs: 50 },
    writes: {
      compared: 2,
      normalize: (response) => JSON.stringify(response).replace(/[0-9a-f]{40}/, '(token)'),
    },
    goal: { minOfBaseline: 0.8, minOfDjango: 6, maxProbeP99Ms: 50 },
  },
];

const BATCHES: Scenario = {
  name: 'trpc-10',
  requests: ({ members }) =>
    Array.from({ length: Math.floor(members.length / BATCH_CALLS) }, (_, index) =>
      members.slice(index * BATCH_CALLS, (index + 1) * BATCH_CALLS).map(({ email }) => getUser(email)),
    ),
  connections: DEFAULT_CONNECTIONS,
  isTrpcOnly: true,
  goal: { minOfOne: 0.7 },
};

export const SCENARIOS: readonly Scenario[] = [...READS, ...WRITES, BATCHES];
