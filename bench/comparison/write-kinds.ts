import { PASSWORD } from '../data/content.ts';
import type { Call } from './calls.ts';
import type { Kind } from './kinds.ts';
import type { Member, Samples } from './samples.ts';
import { STAMP } from './stamps.ts';

const INVITATIONS = 1_000;
const BULKS = 4;
const APPS = 3;

/** Three apps of the user's client, others for each of two turns. */
const patchOf = ({ email, appIds }: Member, turn: number): Call => {
  const apps = Array.from({ length: APPS }, (_, index) => appIds[(turn * APPS + index) % appIds.length]);
  const body = { first_name: `Ada ${STAMP}`, apps };
  return {
    method: 'PATCH',
    path: `/jb/users/${encodeURIComponent(email)}/`,
    body,
    procedure: 'users.update',
    input: { email, ...body },
  };
};

const bulkOf = ({ clientId, appIds }: Member, bulk: number): Call => {
  const items = Array.from({ length: INVITATIONS }, (_, index) => ({
    email: `guest-${bulk}-${index}-${STAMP}@example.test`,
    client: clientId,
    extra: { department: `Sales ${index % 20}`, locale: 'de' },
    initial_apps: [appIds[index % appIds.length], appIds[(index + 1) % appIds.length]],
    is_demo_user: index % 2 === 0,
  }));
  return {
    method: 'POST',
    path: '/jb/users/invitations/',
    body: items,
    procedure: 'invitations.create',
    input: { items },
  };
};

const loginOf = (email: string): Call => {
  const body = { username: email, password: PASSWORD };
  return { method: 'POST', path: '/api-token-auth/', body, procedure: 'tokens.create', input: body };
};

const withApps = ({ members }: Samples): Member[] => members.filter(({ appIds }) => appIds.length > APPS);

/** What is another one each time, in place of which its form is compared. */
const bareInvitation = (invitation: Record<string, unknown>) => ({
  ...invitation,
  id: typeof invitation.id,
  key: String(invitation.key).length,
  date_invited: String(invitation.date_invited).length,
});

export const WRITE_KINDS: readonly Kind[] = [
  {
    name: 'patch',
    about: 'first name and three apps of one user',
    requests: (samples) =>
      [0, 1].flatMap((turn) => withApps(samples).map((member) => [patchOf(member, turn)])),
    connections: [8],
    dialect: 'own',
    writes: { compared: 3 },
  },
  {
    name: 'bulk',
    about: '1,000 invitations in one request',
    requests: (samples) =>
      withApps(samples)
        .slice(0, BULKS)
        .map((member, bulk) => [bulkOf(member, bulk)]),
    connections: [8],
    dialect: 'own',
    // An answer is an array of invitations.
    writes: {
      compared: 1,
      comparable: (answer) => (answer as Record<string, unknown>[]).map(bareInvitation),
    },
  },
  {
    name: 'login',
    about: 'a token for a password',
    requests: ({ logins }) => logins.map((email) => [loginOf(email)]),
    connections: [8],
    dialect: 'own',
    beside: { of: 'one', everyMs: 50 },
    writes: {
      compared: 2,
      comparable: (answer) => JSON.stringify(answer).replace(/[0-9a-f]{40}/, 'a token'),
    },
  },
];
