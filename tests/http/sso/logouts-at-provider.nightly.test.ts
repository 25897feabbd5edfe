import type { ServerResponse } from 'node:http';
import * as assert from 'uvu/assert';
import { PROVIDER_TIMEOUT_MS } from '../../../src/adapters/identity-provider/identity-provider.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { locationOf, pathOf, startProviderMetadata } from '../../support/identity-provider.ts';
import { enterPassword } from '../../support/logins.ts';
import { setRows } from '../../support/rows.ts';
import { activate, addConnection, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME } from '../../support/test-app.ts';

const logouts = ssoSuite('logout at the provider');

const [FIRST, SECOND] = ['first@acme.test', 'second@acme.test'];
const OTHER_CLIENT = 2;
/** The login page, which says that the person may still be logged in at the provider. */
const KEPT = '/login/?kept=1';

logouts.before(async ({ app, provider }) => {
  for (const email of [FIRST, SECOND]) {
    await app.as(ACME).users.create({ email });
    provider.people.set(email, { email });
  }
});

type Fixture = Parameters<typeof logInWithSso>[0];

/** Logs in with the same browser at the provider, in front of which this person sits, and returns who is logged in here. */
const logIn = async (
  { app, provider, connection }: Fixture,
  browser: ReturnType<Fixture['provider']['openBrowser']>,
  subject: string,
) => {
  const visitor = createVisitor(app);
  const started = locationOf(await visitor.get(`/sso/${connection}/start/`));
  provider.state.subject = subject;
  await visitor.get(pathOf(await browser.follow(started)));
  return { visitor, person: await personOf(app, visitor) };
};

logouts('ends the session that would log in the next person who uses the browser', async (fixture) => {
  const { app, connection } = fixture;
  const browser = fixture.provider.openBrowser();
  const { visitor } = await logIn(fixture, browser, FIRST);
  await visitor.get('/');
  await visitor.submit('/logout/');
  assert.is((await logIn(fixture, browser, SECOND)).person, FIRST, 'the provider still knows the browser');

  const started = locationOf(await createVisitor(app).get(`/sso/${connection}/logout/`));
  const { searchParams } = new URL(started);
  assert.equal(Object.fromEntries(searchParams), {
    client_id: fixture.provider.clientId,
    post_logout_redirect_uri: `${app.config.baseUrl}/login/`,
  });
  assert.is(await browser.confirmLogout(started), `${app.config.baseUrl}/login/`);

  assert.is((await logIn(fixture, browser, SECOND)).person, SECOND);
});

logouts('is offered after a logout of a session that began at a provider', async (fixture) => {
  const { app, connection } = fixture;
  const { visitor } = await logInWithSso(fixture, { subject: FIRST });
  await visitor.get('/');
  const { location } = await visitor.submit('/logout/');
  assert.is(location, `/login/?logged_out=${connection}`);
  const page = await visitor.get(String(location));

  assert.match(page.body, `<a href="/sso/${connection}/logout/">Log out at your provider, too</a>`);
  assert.is(await personOf(app, visitor), null);
});

logouts('is not offered after a logout of a session that began with a password', async ({ app }) => {
  const visitor = createVisitor(app);
  await enterPassword(visitor, ACME, { query: '?method=password' });
  await visitor.get('/');
  const { location } = await visitor.submit('/logout/');

  assert.is(location, '/login/');
  assert.not.match((await visitor.get('/login/')).text, 'provider');
});

logouts('is offered in the same words for connections that do not exist', async ({ app, connection }) => {
  const visitor = createVisitor(app);
  const textFor = async (id: string) => (await visitor.get(`/login/?logged_out=${id}`)).text;
  assert.is(await textFor(String(connection)), await textFor('999'));
  assert.not.match(await textFor(String(connection)), 'Acme ID');
  for (const id of ['', 'x', '1234567890', '"><b>', '../../logout'])
    assert.not.match(await textFor(encodeURIComponent(id)), 'provider', id);
});

logouts('is refused for links, images and frames of other sites', async ({ app, connection }) => {
  const visit = (headers: Record<string, string>) =>
    createVisitor(app).get(`/sso/${connection}/logout/`, { headers });
  for (const [site, destination, status] of [
    ['cross-site', 'document', 403],
    ['same-site', 'document', 403],
    ['same-origin', 'image', 403],
    ['same-origin', 'document', 303],
    ['none', 'document', 303],
  ] as const)
    assert.is((await visit({ 'sec-fetch-site': site, 'sec-fetch-dest': destination })).status, status);
});

/** An active connection of another client with this issuer, which no login has used. */
const addOther = async ({ app, provider }: Fixture, changes: Partial<Fixture['provider']>) => {
  const id = await addConnection(app, { ...provider, ...changes }, OTHER_CLIENT);
  await setRows(app, 'sso_connections', { client_id: OTHER_CLIENT }, { is_active: false });
  await activate(app, id, OTHER_CLIENT);
  return id;
};

logouts('leads to the login page if the provider has no logout', async (fixture) => {
  const id = await addOther(fixture, { issuer: await startProviderMetadata() });

  assert.is((await createVisitor(fixture.app).get(`/sso/${id}/logout/`)).location, KEPT);
});

logouts('leads to no address that is not of the web', async (fixture) => {
  const { app, provider } = fixture;
  const { issuer } = provider;
  const visit = async (endpoint: string) => {
    const id = await addOther(fixture, { clientSecret: `of the provider with ${endpoint}` });
    provider.state.respond = (path: string, response: ServerResponse) => {
      if (!path.startsWith('/.well-known/')) return false;
      const metadata = { issuer, jwks_uri: `${issuer}/jwks`, end_session_endpoint: endpoint };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return true;
    };
    const { location } = await createVisitor(app).get(`/sso/${id}/logout/`);
    provider.state.respond = null;
    return location;
  };

  assert.match(String(await visit('https://login.acme.test/end')), 'https://login.acme.test/end?post_logout');
  for (const endpoint of ['javascript:alert(1)', 'data:text/html,x', 'no address'])
    assert.is(await visit(endpoint), KEPT, endpoint);
});

logouts.run();

const hanging = ssoSuite('logout at a provider that hangs', {}, { providerTimeoutMs: PROVIDER_TIMEOUT_MS });

hanging('leads to the login page after three seconds', async (fixture) => {
  const { app, provider } = fixture;
  const id = await addOther(fixture, { clientSecret: 'of a connection whose provider hangs' });
  provider.state.respond = (path) => path.startsWith('/.well-known/');
  const startedAt = performance.now();
  const { location } = await createVisitor(app).get(`/sso/${id}/logout/`);
  const elapsedMs = performance.now() - startedAt;

  assert.is(location, KEPT);
  // Before the time of the request is over, also where this process stands still for a while.
  assert.ok(elapsedMs < 10_000, `${elapsedMs} ms`);
});

hanging.run();
