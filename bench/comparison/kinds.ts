import type { Call } from './calls.ts';
import type { Samples } from './samples.ts';
import { WRITE_KINDS } from './write-kinds.ts';

export type KindName =
  | 'one'
  | 'app-users'
  | 'all-users'
  | 'usage'
  | 'apps'
  | 'patch'
  | 'bulk'
  | 'login'
  | 'trpc-10';

export type Kind = {
  name: KindName;
  about: string;
  /** What each of the requests asks for; only tRPC takes more than one call at a time. */
  requests: (samples: Samples) => Call[][];
  /** How many requests are under way at a time. */
  connections: readonly number[];
  dialect: 'own' | 'trpc';
  /** Asked meanwhile, to learn how long others wait. */
  beside?: { of: 'health' | 'one'; everyMs: number };
  /** How many of its requests are compared along with the rows that they leave, and how answers are made comparable. */
  writes?: { compared: number; comparable?: (answer: unknown) => unknown };
};

const USUAL = [8];
const BATCH = 10;

const get = (path: string, procedure: string, input: unknown): Call => ({
  method: 'GET',
  path,
  procedure,
  input,
});
export const oneUser = (email: string): Call =>
  get(`/jb/users/${encodeURIComponent(email)}/`, 'users.get', { email });

const READ_KINDS: readonly Kind[] = [
  {
    name: 'one',
    about: 'one user, each time another',
    requests: ({ members }) => members.map(({ email }) => [oneUser(email)]),
    connections: [8, 32],
    dialect: 'own',
  },
  {
    name: 'app-users',
    about: 'the users of one app',
    requests: ({ peopledApp: app }) => [[get(`/jb/users/?app=${app}`, 'users.list', { app })]],
    connections: USUAL,
    dialect: 'own',
  },
  {
    name: 'all-users',
    about: 'all users in one array',
    requests: () => [[get('/jb/users/', 'users.list', {})]],
    connections: [1],
    dialect: 'own',
    beside: { of: 'health', everyMs: 10 },
  },
  {
    name: 'usage',
    about: 'the log of one app, 30 days',
    requests: ({ usedApp: id }) => [
      [get(`/jb/apps/${id}/usage/?window=30`, 'usage.listByApp', { app_id: id, window: 30 })],
    ],
    connections: USUAL,
    dialect: 'own',
  },
  {
    name: 'apps',
    about: 'all apps with their three windows of usage',
    requests: () => [[get('/jb/apps/', 'apps.list', {})]],
    connections: USUAL,
    dialect: 'own',
  },
];

const BATCHES: Kind = {
  name: 'trpc-10',
  about: 'ten users in one batch of tRPC, counted by user',
  requests: ({ members }) =>
    Array.from({ length: Math.floor(members.length / BATCH) }, (_, index) =>
      members.slice(index * BATCH, (index + 1) * BATCH).map(({ email }) => oneUser(email)),
    ),
  connections: USUAL,
  dialect: 'trpc',
};

export const KINDS: readonly Kind[] = [...READ_KINDS, ...WRITE_KINDS, BATCHES];
