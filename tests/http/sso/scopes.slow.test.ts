import * as assert from 'uvu/assert';
import { userId } from '../../support/access-views.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { cookieHeader, enterPassword, givePassword } from '../../support/logins.ts';
import { inviteByLink, setProved } from '../../support/mails.ts';
import { rowsOf, setRows } from '../../support/rows.ts';
import { enroll, problemIn } from '../../support/second-factors.ts';
import { ACME_ID, activate, addConnection, logInWithSso, ssoSuite, verifyDomain } from '../../support/sso.ts';
import { ACME, DEMO_PASSWORD, ROOT, type TestApp } from '../../support/test-app.ts';
import { FLEET, SALES } from '../../support/usage.ts';

/** Acme and Globex use one identity provider. */
const scopes = ssoSuite('what a session by an identity provider reaches');
const GLOBEX_ID = 2;
let ofGlobex = 0;

scopes.before(async ({ app, provider }) => {
  ofGlobex = await addConnection(app, provider, GLOBEX_ID);
  await activate(app, ofGlobex, GLOBEX_ID);
  await verifyDomain(app, GLOBEX_ID, 'globex.test');
});

type Visitor = ReturnType<typeof createVisitor>;

const read = async (app: TestApp, { jar }: Visitor, path: string) =>
  (await app.send(`GET ${path}`, { headers: { cookie: cookieHeader(jar) } })).json();

/** The ids of the apps that the person of a browser has, and who they are. */
const seenIn = async (app: TestApp, visitor: Visitor) => {
  const { user, roles } = await read(app, visitor, '/session/');
  return { email: user.email, apps: user.apps, isSuperuser: roles.is_superuser, isStaff: roles.is_staff };
};

const setPassword = async (app: TestApp, email: string): Promise<void> => {
  await givePassword(app, email);
  await setProved(app, email);
};

const setRequired = (app: TestApp, connection: number, is_required: boolean) =>
  app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_required });

const addMember = async (app: TestApp, name: string, apps: string[] = []): Promise<string> => {
  const { email } = await app.as(ACME).users.create({ email: `${name}@acme.test`, apps });
  await setPassword(app, email);
  return email;
};

scopes('is one client of several, whichever its provider is, and all with a password', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = await addMember(app, 'both');
  await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
  provider.people.set('both', { email });
  const member = { email, isSuperuser: false, isStaff: false };

  const atAcme = await logInWithSso(fixture, { subject: 'both' });
  assert.equal(await seenIn(app, atAcme.visitor), { ...member, apps: [SALES] });
  await verifyDomain(app, GLOBEX_ID, 'both.test');
  await app.as(ROOT).users.changeEmail({ email, new_email: 'both@both.test' });
  await setPassword(app, 'both@both.test');
  provider.people.set('both', { email: 'both@both.test' });
  const atGlobex = await logInWithSso({ ...fixture, connection: ofGlobex }, { subject: 'both' });
  assert.equal(await seenIn(app, atGlobex.visitor), { ...member, email: 'both@both.test', apps: [FLEET] });
  const byPassword = createVisitor(app);
  await enterPassword(byPassword, 'both@both.test', { query: '?method=password' });
  assert.equal((await seenIn(app, byPassword)).apps, [SALES, FLEET]);

  await setRequired(app, connection, true);
  assert.equal((await seenIn(app, byPassword)).apps, [FLEET]);
  assert.equal((await seenIn(app, atGlobex.visitor)).apps, [FLEET]);
  await setRequired(app, connection, false);
});

scopes('refuses the password of a person all of whose clients require their providers', async (fixture) => {
  const { app, connection } = fixture;
  const username = await addMember(app, 'bound');
  await setRequired(app, connection, true);
  const login = (password = DEMO_PASSWORD) =>
    app.send('POST /api-token-auth/', { payload: { username, password } });
  assert.is(problemIn(await login()), 'sso-required');
  assert.is(problemIn(await login('wrong one')), 'invalid-credentials');
  await app.as(ROOT).users.update({ email: username, apps: [FLEET] });
  assert.is((await login()).statusCode, 200, 'another client counts');
  await setRequired(app, connection, false);
});

scopes('ends with its connection, and so do the tokens that were made in it', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = await addMember(app, 'maker');
  provider.people.set('maker', { email });
  const { visitor } = await logInWithSso(fixture, { subject: 'maker' });
  await visitor.get('/api/v1/csrf/');
  const cookie = cookieHeader(visitor.jar);
  const made = await app.send('POST /jb/tokens/', {
    headers: { cookie, 'x-csrftoken': visitor.jar.get('csrftoken') ?? '' },
    payload: { name: 'script' },
  });
  const headers = { authorization: `Token ${made.json().token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200, made.body);

  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_active: false });
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.is((await app.send('GET /jb/apps/', { headers: { cookie } })).statusCode, 401);
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_active: true });
});

scopes('is that of a member of the client for superusers, too', async (fixture) => {
  const { app, provider } = fixture;
  const email = await addMember(app, 'chief', [SALES]);
  await app.as(ROOT).roles.update({ email, is_superuser: true, is_staff: true });
  provider.people.set('chief', { email });
  const { visitor } = await logInWithSso(fixture, { subject: 'chief' });

  assert.equal(await seenIn(app, visitor), { email, apps: [SALES], isSuperuser: false, isStaff: false });
  const refused = await read(app, visitor, '/jb/clients/');
  assert.is(refused.type, 'urn:steward:problem:forbidden');
});

scopes('is everything for superusers and staff with the provider of the installation', async (fixture) => {
  const { app, provider } = fixture;
  const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
  const input = { name: 'Operations', issuer, client_id, client_secret };
  const { id, client } = await app.as(ROOT).installationSso.create(input);
  assert.is(client, null);
  await setRows(app, 'sso_connections', { id }, { tested_at: app.clock.now() });
  await app.as(ROOT).installationSso.update({ connection_id: id, is_active: true });
  await app.as(ROOT).installationSso.addDomain({ domain: 'ops.test' });
  for (const email of ['root@ops.test', 'nobody@ops.test']) await app.as(ROOT).users.create({ email });
  await app.as(ROOT).roles.update({ email: 'root@ops.test', is_superuser: true });
  const logIn = (subject: string) => {
    provider.people.set(subject, { email: `${subject}@ops.test` });
    return logInWithSso({ ...fixture, connection: id }, { subject });
  };

  const { visitor } = await logIn('root');
  assert.is((await seenIn(app, visitor)).isSuperuser, true);
  assert.ok((await read(app, visitor, '/jb/clients/')).length > 1);
  for (const subject of ['nobody', 'unknown'])
    assert.match((await logIn(subject)).page.text, 'This connection is for superusers and staff.');
  await app.as(ROOT).roles.update({ email: 'root@ops.test', is_superuser: false });
  assert.is((await read(app, visitor, '/session/')).status, 401, 'without a role, nobody has its sessions');
  const found = createVisitor(app);
  await found.get('/login/');
  const led = await found.post('/login/', { step: 'address', username: 'root@ops.test' }, {});
  assert.match(led.location ?? '', issuer);
});

scopes('begins with the proof of an address, which ends what others have prepared', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'bob@globex.test';
  const { path } = await inviteByLink(app, { email });
  const key = path.split('/')[2] ?? '';
  const signature = new URLSearchParams(path.split('?')[1]).get('signature') ?? '';
  const password = 'Violet-harbor-92-kite';
  await app.as(null).invitations.accept({ key, signature, password });
  await enroll(app, email);
  const token = await app.tokenOf(email);
  await app.as(ROOT).sso.update({ id: GLOBEX_ID, connection_id: ofGlobex, provisions: true });
  provider.people.set('bob', { email });

  const { visitor } = await logInWithSso({ ...fixture, connection: ofGlobex }, { subject: 'bob' });
  assert.is((await seenIn(app, visitor)).email, email);
  const prepared = await app.send('POST /api-token-auth/', { payload: { username: email, password } });
  assert.is(problemIn(prepared), 'invalid-credentials');
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.equal(await rowsOf(app, 'mfa_factors', { user_id: await userId(app, email) }), []);
  // A second proof ends nothing.
  const again = await logInWithSso({ ...fixture, connection: ofGlobex }, { subject: 'bob' });
  assert.is((await seenIn(app, again.visitor)).email, email);
  assert.is((await seenIn(app, visitor)).email, email);
});

scopes.run();
