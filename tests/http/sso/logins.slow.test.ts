import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { rejectsWith } from '../../support/rejects.ts';
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
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const logins = ssoSuite('login with single sign-on');

logins.before.each(async ({ app, provider, connection }) => {
  provider.people.clear();
  await sql`delete from external_identities`.execute(app.db());
  const reset = { provisions: false, default_groups: [], groups_claim: '', group_mapping: [] };
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, ...reset });
});

const groupsOf = async (app: TestApp, email: string): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    select g.name from group_members gm join groups g on g.id = gm.group_id join users u on u.id = gm.user_id
    where u.email = ${email} order by g.name`.execute(app.db());
  return rows.map(({ name }) => name);
};
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  (await app.as(ROOT).memberships.list({ email })).map(({ client }) => client);

const addGroup = async (app: TestApp, name: string): Promise<number> =>
  (await app.as(ROOT).groups.create({ id: ACME_ID, name })).id;

const sessionsOf = async (app: TestApp, email: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from sessions s
    join users u on u.id = s.user_id where u.email = ${email}`.execute(app.db());
  return rows[0]?.count ?? 0;
};

logins('connects the account of a member by the verified domain of its address', async (fixture) => {
  const { app, provider, connection } = fixture;
  provider.people.set('ada-1', { email: [ADA.toUpperCase()], email_verified: true });
  const { visitor, page } = await logInWithSso(fixture, { subject: 'ada-1' });
  assert.equal([page.status, page.location, await personOf(app, visitor)], [303, '/', ADA]);

  const path = `/sso/${connection}/start/?next=/console/`;
  const again = await logInWithSso(fixture, { subject: 'ada-1', path });
  assert.is(again.page.location, '/console/');
  assert.is(await personOf(app, again.visitor), ADA);
  const actions = await actionsOf(app, { target: ADA });
  assert.equal(
    actions.slice(0, 3).map(({ action }) => action),
    ['login.session', 'login.session', 'identity.link'],
  );
  assert.equal(actions[0]?.details, { connection, name: 'Acme ID' });
});

logins('keeps the person who is logged in when a link of another site starts a login', async (fixture) => {
  const { app, connection } = fixture;
  const visitor = createVisitor(app);
  await visitor.get('/login/?method=password');
  await visitor.submit('/login/', { username: GRACE, password: DEMO_PASSWORD });
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
    const email = `slow-${Object.keys(changes)}@acme.test`;
    await app.as(ACME).users.create({ email });
    provider.people.set('slow', { email });
    const about = { id: ACME_ID, connection_id: connection };
    provider.state.tamper = (claims) => claims;
    provider.state.signWith = async (claims) => {
      await app.as(ROOT).sso.update({ ...about, ...changes });
      return provider.sign(claims);
    };
    const { visitor, page } = await logInWithSso(fixture, { subject: 'slow' });
    Object.assign(provider.state, { tamper: null, signWith: null });

    assert.is(page.status, 403);
    assert.is(await personOf(app, visitor), null);
    assert.is(await sessionsOf(app, email), 0);
    await app.as(ROOT).sso.update({ ...about, client_id: provider.clientId });
    await activate(app, connection);
  });

logins('accepts the invitation of a new person, who needs no password', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'invited@acme.test';
  const group = await addGroup(app, 'Invited people');
  await app.as(ACME).invitations.create({ items: [{ email, client: ACME_ID, groups: [group] }] });
  provider.people.set('invited', { email, given_name: 'Ines', family_name: 'Invited' });
  const { visitor, page } = await logInWithSso(fixture, { subject: 'invited' });

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
  const visits = await Promise.all(
    Array.from({ length: 10 }, () => logInWithSso(fixture, { subject: 'provisioned' })),
  );

  assert.equal([...new Set(visits.map(({ page }) => page.status))], [303]);
  assert.equal(await groupsOf(app, email), ['Everybody']);
  const user = await app.as(ROOT).users.get({ email });
  assert.equal([user.first_name, user.is_active], ['Paula', true]);
  assert.equal(await clientsOf(app, email), [ACME_ID]);
  const { rows } = await sql`select from external_identities where subject = 'provisioned'`.execute(app.db());
  assert.is(rows.length, 1);
});

logins(
  'adds people to mapped groups and takes them out at each login, and leaves others',
  async (fixture) => {
    const { app, provider, connection } = fixture;
    const [sales, finance, own] = [
      await addGroup(app, 'Sales team'),
      await addGroup(app, 'Finance team'),
      await addGroup(app, 'Chosen by hand'),
    ];
    const email = 'grouped@acme.test';
    await app.as(ACME).users.create({ email });
    await app.as(ROOT).groups.edit({ id: ACME_ID, group_id: own, added_members: [email] });
    await app.as(ROOT).sso.update({
      id: ACME_ID,
      connection_id: connection,
      groups_claim: 'groups',
      group_mapping: [
        { claim: 'idp-sales', group: sales },
        { claim: 'idp-finance', group: finance },
      ],
    });
    const logInAs = async (groups: unknown) => {
      provider.people.set('grouped', { email, ...(groups !== undefined && { groups }) });
      assert.is((await logInWithSso(fixture, { subject: 'grouped' })).page.status, 303);
      return groupsOf(app, email);
    };

    assert.equal(await logInAs(['idp-sales', 'unknown']), ['Chosen by hand', 'Sales team']);
    assert.equal(await logInAs(['idp-finance']), ['Chosen by hand', 'Finance team']);
    assert.equal(await logInAs('idp-sales'), ['Chosen by hand', 'Sales team']);
    assert.equal(await logInAs('idp-finance; idp-sales'), ['Chosen by hand', 'Finance team', 'Sales team']);
    assert.equal(await logInAs(['idp-sales']), ['Chosen by hand', 'Sales team']);
    assert.equal(await logInAs(undefined), ['Chosen by hand']);
    const updates = await actionsOf(app, { target: 'Finance team', action: 'group.update' });
    const { id } = await app
      .db()
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    assert.equal(
      updates.map(({ details }) => details),
      [[], [id], [], [id]]
        .map((removed, n) => ({ members: { added: n % 2 ? [] : [id], removed } }))
        .reverse(),
    );
  },
);

logins(
  'asks for a second factor that the client requires and the provider has not asked for',
  async (fixture) => {
    const { app, provider } = fixture;
    provider.people.set('factor', { email: GRACE });
    const { secret } = await enroll(app, GRACE);
    assert.is((await logInWithSso(fixture, { subject: 'factor' })).page.location, '/', 'no policy');
    await setFactorPolicy(app, ACME_ID, { policy: 'required', daysAgo: 30 });

    const { visitor, page } = await logInWithSso(fixture, { subject: 'factor' });
    assert.equal([page.location, await personOf(app, visitor)], ['/login/code/', null]);
    await visitor.get('/login/code/');
    assert.is((await visitor.submit('/login/code/', { code: nextCode(app, secret) })).status, 303);
    assert.is(await personOf(app, visitor), GRACE);
    const strong = await logInWithSso(fixture, { subject: 'factor', amr: ['pwd', 'mfa'] });
    assert.equal([strong.page.location, await personOf(app, strong.visitor)], ['/', GRACE]);
    await setFactorPolicy(app, ACME_ID, { policy: 'off' });
    await sql`delete from mfa_factors`.execute(app.db());
  },
);

logins('goes on with another address than before, and notes it', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'maiden@acme.test';
  await app.as(ACME).users.create({ email });
  provider.people.set('renamed', { email });
  await logInWithSso(fixture, { subject: 'renamed' });
  provider.people.set('renamed', { email: 'married@elsewhere.test' });
  const { visitor } = await logInWithSso(fixture, { subject: 'renamed' });
  await logInWithSso(fixture, { subject: 'renamed' });

  assert.is(await personOf(app, visitor), email);
  const noted = await actionsOf(app, { target: email, action: 'identity.note-address' });
  assert.equal(noted, [{ action: 'identity.note-address', details: {} }]);
  assert.is((await app.as(ROOT).users.identities({ email }))[0]?.email, 'married@elsewhere.test');
});

logins(
  'offers the provider on the page of an invitation, and refuses a password if it is required',
  async (fixture) => {
    const { app, connection } = fixture;
    const [created] = await app
      .as(ACME)
      .invitations.create({ items: [{ email: 'asked@acme.test', client: ACME_ID }] });
    const { url = '' } = await app.as(ACME).invitations.copyLink({ id: created?.id ?? 0 });
    const path = new URL(url).pathname + new URL(url).search;
    const visitor = createVisitor(app);
    const start = `http://localhost:8000/sso/${connection}/start/`;
    const page = await visitor.get(path);
    assert.match(page.body, `<a class="button" href="${start}">Continue with Acme ID</a>`);
    assert.match(page.body, 'type="password"');

    await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_required: true });
    const required = await visitor.get(path);
    assert.match(required.body, start);
    assert.not.match(required.body, 'type="password"');
    const key = path.split('/')[2] ?? '';
    const signature = new URL(url).searchParams.get('signature') ?? '';
    const accepted = app.as(null).invitations.accept({ key, signature, password: 'Violet-harbor-92-kite' });
    await rejectsWith(accepted, 'sso-required');
    await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_required: false });
  },
);

logins('goes on as the person of the provider where another one is logged in', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'second@acme.test';
  await app.as(ROOT).users.create({ email, client: ACME_ID });
  provider.people.set('second', { email });
  const visitor = createVisitor(app);
  await visitor.get('/login/?method=password');
  await visitor.submit('/login/', { username: GRACE, password: DEMO_PASSWORD });
  assert.is(await personOf(app, visitor), GRACE);
  const page = await visitor.get(await visitProvider(fixture, visitor, { subject: 'second' }));

  assert.equal([page.location, await personOf(app, visitor)], ['/', email]);
});

logins('ends the login of another person that waits for a code in the browser', async (fixture) => {
  const { app, provider } = fixture;
  const waiting = 'waiting@acme.test';
  await app.as(ROOT).users.create({ email: waiting, client: ACME_ID });
  await sql`update users set password_hash = (select password_hash from users where email = ${GRACE}) where email = ${waiting}`.execute(
    app.db(),
  );
  await enroll(app, waiting, 'App');
  const visitor = createVisitor(app);
  await visitor.get('/login/?method=password');
  const asked = await visitor.submit('/login/', { username: waiting, password: DEMO_PASSWORD });
  assert.is(asked.location, '/login/code/');
  const email = 'instead@acme.test';
  await app.as(ROOT).users.create({ email, client: ACME_ID });
  provider.people.set('instead', { email });
  await visitor.get(await visitProvider(fixture, visitor, { subject: 'instead' }));

  assert.is(await personOf(app, visitor), email);
  assert.ok(![...visitor.jar.keys()].some((name) => name.endsWith('challenge')));
});

logins('refuses HEAD of the page to which a provider sends the browser', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'head@acme.test';
  await app.as(ROOT).users.create({ email, client: ACME_ID });
  provider.people.set('head', { email });
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'head' });
  const looked = await visitor.head(callback);

  assert.equal([looked.status, looked.headers.allow], [405, 'GET, OPTIONS']);
  await visitor.get(callback);
  assert.is(await personOf(app, visitor), email, 'the login was not used up');
});

logins(
  'tells apps the registered names of how a provider has logged the person in alone',
  async (fixture) => {
    const { app, provider } = fixture;
    const email = 'words@acme.test';
    await app.as(ROOT).users.create({ email, client: ACME_ID });
    provider.people.set('words', { email });
    await logInWithSso(fixture, { subject: 'words', amr: ['pwd', 'secretcard', 'fpt'] });
    const { rows } = await sql<{ methods: string[] }>`select methods from sessions s
    join users u on u.id = s.user_id where u.email = ${email}`.execute(app.db());

    assert.equal(rows, [{ methods: ['sso', 'pwd', 'fpt'] }]);
  },
);

logins('mails a member whose account is connected, but nobody whom the login creates', async (fixture) => {
  const { app, provider, connection } = fixture;
  const mails = async (recipient: string) => {
    const rows = sql`select from outbox_mails where recipient = ${recipient} and kind = 'identity-linked'`;
    return (await rows.execute(app.db())).rows.length;
  };
  const [member, created] = ['mailed@acme.test', 'made@acme.test'];
  await app.as(ROOT).users.create({ email: member, client: ACME_ID });
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, provisions: true });
  for (const email of [member, created]) {
    provider.people.set(email, { email });
    await logInWithSso(fixture, { subject: email });
  }
  await logInWithSso(fixture, { subject: member });

  assert.equal([await mails(member), await mails(created)], [1, 0]);
});

logins.run();
