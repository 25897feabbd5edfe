import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { locationOf, pathOf } from '../../support/identity-provider.ts';
import { CLIENT_ID, CLIENT_SECRET, FRESH_SECONDS, startLemonldap } from '../../support/lemonldap.ts';
import { ACME_ID, activate, personOf, verifyDomain } from '../../support/sso.ts';
import { suite } from '../../support/suite.ts';
import { freePort } from '../../support/tcp.ts';
import { ACME, ROOT, startTestApp, type TestApp } from '../../support/test-app.ts';

type Portal = Awaited<ReturnType<typeof startLemonldap>>;
type Fixture = { app: TestApp; portal: Portal; connection: number; group: number };

const logins = suite<Fixture>('login with LemonLDAP::NG as the identity provider');

const DOCTOR = 'dwho@badwolf.org';

logins.before(async (context) => {
  context.app = await startTestApp();
  const { app } = context;
  const port = await freePort();
  const { id: group } = await app.as(ACME).groups.create({ id: ACME_ID, name: 'Lords of time' });
  const created = await app.as(ROOT).sso.create({
    id: ACME_ID,
    name: 'Acme ID',
    issuer: `http://127.0.0.1:${port}`,
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    scopes: 'openid email profile groups',
    first_name_claim: 'name',
    last_name_claim: '',
    provisions: true,
    groups_claim: 'groups',
    group_mapping: [{ claim: 'timelords', group }],
  });
  Object.assign(context, { connection: created.id, group });
  context.portal = await startLemonldap({
    port,
    redirectUri: created.redirect_uri,
    postLogoutUri: created.post_logout_redirect_uri,
  });
  await activate(app, created.id);
  await verifyDomain(app, ACME_ID, 'badwolf.org');
});
logins.after(async ({ app, portal }) => {
  await portal[Symbol.asyncDispose]();
  await app.close();
});

type Browsers = { visitor: ReturnType<typeof createVisitor>; browser: ReturnType<Portal['openBrowser']> };

const logIn = async ({ connection }: Fixture, { visitor, browser }: Browsers, user: string, query = '') => {
  const started = locationOf(await visitor.get(`/sso/${connection}/start/${query}`));
  const { location, hasAsked } = await browser.visit(started, { user });
  return { page: await visitor.get(pathOf(location)), hasAsked };
};

const openBrowsers = ({ app, portal }: Fixture): Browsers => ({
  visitor: createVisitor(app),
  browser: portal.openBrowser(),
});

logins('reads the metadata of the provider in a test', async ({ app, connection }) => {
  const { url } = await app.as(ACME).sso.test({ id: ACME_ID, connection_id: connection });

  assert.match(url, `/sso/${connection}/start/?test=1`);
});

logins('creates a person of the claims that only the userinfo endpoint states', async (fixture) => {
  const { app, group } = fixture;
  const browsers = openBrowsers(fixture);
  await logIn(fixture, browsers, 'dwho');

  assert.is(await personOf(app, browsers.visitor), DOCTOR);
  assert.is((await app.as(ROOT).users.get({ email: DOCTOR })).first_name, 'Doctor Who');
  assert.equal((await app.as(ACME).groups.get({ id: ACME_ID, group_id: group })).members, [DOCTOR]);
});

logins('asks for no password at the provider again, unless the login is confirmed', async (fixture) => {
  const browsers = openBrowsers(fixture);
  assert.is((await logIn(fixture, browsers, 'dwho')).hasAsked, true);
  assert.is((await logIn(fixture, browsers, 'dwho')).hasAsked, false);
  await setTimeout((FRESH_SECONDS + 1.5) * 1000);
  assert.is((await logIn(fixture, browsers, 'dwho', '?confirm=1')).hasAsked, true);
  const [identity] = await fixture.app.as(ROOT).users.identities({ email: DOCTOR });
  assert.is(identity?.subject, 'dwho');
});

logins('gives another person of the provider no groups that it does not state', async (fixture) => {
  const { app, group } = fixture;
  const browsers = openBrowsers(fixture);
  await logIn(fixture, browsers, 'rtyler');

  assert.is(await personOf(app, browsers.visitor), 'rtyler@badwolf.org');
  assert.equal((await app.as(ACME).groups.get({ id: ACME_ID, group_id: group })).members, [DOCTOR]);
});

logins('logs in a member who has a password, confined to the client', async (fixture) => {
  const { app } = fixture;
  const email = 'msmith@badwolf.org';
  await app.as(ACME).users.create({ email, send_email: false });
  await sql`update users set password_hash = (select password_hash from users where email = ${ACME})
    where email = ${email}`.execute(app.db());
  const browsers = openBrowsers(fixture);
  await logIn(fixture, browsers, 'msmith');

  assert.is(await personOf(app, browsers.visitor), email);
  const cookie = [...browsers.visitor.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  assert.is((await app.send('GET /session/', { headers: { cookie } })).json().confined_to, ACME_ID);
});

logins('says that the provider is not set up after it has refused the secret', async (fixture) => {
  const { app, connection } = fixture;
  const change = (client_secret: string) =>
    app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, client_secret });
  await change('another secret');
  const { page } = await logIn(fixture, openBrowsers(fixture), 'dwho');
  await change(CLIENT_SECRET);

  assert.match(page.text, 'is not set up correctly');
});

logins('shows one page if the provider ends in the middle of a login', async (fixture) => {
  const { portal, connection } = fixture;
  const { visitor, browser } = openBrowsers(fixture);
  const started = locationOf(await visitor.get(`/sso/${connection}/start/`));
  const { location } = await browser.visit(started, { user: 'dwho' });
  await portal[Symbol.asyncDispose]();
  const page = await visitor.get(pathOf(location));

  assert.is(page.status, 503);
  assert.match(page.text, 'Your identity provider does not answer');
});

logins.run();
