import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { locationOf, pathOf } from '../../support/identity-provider.ts';
import { connectPortal, FRESH_SECONDS } from '../../support/lemonldap.ts';
import { ACME_ID, personOf } from '../../support/sso.ts';
import { suiteWith } from '../../support/suite.ts';
import { ACME, ROOT, startTestApp } from '../../support/test-app.ts';

const DOCTOR = 'dwho@badwolf.org';

const start = async (started: AsyncDisposableStack) => {
  const app = await startTestApp();
  started.defer(app.close);
  const { id: group } = await app.as(ACME).groups.create({ id: ACME_ID, name: 'Lords of time' });
  const connection = {
    scopes: 'openid email profile groups',
    first_name_claim: 'name',
    last_name_claim: '',
    groups_claim: 'groups',
    group_mapping: [{ claim: 'timelords', group }],
  };
  return { group, ...(await connectPortal(started, app, connection)) };
};
type Fixture = Awaited<ReturnType<typeof start>>;

const logins = suiteWith('login with LemonLDAP::NG as the identity provider', start);

type Browsers = {
  visitor: ReturnType<typeof createVisitor>;
  browser: ReturnType<Fixture['portal']['openBrowser']>;
};

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

logins.run();
