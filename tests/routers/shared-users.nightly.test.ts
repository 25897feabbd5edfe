import type { AnyTRPCProcedure } from '@trpc/server';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { appRouter } from '../../routers/index.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
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
  const session = await app
    .db()
    .insertInto('sessions')
    .values({
      ...times,
      user_id: userId,
      digest: 's'.repeat(64),
      expires_at: new Date(now.getTime() + DAY_MS),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const token = await app
    .db()
    .selectFrom('api_tokens')
    .select('id')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  const mail = await app
    .db()
    .selectFrom('outbox_mails')
    .select('id')
    .where('recipient', '=', SHARED)
    .executeTakeFirstOrThrow();
  await app.as(SHARED).savedFilters.create({ stack_id: 'd3d64b79', hash: 'of-fleet', name: 'Fleet' });
  await app.as(GLOBEX).accessViews.create({ app: 'fleet', user_email: SHARED });
  await app.as(GLOBEX).invitations.create({ items: [{ email: SHARED.replace('shared', 'guest') }] });
  ids = { userId, session: session.id, token: token.id, mail: mail.id };
});

const userRow = (app: TestApp) =>
  app.db().selectFrom('users').selectAll().where('email', '=', SHARED).executeTakeFirstOrThrow();

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

const update = (changes: object, code?: Call['code']): Call => ({
  call: (app) => app.as(ACME).users.update({ email: SHARED, ...changes }),
  ...(code && { code }),
});
/** A bulk request fails row by row. */
const bulk = (
  action: 'deactivate' | 'reactivate' | 'send-password-link' | 'grant-apps' | 'revoke-apps',
  problem: string | null,
): Call => ({
  call: async (app) => {
    const apps = action.endsWith('-apps') ? { apps: [CHURN] } : {};
    const { results } = await app.as(ACME).users.bulkUpdate({ emails: [SHARED], action, ...apps });
    assert.is(results[0]?.problem?.code ?? null, problem);
  },
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

/** Every mutation that names a person, called by the admin of one client for the user of both. */
const CALLS: Record<string, Call[]> = {
  'users.cancelEmailChange': [
    {
      call: (app) => app.as(ACME).users.cancelEmailChange({ email: SHARED }),
      code: 'shared-user',
    },
  ],
  'users.changeEmail': [
    {
      call: (app) => app.as(ACME).users.changeEmail({ email: SHARED, new_email: 'free@acme.test' }),
      code: 'shared-user',
    },
  ],
  'tokens.create': [
    {
      call: (app) => app.as(null).tokens.create({ username: SHARED, ...wrong }),
      code: 'invalid-credentials',
    },
  ],
  'tokens.createByEmail': [
    {
      call: (app) => app.as(null).tokens.createByEmail({ email: SHARED, ...wrong }),
      code: 'invalid-credentials',
    },
  ],
  'sessions.create': [
    {
      call: (app) => app.as(null).sessions.create({ username: SHARED, ...wrong }),
      code: 'invalid-credentials',
    },
  ],
  'passwords.renew': [
    {
      call: (app) =>
        app.as(null).passwords.renew({ username: SHARED, ...wrong, new_password: 'violet-harbor-92-kite' }),
      code: 'invalid-credentials',
    },
  ],
  'passwords.requestReset': [{ call: (app) => app.as(ACME).passwords.requestReset({ email: SHARED }) }],
  'passwords.check': [
    {
      call: (app) => app.as(ACME).passwords.check({ ...wrong, email: SHARED, first_name: '', last_name: '' }),
    },
  ],
  'tokens.revokeForUser': [
    {
      call: (app) => app.as(ACME).tokens.revokeForUser({ email: SHARED, id: ids.token }),
      code: 'shared-user',
    },
  ],
  'sessions.revokeForUser': [
    {
      call: (app) => app.as(ACME).sessions.revokeForUser({ email: SHARED, id: ids.session }),
      code: 'shared-user',
    },
  ],
  'users.unlinkIdentity': [
    {
      call: (app) => app.as(ACME).users.unlinkIdentity({ email: SHARED, identity_id: 1 }),
      code: 'not-found',
    },
  ],
  'users.resetFactors': [
    { call: (app) => app.as(ACME).users.resetFactors({ email: SHARED }), code: 'shared-user' },
  ],
  'sessions.revokeAll': [
    { call: (app) => app.as(ACME).sessions.revokeAll({ email: SHARED }), code: 'shared-user' },
  ],
  'clients.invite': [
    { call: (app) => app.as(ACME).clients.invite({ id: 1, email: SHARED }), code: 'invalid-input' },
  ],
  'users.create': [{ call: (app) => app.as(ACME).users.create({ email: SHARED }), code: 'user-exists' }],
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
  'users.deactivate': [{ call: (app) => app.as(ACME).users.deactivate({ email: SHARED }) }],
  'users.bulkUpdate': [
    bulk('deactivate', null),
    bulk('reactivate', null),
    bulk('send-password-link', 'shared-user'),
    bulk('grant-apps', null),
    bulk('revoke-apps', null),
  ],
  'users.erase': [
    {
      call: (app) => app.as(ACME).users.erase({ email: SHARED, confirmation: 'x', confirm_email: SHARED }),
      code: 'forbidden',
    },
  ],
  'roles.update': [
    { call: (app) => app.as(ACME).roles.update({ email: SHARED, is_staff: true }), code: 'forbidden' },
  ],
  'roles.setClientAdmin': [
    {
      call: (app) => app.as(ACME).roles.setClientAdmin({ id: 1, email: SHARED, is_admin: true }),
      code: 'forbidden',
    },
  ],
  'memberships.update': [
    { call: (app) => app.as(ACME).memberships.update({ id: 1, email: SHARED, is_active: false }) },
    {
      call: (app) =>
        app.as(ACME).memberships.update({ id: 1, email: SHARED, extra: { rows: 'all' }, is_demo_user: true }),
    },
    {
      call: (app) => app.as(ACME).memberships.update({ id: 2, email: SHARED, is_active: false }),
      code: 'not-found',
    },
  ],
  'memberships.remove': [
    {
      // In between, the admin of the other client has authority over the account.
      call: async (app) => {
        await app.as(ACME).memberships.remove({ id: 1, email: SHARED });
        await rejoin(app);
      },
    },
    { call: (app) => app.as(ACME).memberships.remove({ id: 2, email: SHARED }), code: 'not-found' },
  ],
  'grants.create': [
    { call: (app) => app.as(ACME).grants.create({ app_id: CHURN, email: SHARED }) },
    { call: (app) => app.as(ACME).grants.create({ app_id: FLEET, email: SHARED }), code: 'not-found' },
  ],
  'grants.update': [
    { call: (app) => app.as(ACME).grants.update({ app_id: SALES, email: SHARED, reason: 'Audit' }) },
    {
      call: (app) => app.as(ACME).grants.update({ app_id: FLEET, email: SHARED, reason: 'x' }),
      code: 'not-found',
    },
  ],
  'grants.extend': [
    {
      call: async (app) => {
        const grants = [{ app_id: FLEET, email: SHARED }];
        const { results } = await app.as(ACME).grants.extend({ grants, expires_at: null });
        assert.equal(
          results.map(({ problem }) => problem?.code),
          ['not-found'],
        );
      },
    },
  ],
  'grants.remove': [
    { call: (app) => app.as(ACME).grants.remove({ app_id: SALES, email: SHARED }) },
    { call: (app) => app.as(ACME).grants.remove({ app_id: FLEET, email: SHARED }), code: 'not-found' },
  ],
  'groups.create': [
    {
      call: (app) => app.as(ACME).groups.create({ id: 1, name: 'Team', members: [SHARED], apps: [CHURN] }),
    },
    {
      call: (app) => app.as(ACME).groups.create({ id: 1, name: 'Other', members: [SHARED], apps: [FLEET] }),
      code: 'invalid-input',
    },
  ],
  'groups.update': [
    {
      call: async (app) => {
        const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Changing' });
        await app.as(ACME).groups.update({ id: 1, group_id: id, members: [SHARED] });
        await app.as(ACME).groups.remove({ id: 1, group_id: id });
      },
    },
  ],
  'groups.edit': [
    {
      call: async (app) => {
        const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Edited' });
        await app.as(ACME).groups.edit({ id: 1, group_id: id, added_members: [SHARED] });
        await app.as(ACME).groups.edit({ id: 1, group_id: id, removed_members: [SHARED] });
      },
    },
  ],
  'requests.approve': [{ call: async (app) => app.as(ACME).requests.approve(await askedBySharedUser(app)) }],
  'requests.deny': [{ call: async (app) => app.as(ACME).requests.deny(await askedBySharedUser(app)) }],
  'invitations.create': [
    {
      call: (app) => app.as(ACME).invitations.create({ items: [{ email: SHARED, extra: { rows: 'all' } }] }),
      code: 'invalid-input',
    },
  ],
  'invitations.update': [
    {
      call: (app) => app.as(ACME).invitations.update({ email: 'guest@globex.test', extra: { rows: 'all' } }),
      code: 'not-found',
    },
  ],
  'usage.record': [
    {
      call: (app) =>
        app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: SHARED, action: 'STACK_ACCESS' }] }),
    },
  ],
  'access.update': [
    {
      call: (app) =>
        app.as(ACME).access.update({ id: 1, cells: [{ email: SHARED, app_id: CHURN, granted: true }] }),
    },
    {
      call: (app) =>
        app.as(ACME).access.update({ id: 1, cells: [{ email: SHARED, app_id: FLEET, granted: false }] }),
      code: 'invalid-input',
    },
  ],
  'operations.undo': [
    {
      call: async (app) => {
        const revoked = { emails: [SHARED], action: 'revoke-apps' as const, apps: [SALES] };
        const { operation } = await app.as(ACME).users.bulkUpdate(revoked);
        const { reverted } = await app.as(ACME).operations.undo({ id: operation });
        assert.is(reverted, 1);
      },
    },
  ],
  'mail.retry': [{ call: (app) => app.as(ACME).mail.retry({ id: ids.mail }), code: 'not-found' }],
  'accessViews.create': [
    { call: (app) => app.as(ACME).accessViews.create({ app: 'sales', user_email: SHARED }) },
    {
      call: (app) => app.as(ACME).accessViews.create({ app: 'fleet', user_email: SHARED }),
      code: 'invalid-input',
    },
  ],
  'accessViews.update': [
    {
      call: async (app) => {
        const { key } = await app.as(ACME).accessViews.create({ app: 'sales', user_email: SHARED });
        await app.as(ACME).accessViews.update({ key, user_email: SHARED, show_header: false });
      },
    },
  ],
  'accessViews.embed': [{ call: (app) => app.as(ACME).accessViews.embed({ app: 'sales', email: SHARED }) }],
  'tickets.revoke': [{ call: (app) => app.as(ACME).tickets.revoke({ user: SHARED }), code: 'shared-user' }],
};

/** Mutations of something else, or of the caller. */
const NAMES_NO_PERSON = [
  'accessViews.deactivate',
  'appPackages.fetch',
  'appPackages.load',
  'apps.clearCache',
  'apps.launch',
  'apps.openTicket',
  'apps.previewMaintenance',
  'apps.remove',
  'apps.rollback',
  'apps.update',
  'clients.create',
  'clients.previewInvitation',
  'clients.remove',
  'clients.update',
  'clients.updateFactorPolicy',
  'clients.updateGate',
  'domains.add',
  'domains.remove',
  'domains.verify',
  'domains.vouch',
  'groups.remove',
  ...['addDomain', 'create', 'remove', 'removeDomain', 'test', 'update'].map(
    (name) => `installationSso.${name}`,
  ),
  'invitations.accept',
  'invitations.bulkUpdate',
  'invitations.copyLink',
  'invitations.preview',
  'invitations.resend',
  'invitations.revoke',
  'mfa.addPasskey',
  'mfa.confirmTotp',
  'mfa.remove',
  'mfa.rename',
  'mfa.renewRecoveryCodes',
  'mfa.startPasskey',
  'mfa.startTotp',
  'passwords.change',
  'passwords.reset',
  'passwords.verifyToken',
  'profile.cancelEmail',
  'profile.confirmEmail',
  'profile.requestEmail',
  'profile.undoEmail',
  'profile.update',
  'profile.verifyEmail',
  'reminders.update',
  'requests.create',
  'requests.withdraw',
  'savedFilters.create',
  'savedFilters.remove',
  'savedFilters.replace',
  'sessions.answerChallenge',
  'sessions.enrol',
  'sessions.confirm',
  'sessions.createByPasskey',
  'sessions.end',
  'sessions.methods',
  'sessions.revoke',
  'sessions.startPasskey',
  'signingKeys.rotate',
  'sites.create',
  'sso.create',
  'sso.remove',
  'sso.test',
  'sso.update',
  'tickets.exchange',
  'tickets.introspect',
  'tokens.createNamed',
  'tokens.refresh',
  'tokens.revoke',
  'tokens.verify',
  'webhooks.create',
  'webhooks.remove',
  'webhooks.replay',
  'webhooks.rotateSecret',
  'webhooks.test',
  'webhooks.update',
];

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

  assert.is(reverted, 0);
  assert.equal(
    skipped.map(({ problem }) => problem.code),
    ['shared-user'],
  );
  assert.is((await app.as(GLOBEX).users.get({ email })).is_active, false);
});

shared(
  'is audited for all clients, for their admins with the names of the changed fields',
  async ({ app }) => {
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
  },
);

shared('has permissions that say what a client admin may do', async ({ app }) => {
  const may = await app.as(ACME).users.permissions({ email: SHARED });

  const all = { can_update_apps: true, can_deactivate: true };
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
