import type { AnyTRPCProcedure } from '@trpc/server';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { appRouter } from '../../routers/index.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf } from '../support/rows.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const shared = appSuite('a user of two clients');

const SHARED = 'shared@globex.test';

type Ids = { userId: number; session: number; token: number; mail: number };
let ids: Ids;

/** Has logged in, and has mails, tickets and filters, which both clients share or only one of them has. */
shared.before(async ({ app }) => {
  const created = { email: SHARED, apps: [FLEET], extra: { rows: 'own' }, first_name: 'Sam' };
  await app.as(GLOBEX).users.create({ ...created, send_email: true });
  await app.as(ROOT).users.update({ email: SHARED, apps: [FLEET, SALES] });
  const { id: userId } = await userRow(app);
  await app.tokenOf(SHARED);
  const now = app.clock.now();
  const times = { created_at: now, authenticated_at: now, last_used: now };
  const expires_at = new Date(now.getTime() + DAY_MS);
  await addRows(app, 'sessions', { ...times, user_id: userId, digest: 's'.repeat(64), expires_at });
  const { id: session } = await rowOf(app, 'sessions', { user_id: userId });
  const { id: token } = await rowOf(app, 'api_tokens', { user_id: userId });
  const { id: mail } = await rowOf(app, 'outbox_mails', { recipient: SHARED });
  await app.as(SHARED).savedFilters.create({ stack_id: 'd3d64b79', hash: 'of-fleet', name: 'Fleet' });
  await app.as(GLOBEX).accessViews.create({ app: 'fleet', user_email: SHARED });
  await app.as(GLOBEX).invitations.create({ items: [{ email: SHARED.replace('shared', 'guest') }] });
  ids = { userId, session, token, mail };
});

const userRow = (app: TestApp) => rowOf(app, 'users', { email: SHARED });

/** What the admin of the other client sees of the user, and the rows on which its apps and the person rely. */
const otherView = async (app: TestApp) => {
  const globex = app.as(GLOBEX);
  const { rows } = await sql<{ rows: string[] }>`
    select array(
      select t::text from sessions t where user_id = ${ids.userId}
      union all select t::text from api_tokens t where user_id = ${ids.userId}
      union all select t::text from password_links t where user_id = ${ids.userId}
      union all select t::text from launch_codes t where user_id = ${ids.userId}
      union all select t::text from ticket_revocations t where user_id = ${ids.userId} or app_id = ${FLEET}
      union all select t::text from saved_filters t where user_id = ${ids.userId}
      union all select t::text from memberships t where user_id = ${ids.userId} and client_id = 2
      union all select t::text from access_views t where app_id = ${FLEET}
      order by 1) as rows`.execute(app.db());
  return {
    account: await userRow(app),
    rows: rows[0]?.rows,
    user: await globex.users.get({ email: SHARED }),
    member: (await globex.clients.users({ id: 2 })).find(({ email }) => email === SHARED),
    matrix: await globex.access.matrix({ id: 2 }),
    grants: await globex.access.listByUser({ email: SHARED }),
    audit: await globex.audit.list({}),
    events: await globex.events.list({ limit: 1_000 }),
    mails: await globex.mail.list({}),
    timeline: await globex.mail.timeline({ email: SHARED }),
    views: await globex.accessViews.list({}),
    usage: await globex.usage.listByUserInAllApps({ email: SHARED }),
    requests: await globex.requests.list({}),
    permissions: await globex.users.permissions({ email: SHARED }),
  };
};

type Call = { call: (app: TestApp) => Promise<unknown>; code?: Parameters<typeof rejectsWith>[1] };
type Caller = ReturnType<TestApp['as']>;

/** A call of the admin of Acme, which succeeds unless it is refused with a code. */
const acme = (call: (acme: Caller) => Promise<unknown>, code?: Call['code']): Call => ({
  call: (app) => call(app.as(ACME)),
  ...(code && { code }),
});
/** A call of someone who does not know the password. */
const guess = (call: (anyone: Caller) => Promise<unknown>): Call => ({
  call: (app) => call(app.as(null)),
  code: 'invalid-credentials',
});
const update = (changes: object, code?: Call['code']): Call =>
  acme(({ users }) => users.update({ email: SHARED, ...changes }), code);
/** A bulk request fails row by row. */
const bulk = (
  action: 'deactivate' | 'reactivate' | 'send-password-link' | 'grant-apps' | 'revoke-apps',
  problem: string | null,
): Call =>
  acme(async ({ users }) => {
    const apps = action.endsWith('-apps') ? { apps: [CHURN] } : {};
    const { results } = await users.bulkUpdate({ emails: [SHARED], action, ...apps });
    assert.is(results[0]?.problem?.code ?? null, problem);
  });
const wrong = { password: 'not the password' };

/** Makes the user an active member of Acme again, with an app. */
const rejoin = async (app: TestApp): Promise<void> => {
  const { apps } = await app.as(ROOT).users.get({ email: SHARED });
  await app.as(ROOT).users.update({ email: SHARED, apps: [...new Set([...apps, FLEET, SALES])] });
  await app.as(ROOT).memberships.update({ id: 1, email: SHARED, is_active: true });
  // Acme sends these, and its admins see them.
  await sql`delete from outbox_mails where kind = 'access-decided'`.execute(app.db());
};

const askedBySharedUser = async (app: TestApp) => {
  await sql`delete from groups where client_id = 1`.execute(app.db());
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  await app.as(ROOT).users.update({ email: SHARED, apps: [FLEET, SALES] });
  return app.as(SHARED).requests.create({ app: CHURN });
};

const email = SHARED;

/** Every mutation that names a person, called by the admin of one client for the user of both. */
const CALLS: Record<string, Call[]> = {
  'users.cancelEmailChange': [acme(({ users }) => users.cancelEmailChange({ email }), 'shared-user')],
  'users.changeEmail': [
    acme(({ users }) => users.changeEmail({ email, new_email: 'free@acme.test' }), 'shared-user'),
  ],
  'tokens.create': [guess(({ tokens }) => tokens.create({ username: SHARED, ...wrong }))],
  'tokens.createByEmail': [guess(({ tokens }) => tokens.createByEmail({ email, ...wrong }))],
  'sessions.create': [guess(({ sessions }) => sessions.create({ username: SHARED, ...wrong }))],
  'passwords.renew': [
    guess(({ passwords }) =>
      passwords.renew({ username: SHARED, ...wrong, new_password: 'violet-harbor-92' }),
    ),
  ],
  'passwords.requestReset': [acme(({ passwords }) => passwords.requestReset({ email }))],
  'passwords.check': [
    acme(({ passwords }) => passwords.check({ ...wrong, email, first_name: '', last_name: '' })),
  ],
  'tokens.revokeForUser': [
    acme(({ tokens }) => tokens.revokeForUser({ email, id: ids.token }), 'shared-user'),
  ],
  'sessions.revokeForUser': [
    acme(({ sessions }) => sessions.revokeForUser({ email, id: ids.session }), 'shared-user'),
  ],
  'users.unlinkIdentity': [acme(({ users }) => users.unlinkIdentity({ email, identity_id: 1 }), 'not-found')],
  'users.resetFactors': [acme(({ users }) => users.resetFactors({ email }), 'shared-user')],
  'sessions.revokeAll': [acme(({ sessions }) => sessions.revokeAll({ email }), 'shared-user')],
  'clients.invite': [acme(({ clients }) => clients.invite({ id: 1, email }), 'invalid-input')],
  'users.create': [acme(({ users }) => users.create({ email }), 'user-exists')],
  'users.update': [
    update({ is_active: false }),
    update({ is_active: true }),
    update({ extra: { rows: 'all' } }),
    update({ first_name: 'Other' }, 'shared-user'),
    update({ last_name: 'Other' }, 'shared-user'),
    update({ is_demo_user: true }),
    update({ apps: [SALES, CHURN], extra: {} }),
    update({ apps: [CHURN] }),
    update({
      apps: [SALES],
      extra: { rows: 'own' },
      first_name: 'Sam',
      is_active: true,
      is_demo_user: false,
    }),
  ],
  'users.deactivate': [acme(({ users }) => users.deactivate({ email }))],
  'users.bulkUpdate': [
    bulk('deactivate', null),
    bulk('reactivate', null),
    bulk('send-password-link', 'shared-user'),
    bulk('grant-apps', null),
    bulk('revoke-apps', null),
  ],
  'users.erase': [
    acme(({ users }) => users.erase({ email, confirmation: 'x', confirm_email: SHARED }), 'forbidden'),
  ],
  'roles.update': [acme(({ roles }) => roles.update({ email, is_staff: true }), 'forbidden')],
  'roles.setClientAdmin': [
    acme(({ roles }) => roles.setClientAdmin({ id: 1, email, is_admin: true }), 'forbidden'),
  ],
  'roles.setInClient': [
    acme(({ roles }) => roles.setInClient({ id: 1, email, roles: ['auditor'] })),
    acme(({ roles }) => roles.setInClient({ id: 2, email, roles: ['auditor'] }), 'not-found'),
    acme(({ roles }) => roles.setInClient({ id: 1, email, roles: [] })),
  ],
  'users.viewAs': [
    acme(({ users }) => users.viewAs({ email, app: SALES, reason: 'Test', minutes: 1 }), 'forbidden'),
  ],
  'memberships.update': [
    acme(({ memberships }) => memberships.update({ id: 1, email, is_active: false })),
    acme(({ memberships }) =>
      memberships.update({ id: 1, email, extra: { rows: 'all' }, is_demo_user: true }),
    ),
    acme(({ memberships }) => memberships.update({ id: 2, email, is_active: false }), 'not-found'),
  ],
  'memberships.remove': [
    {
      // In between, the admin of the other client has authority over the account.
      call: async (app) => {
        await app.as(ACME).memberships.remove({ id: 1, email });
        await rejoin(app);
      },
    },
    acme(({ memberships }) => memberships.remove({ id: 2, email }), 'not-found'),
  ],
  'grants.create': [
    acme(({ grants }) => grants.create({ app_id: CHURN, email })),
    acme(({ grants }) => grants.create({ app_id: FLEET, email }), 'not-found'),
  ],
  'grants.update': [
    acme(({ grants }) => grants.update({ app_id: SALES, email, reason: 'Audit' })),
    acme(({ grants }) => grants.update({ app_id: FLEET, email, reason: 'x' }), 'not-found'),
  ],
  'grants.extend': [
    acme(async ({ grants }) => {
      const { results } = await grants.extend({ grants: [{ app_id: FLEET, email }], expires_at: null });
      assert.is(results[0]?.problem?.code, 'not-found');
    }),
  ],
  'grants.remove': [
    acme(({ grants }) => grants.remove({ app_id: SALES, email })),
    acme(({ grants }) => grants.remove({ app_id: FLEET, email }), 'not-found'),
  ],
  'dataPermissions.previewValue': [
    acme(({ dataPermissions: { previewValue } }) =>
      previewValue({ id: 1, emails: [SHARED], attribute: 'region' }),
    ),
  ],
  'groups.create': [
    acme(({ groups }) => groups.create({ id: 1, name: 'Team', members: [SHARED], apps: [CHURN] })),
    acme(
      ({ groups }) => groups.create({ id: 1, name: 'Other', members: [SHARED], apps: [FLEET] }),
      'invalid-input',
    ),
  ],
  'groups.update': [
    acme(async ({ groups }) => {
      const { id } = await groups.create({ id: 1, name: 'Changing' });
      await groups.update({ id: 1, group_id: id, members: [SHARED] });
      await groups.remove({ id: 1, group_id: id });
    }),
  ],
  'groups.edit': [
    acme(async ({ groups }) => {
      const { id } = await groups.create({ id: 1, name: 'Edited' });
      await groups.edit({ id: 1, group_id: id, added_members: [SHARED] });
      await groups.edit({ id: 1, group_id: id, removed_members: [SHARED] });
    }),
  ],
  'requests.approve': [{ call: async (app) => app.as(ACME).requests.approve(await askedBySharedUser(app)) }],
  'requests.deny': [{ call: async (app) => app.as(ACME).requests.deny(await askedBySharedUser(app)) }],
  'invitations.create': [
    acme(
      ({ invitations }) => invitations.create({ items: [{ email, extra: { rows: 'all' } }] }),
      'invalid-input',
    ),
  ],
  'invitations.update': [
    acme(
      ({ invitations }) => invitations.update({ email: 'guest@globex.test', extra: { rows: 'all' } }),
      'not-found',
    ),
  ],
  'usage.record': [
    acme(({ usage }) => usage.record({ app_id: SALES, entries: [{ email, action: 'STACK_ACCESS' }] })),
  ],
  'access.update': [
    acme(({ access }) => access.update({ id: 1, cells: [{ email, app_id: CHURN, granted: true }] })),
    acme(
      ({ access }) => access.update({ id: 1, cells: [{ email, app_id: FLEET, granted: false }] }),
      'invalid-input',
    ),
  ],
  'operations.undo': [
    acme(async ({ users, operations }) => {
      const { operation } = await users.bulkUpdate({
        emails: [SHARED],
        action: 'revoke-apps',
        apps: [SALES],
      });
      assert.is((await operations.undo({ id: operation })).reverted, 1);
    }),
  ],
  'mail.retry': [acme(({ mail }) => mail.retry({ id: ids.mail }), 'not-found')],
  'accessViews.create': [
    acme(({ accessViews }) => accessViews.create({ app: 'sales', user_email: SHARED })),
    acme(({ accessViews }) => accessViews.create({ app: 'fleet', user_email: SHARED }), 'invalid-input'),
  ],
  'accessViews.update': [
    acme(async ({ accessViews }) => {
      const { key } = await accessViews.create({ app: 'sales', user_email: SHARED });
      await accessViews.update({ key, user_email: SHARED, show_header: false });
    }),
  ],
  'accessViews.rotateKey': [
    acme(async ({ accessViews }) => {
      const { key } = await accessViews.create({ app: 'sales', user_email: SHARED });
      await accessViews.rotateKey({ key });
    }),
  ],
  'accessViews.embed': [acme(({ accessViews }) => accessViews.embed({ app: 'sales', email }))],
  'tickets.revoke': [acme(({ tickets }) => tickets.revoke({ user: SHARED }), 'shared-user')],
};

/** Mutations of something else, or of the caller. */
const NAMES_NO_PERSON = Object.entries({
  accessViews: 'deactivate',
  appPackages: 'fetch load',
  apps: 'clearCache create launch openTicket previewMaintenance remove rollback update',
  clients: 'create previewInvitation remove update updateFactorPolicy updateGate',
  domains: 'add remove verify vouch',
  directory: 'approve update',
  groups: 'remove',
  installationSso: 'addDomain create remove removeDomain test update',
  dataPermissions: 'setSchema',
  invitations: 'accept bulkUpdate copyLink copyLinks preview resend revoke',
  listViews: 'create pin remove update',
  mfa: 'addPasskey confirmTotp remove rename renewRecoveryCodes startPasskey startTotp',
  openid: 'addSecret remove update',
  passwords: 'change reset verifyToken',
  profile: 'cancelEmail confirmEmail requestEmail undoEmail update verifyEmail',
  reminders: 'update',
  requests: 'create withdraw',
  savedFilters: 'create remove replace setDefault setSharing setState',
  serviceAccounts: 'create createToken narrowToken remove revokeToken update',
  sessions: 'answerChallenge enrol confirm createByPasskey end methods revoke startPasskey',
  signingKeys: 'rotate',
  sites: 'create',
  sso: 'create remove test update',
  tickets: 'exchange introspect',
  tokens: 'createNamed narrow refresh revoke verify',
  users: 'endViewAs',
  webhooks: 'create remove replay rotateSecret test update',
}).flatMap(([router, names]) => names.split(' ').map((name) => `${router}.${name}`));

shared('is covered here by every mutation that names a person', () => {
  const procedures = appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>;
  const mutations = Object.entries(procedures).flatMap(([path, procedure]) =>
    procedure._def.type === 'mutation' ? path : [],
  );
  assert.equal(mutations.toSorted(), [...Object.keys(CALLS), ...NAMES_NO_PERSON].toSorted());
});

for (const [path, calls] of Object.entries(CALLS))
  shared(`is unchanged for the other client by ${path} of a client admin`, async ({ app }) => {
    for (const { call, code } of calls) {
      const before = await otherView(app);
      if (code === undefined) await call(app);
      else await rejectsWith(call(app), code);
      assert.equal(await otherView(app), before);
      await rejoin(app);
    }
  });

shared('is refused with a reason that names neither the other client nor a role', async ({ app }) => {
  const changes = { email: SHARED, first_name: 'Other' };
  const refused = await rejectsWith(app.as(ACME).users.update(changes), 'shared-user');

  assert.is(refused.status, 403);
  assert.match(refused.message, /superuser/);
  assert.not.match(refused.message, /globex|client 2|admin of/i);
});

shared('is not reactivated by an undo of the admin of one client', async ({ app }) => {
  const email = 'joining@acme.test';
  await app.as(ACME).users.create({ email });
  const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'deactivate' });
  await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });

  const { reverted, skipped } = await app.as(ACME).operations.undo({ id: operation });

  assert.equal([reverted, skipped.map(({ problem }) => problem.code)], [0, ['shared-user']]);
  assert.is((await app.as(GLOBEX).users.get({ email })).is_active, false);
});

shared('is audited for all clients, with the names of the changed fields', async ({ app }) => {
  await app.as(ROOT).users.update({ email: SHARED, first_name: 'Samuel', extra: { rows: 'some' } });

  const names = { first_name: { from: null, to: null }, extra: { from: null, to: null } };
  for (const [who, client] of [
    [ACME, 1],
    [GLOBEX, 2],
  ] as const) {
    const [entry] = await app.as(who).audit.list({ target: SHARED, action: 'user.update' });
    assert.equal([entry?.details, entry?.clients, entry?.address], [names, [client], null]);
  }
  const [entry] = await app.as(ROOT).audit.list({ target: SHARED, action: 'user.update' });
  assert.equal(entry?.details, names);
});

shared('has permissions that say what a client admin may do', async ({ app }) => {
  const may = await app.as(ACME).users.permissions({ email: SHARED });

  const all = { can_update_apps: true, can_deactivate: true, can_set_roles: true };
  assert.equal(may, { ...all, can_update: false, can_revoke: false, is_shared: true });
  const root = await app.as(ROOT).users.permissions({ email: SHARED });
  assert.equal(root, { ...all, can_update: true, can_revoke: true, is_shared: false });
});

shared('is changed by superusers, and not by admins of all their clients', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GLOBEX, is_admin: true });
  await rejectsWith(app.as(GLOBEX).users.update({ email: SHARED, last_name: 'Both' }), 'shared-user');
  await app.as(ROOT).users.deactivate({ email: SHARED });

  assert.is((await app.as(ACME).users.get({ email: SHARED })).is_active, false);
});

shared('may end their own sessions, even as the admin of one of their clients', async ({ app }) => {
  await app.as(ROOT).users.create({ email: 'both@acme.test', apps: [SALES, FLEET] });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: 'both@acme.test', is_admin: true });

  await app.as('both@acme.test').sessions.revokeAll({ email: 'both@acme.test' });
});

shared.run();
