import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { cookieHeader, enterPassword } from '../../support/logins.ts';
import {
  ACME_ID,
  actionsOf,
  addConnection,
  logInWithSso,
  personOf,
  ssoSuite,
  visitProvider,
} from '../../support/sso.ts';
import { ACME, ADA, ROOT, type TestApp } from '../../support/test-app.ts';

const tests = ssoSuite('test of a connection');

const logInAsAdmin = async (app: TestApp) => {
  const visitor = createVisitor(app);
  assert.is((await enterPassword(visitor, ACME, { query: '?method=password' })).status, 303);
  return visitor;
};

const digest = async (app: TestApp): Promise<unknown> => {
  const { rows } = await sql`select
    (select string_agg(u::text, '|' order by id) from users u) as users,
    (select string_agg(m::text, '|' order by client_id, user_id) from memberships m) as memberships,
    (select count(*) from external_identities) as identities, (select count(*) from sessions) as sessions,
    (select string_agg(g::text, '|' order by group_id, user_id) from group_members g) as groups`.execute(
    app.db(),
  );
  return rows[0];
};

tests('shows the claims and what a login would do, and changes nothing', async (fixture) => {
  const { app, provider } = fixture;
  const connection = await addConnection(app, provider);
  const change = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...change, groups_claim: 'groups' });
  const visitor = await logInAsAdmin(app);
  const before = await digest(app);
  const path = `/sso/${connection}/start/?test=1`;
  provider.people.set('ada', { email: ADA, groups: ['sales'], nickname: '<b>Ada</b>' });
  const callback = await visitProvider({ provider, connection }, visitor, { path, subject: 'ada' });
  const page = await visitor.get(callback);

  assert.is(page.status, 200);
  assert.match(page.text, `Connect and log in ${ADA}.`);
  assert.match(page.text, 'Of 1 stated groups, 0 are mapped.');
  assert.match(page.text, 'Nothing was changed.');
  assert.match(page.body, '<dt>email</dt>');
  assert.not.match(page.body, '<b>Ada</b>');
  assert.equal(await digest(app), before);
  assert.is(await personOf(app, visitor), ACME);
  const [entry] = await actionsOf(app, { action: 'connection.test' });
  assert.equal(entry?.details, { id: connection });
  const tested = (await app.as(ACME).sso.list({ id: ACME_ID })).find(({ id }) => id === connection);
  assert.equal(tested?.tested_at, app.clock.now());

  await app.as(ROOT).sso.remove(change);
});

for (const [name, claims, text] of [
  ['refused', { email: 'nobody@acme.test' }, 'Refuse the login. You have no access yet.'],
  ['without an address', {}, 'has no email address, so the connection cannot be used yet'],
  ['of foreign addresses', { email: 'x@elsewhere.test' }, 'Your email address is not in a domain'],
] as const)
  tests(`says that a login would be ${name}`, async (fixture) => {
    const { app, provider, connection } = fixture;
    provider.people.set('tested', claims);
    const visitor = await logInAsAdmin(app);
    const path = `/sso/${connection}/start/?test=1`;
    const page = await visitor.get(await visitProvider(fixture, visitor, { path, subject: 'tested' }));
    assert.match(page.text, text);
  });

tests('shows nothing to a browser in which another user is logged in by then', async (fixture) => {
  const { app, connection, provider } = fixture;
  provider.people.set('ada', { email: ADA });
  const visitor = await logInAsAdmin(app);
  const path = `/sso/${connection}/start/?test=1`;
  const callback = await visitProvider(fixture, visitor, { path, subject: 'ada' });
  visitor.jar.delete('steward_session');
  assert.match((await visitor.get(callback)).text, 'This test belongs to another administrator.');
});

tests('is not what confirms a session: for that, people log in at the provider again', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = 'confirms@acme.test';
  await app.as(ACME).users.create({ email });
  provider.people.set('confirms', { email });
  const { visitor } = await logInWithSso(fixture, { subject: 'confirms' });
  await sql`update sessions set authenticated_at = 'epoch'
    where user_id = (select id from users where email = ${email})`.execute(app.db());
  const headersOf = () => ({
    cookie: cookieHeader(visitor.jar),
    'x-csrftoken': visitor.jar.get('csrftoken'),
  });
  const create = () => app.send('POST /jb/tokens/', { payload: { name: 'new' }, headers: headersOf() });
  assert.is((await create()).json().type, 'urn:steward:problem:reauthentication-required');
  const { sso } = (await app.send('GET /session/', { headers: headersOf() })).json();
  assert.equal(sso, {
    id: connection,
    name: 'Acme ID',
    confirm_url: `${app.config.baseUrl}/sso/${connection}/start/?confirm=1`,
    logout_url: `${app.config.baseUrl}/sso/${connection}/logout/`,
  });
  const path = `/sso/${connection}/start/?confirm=1`;
  assert.match(String((await visitor.get(path)).location), /prompt=login&max_age=0/);
  await visitor.get(await visitProvider(fixture, visitor, { path, subject: 'confirms' }));
  assert.is((await create()).statusCode, 201);
});

tests.run();
