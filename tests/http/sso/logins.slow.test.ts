import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { userId } from '../../support/access-views.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { countSessions, enterPassword, givePassword } from '../../support/logins.ts';
import { inviteByLink } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { rowOf, rowsOf, valuesOf } from '../../support/rows.ts';
import { enroll, nextCode, setFactorPolicy } from '../../support/second-factors.ts';
import {
  ACME_ID,
  actionsOf,
  activate,
  logInWithSso,
  personOf,
  ssoSuite,
  visitProvider,
} from '../../support/sso.ts';
import { ACME, ADA, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const logins = ssoSuite('login with single sign-on');

logins.before.each(async ({ app, provider, connection }) => {
  provider.people.clear();
  await sql`delete from external_identities`.execute(app.db());
  const reset = {
    provisions: false,
    default_groups: [],
    groups_claim: '',
    group_mapping: [],
    attribute_claims: {},
  };
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, ...reset });
});

const groupsOf = async (app: TestApp, email: string): Promise<string[]> => {
  const [user] = (await app.as(ROOT).access.grid({ id: ACME_ID, search: email })).users;
  const groups = await app.as(ROOT).groups.list({ id: ACME_ID });
  return groups.flatMap(({ id, name }) => (user?.groups.includes(id) ? name : [])).sort();
};
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  (await app.as(ROOT).memberships.list({ email })).map(({ client }) => client);

const addGroup = async (app: TestApp, name: string): Promise<number> =>
  (await app.as(ROOT).groups.create({ id: ACME_ID, name })).id;

/** Makes a person of the provider, who may be a member already, and logs them in. */
const logInAs = (fixture: Parameters<typeof logInWithSso>[0], claims: Record<string, unknown>, more = {}) => {
  fixture.provider.people.set('person', claims);
  return logInWithSso(fixture, { subject: 'person', ...more });
};

const addMember = async (app: TestApp, name: string): Promise<string> =>
  (await app.as(ACME).users.create({ email: `${name}@acme.test` })).email;

const PASSWORD_FORM = { query: '?method=password' };

logins('connects the account of a member by the verified domain of its address', async (fixture) => {
  const { app, connection } = fixture;
  const claims = { email: [ADA.toUpperCase()], email_verified: true };
  const { visitor, page } = await logInAs(fixture, claims);
  assert.equal([page.status, page.location, await personOf(app, visitor)], [303, '/', ADA]);

  const again = await logInAs(fixture, claims, { path: `/sso/${connection}/start/?next=/console/` });
  assert.is(again.page.location, '/console/');
  assert.is(await personOf(app, again.visitor), ADA);
  const actions = await actionsOf(app, { target: ADA });
  const newest = actions.slice(0, 3).map(({ action }) => action);
  assert.equal(newest, ['login.session', 'login.session', 'identity.link']);
  assert.equal(actions[0]?.details, { connection, name: 'Acme ID' });
});

logins('keeps the person who is logged in when a link of another site starts a login', async (fixture) => {
  const { app, connection } = fixture;
  const visitor = createVisitor(app);
  await enterPassword(visitor, GRACE, PASSWORD_FORM);
  assert.is(await personOf(app, visitor), GRACE);
  const start = async (site: string, query = '') => {
    const headers = { 'sec-fetch-site': site };
    return (await visitor.get(`/sso/${connection}/start/${query}`, { headers })).location ?? '';
  };

  for (const site of ['cross-site', 'same-site', 'none'])
    for (const query of ['', '?confirm=1']) assert.is(await start(site, query), '/');
  for (const site of ['cross-site', 'same-site']) assert.is(await start(site, '?test=1'), '/');
  assert.is(await start('cross-site', '?next=/console/'), '/console/');
  assert.match(await start('same-origin'), fixture.provider.issuer);
});

logins('starts with the form of the login page, and of no other site', async (fixture) => {
  const { app, provider } = fixture;
  const post = (headers: Record<string, string>) =>
    createVisitor(app).post('/login/', { step: 'address', username: ADA }, headers);
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-dest': 'iframe' }])
    assert.is((await post(headers)).status, 403);

  assert.match((await post({ 'sec-fetch-dest': 'document' })).location ?? '', provider.issuer);
});

for (const [change, changes] of [
  ['is not active any more', { is_active: false }],
  ['is registered as another service', { client_id: 'another' }],
] as const)
  logins(`is refused if the connection ${change} when the provider answers`, async (fixture) => {
    const { app, provider, connection } = fixture;
    const email = await addMember(app, `slow-${Object.keys(changes)}`);
    const about = { id: ACME_ID, connection_id: connection };
    provider.state.tamper = (claims) => claims;
    provider.state.signWith = async (claims) => {
      await app.as(ROOT).sso.update({ ...about, ...changes });
      return provider.sign(claims);
    };
    const { visitor, page } = await logInAs(fixture, { email });
    Object.assign(provider.state, { tamper: null, signWith: null });

    assert.equal([page.status, await personOf(app, visitor)], [403, null]);
    assert.is(await countSessions(app, email), 0);
    await app.as(ROOT).sso.update({ ...about, client_id: provider.clientId });
    await activate(app, connection);
  });

logins('accepts the invitation of a new person, who needs no password', async (fixture) => {
  const { app } = fixture;
  const email = 'invited@acme.test';
  const group = await addGroup(app, 'Invited people');
  await app.as(ACME).invitations.create({ items: [{ email, client: ACME_ID, groups: [group] }] });
  const { visitor, page } = await logInAs(fixture, { email, given_name: 'Ines', family_name: 'Invited' });

  assert.is(page.status, 303);
  assert.is(await personOf(app, visitor), email);
  const user = await app.as(ROOT).users.get({ email });
  assert.equal([user.first_name, user.last_name], ['Ines', 'Invited']);
  assert.equal(await clientsOf(app, email), [ACME_ID]);
  assert.equal(await groupsOf(app, email), ['Invited people']);
  const actions = (await actionsOf(app, { target: email })).map(({ action }) => action);
  assert.equal(actions.slice(0, 4), ['login.session', 'identity.link', 'invitation.accept', 'user.create']);
});

logins('creates people with default groups, if the connection does', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = 'provisioned@acme.test';
  const group = await addGroup(app, 'Everybody');
  const settings = { provisions: true, default_groups: [group] };
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, ...settings });
  provider.people.set('provisioned', { email, given_name: 'Paula' });

  // Ten browsers at once.
  const logins = Array.from({ length: 10 }, () => logInWithSso(fixture, { subject: 'provisioned' }));
  const statuses = new Set((await Promise.all(logins)).map(({ page }) => page.status));

  assert.equal([...statuses], [303]);
  assert.equal(await groupsOf(app, email), ['Everybody']);
  const user = await app.as(ROOT).users.get({ email });
  assert.equal([user.first_name, user.is_active], ['Paula', true]);
  assert.equal(await clientsOf(app, email), [ACME_ID]);
  assert.is((await rowsOf(app, 'external_identities', { subject: 'provisioned' })).length, 1);
});

logins('adds people to mapped groups and out of them at each login, and leaves others', async (fixture) => {
  const { app, connection } = fixture;
  const [sales, finance] = [await addGroup(app, 'Sales team'), await addGroup(app, 'Finance team')];
  const email = await addMember(app, 'grouped');
  const own = await addGroup(app, 'Chosen by hand');
  await app.as(ROOT).groups.edit({ id: ACME_ID, group_id: own, added_members: [email] });
  const group_mapping = [
    { claim: 'idp-sales', group: sales },
    { claim: 'idp-finance', group: finance },
  ];
  const change = { id: ACME_ID, connection_id: connection, groups_claim: 'groups' };
  await app.as(ROOT).sso.update({ ...change, group_mapping });

  for (const [groups, expected] of [
    [['idp-sales', 'unknown'], ['Sales team']],
    [['idp-finance'], ['Finance team']],
    ['idp-sales', ['Sales team']],
    ['idp-finance; idp-sales', ['Finance team', 'Sales team']],
    [undefined, []],
  ] as const) {
    const { page } = await logInAs(fixture, { email, ...(groups !== undefined && { groups }) });
    assert.is(page.status, 303);
    assert.equal(await groupsOf(app, email), ['Chosen by hand', ...expected]);
  }
  const updates = await actionsOf(app, { target: 'Finance team', action: 'group.update' });
  const id = await userId(app, email);
  const [added, removed] = [
    { added: [id], removed: [] },
    { added: [], removed: [id] },
  ];
  const members = updates.map(({ details }) => details.members);
  assert.equal(members, [removed, added, removed, added]);
});

logins('replaces the data permissions that the provider has stated', async (fixture) => {
  const { app, connection } = fixture;
  const email = await addMember(app, 'stated');
  const attribute_claims = { region: 'groups' };
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, attribute_claims });

  const stated = { client_id: ACME_ID, user_id: await userId(app, email) };
  await logInAs(fixture, { email, groups: ['North'] });
  assert.equal(await valuesOf(app, 'memberships', 'claims', stated), [{ region: ['North'] }]);
  await logInAs(fixture, { email });
  assert.equal(await valuesOf(app, 'memberships', 'claims', stated), [null]);
});

logins('asks for a second factor that the client requires and the provider has not', async (fixture) => {
  const { app } = fixture;
  const claims = { email: GRACE };
  const { secret } = await enroll(app, GRACE);
  assert.is((await logInAs(fixture, claims)).page.location, '/', 'no policy');
  await setFactorPolicy(app, ACME_ID, { policy: 'required', daysAgo: 30 });

  const { visitor, page } = await logInAs(fixture, claims);
  assert.equal([page.location, await personOf(app, visitor)], ['/login/code/', null]);
  await visitor.get('/login/code/');
  assert.is((await visitor.submit('/login/code/', { code: nextCode(app, secret) })).status, 303);
  assert.is(await personOf(app, visitor), GRACE);
  const strong = await logInAs(fixture, claims, { amr: ['pwd', 'mfa'] });
  assert.equal([strong.page.location, await personOf(app, strong.visitor)], ['/', GRACE]);
  await setFactorPolicy(app, ACME_ID, { policy: 'off' });
  await sql`delete from mfa_factors`.execute(app.db());
});

logins('goes on with another address than before, and notes it', async (fixture) => {
  const { app } = fixture;
  const email = await addMember(app, 'maiden');
  await logInAs(fixture, { email });
  const { visitor } = await logInAs(fixture, { email: 'married@elsewhere.test' });
  await logInAs(fixture, { email: 'married@elsewhere.test' });

  assert.is(await personOf(app, visitor), email);
  const noted = await actionsOf(app, { target: email, action: 'identity.note-address' });
  assert.equal(noted, [{ action: 'identity.note-address', details: {} }]);
  assert.is((await app.as(ROOT).users.identities({ email }))[0]?.email, 'married@elsewhere.test');
});

logins('is offered on the page of an invitation, alone if the client requires it', async (fixture) => {
  const { app, connection } = fixture;
  const { path } = await inviteByLink(app, { email: 'asked@acme.test' });
  const visitor = createVisitor(app);
  const start = `http://localhost:8000/sso/${connection}/start/`;
  const page = await visitor.get(path);
  assert.match(page.body, `<a class="button" href="${start}">Continue with Acme ID</a>`);
  assert.match(page.body, 'type="password"');

  const change = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...change, is_required: true });
  const required = await visitor.get(path);
  assert.match(required.body, start);
  assert.not.match(required.body, 'type="password"');
  const key = path.split('/')[2] ?? '';
  const signature = new URLSearchParams(path.split('?')[1]).get('signature') ?? '';
  const accepted = app.as(null).invitations.accept({ key, signature, password: 'Violet-harbor-92-kite' });
  await rejectsWith(accepted, 'sso-required');
  await app.as(ROOT).sso.update({ ...change, is_required: false });
});

logins('ends the session, or the waiting login, of another person in the browser', async (fixture) => {
  const { app, provider } = fixture;
  const email = await addMember(app, 'second');
  const waiting = await addMember(app, 'waiting');
  await givePassword(app, waiting);
  await enroll(app, waiting, 'App');
  provider.people.set('second', { email });
  for (const [other, location] of [
    [GRACE, '/'],
    [waiting, '/login/code/'],
  ] as const) {
    const visitor = createVisitor(app);
    assert.is((await enterPassword(visitor, other, PASSWORD_FORM)).location, location);
    const page = await visitor.get(await visitProvider(fixture, visitor, { subject: 'second' }));

    assert.equal([page.location, await personOf(app, visitor)], ['/', email]);
    assert.not.ok([...visitor.jar.keys()].some((name) => name.endsWith('challenge')));
  }
});

logins('refuses HEAD of the page to which a provider sends the browser', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('head', { email: ADA });
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'head' });
  const looked = await visitor.head(callback);

  assert.equal([looked.status, looked.headers.allow], [405, 'GET, OPTIONS']);
  await visitor.get(callback);
  assert.is(await personOf(app, visitor), ADA, 'the login was not used up');
});

logins('tells apps registered names alone of how a provider has logged the person in', async (fixture) => {
  const { app } = fixture;
  const email = await addMember(app, 'words');
  await logInAs(fixture, { email }, { amr: ['pwd', 'secretcard', 'fpt'] });

  const { methods } = await rowOf(app, 'sessions', { user_id: await userId(app, email) });
  assert.equal(methods, ['sso', 'pwd', 'fpt']);
});

logins('mails a member whose account is connected, but nobody whom the login creates', async (fixture) => {
  const { app, provider, connection } = fixture;
  const [member, created] = [await addMember(app, 'mailed'), 'made@acme.test'];
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, provisions: true });
  for (const email of [member, created, member]) {
    provider.people.set(email, { email });
    await logInWithSso(fixture, { subject: email });
  }

  const mailed = { kind: 'identity-linked' as const, recipient: [member, created] };
  assert.equal(await valuesOf(app, 'outbox_mails', 'recipient', mailed), [member]);
});

logins.run();
