import * as assert from 'uvu/assert';
import {
  askGate,
  claimsIn,
  type GateOptions,
  openedView,
  setApp,
  setClient,
} from '../support/access-views.ts';
import { createScript } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';

const gate = appSuite('forward authentication');

const HTML = { accept: 'text/html' };

gate('sends the app who the user is, in headers that must not be cached', async ({ app }) => {
  const response = await askGate(app, { as: GRACE });

  assert.is(response.statusCode, 204, response.body);
  assert.is(response.headers['x-steward-user'], GRACE);
  assert.is(response.headers['x-steward-client'], 'Acme Analytics');
  assert.is(response.headers['x-steward-roles'], 'member');
  assert.is(response.headers['x-steward-code'], '');
  assert.is(response.headers['cache-control'], 'no-store');
  assert.is(response.headers.vary, 'Cookie, Authorization');
  const claims = claimsIn(String(response.headers['x-steward-ticket']));
  assert.equal([claims.aud, claims.email, claims.access_view], ['sales', GRACE, null]);
});

gate('admits a browser session, and both spellings of the path', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ADA, DEMO_PASSWORD);
  const cookie = `steward_session=${script.cookies.get('steward_session')}`;

  for (const path of ['/gate/sales/', '/gate/sales'])
    assert.is((await askGate(app, { headers: { cookie } }, path)).statusCode, 204);
});

gate('names the roles in the client of the app', async ({ app }) => {
  const rolesOf = async (who: string) => (await askGate(app, { as: who })).headers['x-steward-roles'];

  assert.equal(
    [await rolesOf(ACME), await rolesOf(STAFF), await rolesOf(ROOT)],
    ['client-admin', 'staff', 'superuser'],
  );
});

gate('refuses with 401 without valid credentials, with the address of the login page', async ({ app }) => {
  const bad = [
    {},
    { authorization: 'Token x' },
    { cookie: 'steward_session=x' },
    { cookie: '__Host-steward_embed_sales=x' },
  ];
  for (const headers of bad) {
    const response = await askGate(app, { headers });
    assert.is(response.statusCode, 401);
    assert.is(response.json().type, 'urn:steward:problem:unauthenticated');
    assert.is(response.headers['x-steward-login'], 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F');
  }
  assert.is((await askGate(app, { as: IDLE })).statusCode, 401);
});

gate('answers OPTIONS and HEAD like GET, and refuses all other methods', async ({ app }) => {
  for (const method of ['OPTIONS', 'HEAD', 'GET']) {
    for (const path of ['/gate/sales/', '/gate/sales', '/gate/nowhere/']) {
      const refused = await app.send(`${method} !${path}`);
      const preflight = { origin: 'https://evil.test', 'access-control-request-method': 'GET' };
      const foreign = await app.send(`${method} !${path}`, { headers: preflight });
      assert.equal([refused.statusCode, foreign.statusCode], [401, 401], `${method} ${path}`);
    }
    const admitted = await app.send(`${method} !/gate/sales/`, { as: GRACE });
    assert.equal([admitted.statusCode, admitted.headers['x-steward-user']], [204, GRACE], method);
    assert.is((await app.send(`${method} !/gate/fleet/`, { as: GRACE })).statusCode, 403, method);
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    const response = await app.send(`${method} !/gate/sales/`, { as: GRACE });
    assert.equal([response.statusCode, response.headers.allow], [405, 'GET, HEAD, OPTIONS'], method);
  }
});

gate('leads back to the requested page only on its own host', async ({ app }) => {
  const nextFor = async (headers: Record<string, string>) => {
    const response = await askGate(app, { headers });
    return new URL(String(response.headers['x-steward-login'])).searchParams.get('next');
  };
  const own = { 'x-forwarded-host': 'localhost:8000' };

  assert.is(await nextFor({ ...own, 'x-original-uri': '/sales/?tab=2' }), '/sales/?tab=2');
  assert.is(await nextFor({ ...own, 'x-forwarded-uri': '/sales/' }), '/sales/');
  const foreign = [
    '//evil.test/',
    '/\\evil.test',
    'https://evil.test/',
    'javascript:alert(1)',
    '/\t/evil.test',
    '',
  ];
  for (const uri of foreign)
    assert.is(await nextFor({ ...own, 'x-original-uri': uri }), '/launch/sales/', uri);
  assert.is(
    await nextFor({ 'x-forwarded-host': 'evil.test', 'x-original-uri': '/sales/' }),
    '/launch/sales/',
  );
});

gate('shows people a page, or redirects them to the login if the proxy wants that', async ({ app }) => {
  const page = await askGate(app, { headers: HTML });
  assert.is(page.statusCode, 401);
  assert.match(
    page.body,
    /<a class="button" href="http:\/\/localhost:8000\/login\/\?next=%2Flaunch%2Fsales%2F">/,
  );

  const redirect = await askGate(app, { headers: HTML }, '/gate/sales/?redirect=1');
  assert.is(redirect.statusCode, 303);
  assert.is(redirect.headers.location, 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F');
  assert.is((await askGate(app, {}, '/gate/sales/?redirect=1')).statusCode, 401);
});

gate('refuses with 403 who may not open the app, and apps that do not exist', async ({ app }) => {
  const refused = [await askGate(app, { as: EDSGER }), await askGate(app, { as: EDSGER }, '/gate/unknown/')];

  assert.equal(
    refused.map((response) => [response.statusCode, response.json().detail]),
    [
      [403, 'You may not open this app.'],
      [403, 'You may not open this app.'],
    ],
  );
  assert.match(
    (await askGate(app, { as: EDSGER, headers: HTML })).body,
    /<h1>You may not open this app<\/h1>/,
  );
});

gate('refuses with 503 while the app is in maintenance, and with 403 in a closed client', async ({ app }) => {
  await setApp(app, { in_maintenance: true });
  const response = await askGate(app, { as: GRACE });
  assert.is(response.statusCode, 503);
  assert.is(response.json().type, 'urn:steward:problem:app-in-maintenance');
  assert.ok(response.headers['retry-after']);

  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, false);
  for (const who of [GRACE, ACME, ROOT]) assert.is((await askGate(app, { as: who })).statusCode, 403, who);
  await setClient(app, 1, true);
  assert.is((await askGate(app, { as: GRACE })).statusCode, 204);
});

gate('signs a ticket for each request, with what the person is now', async ({ app }) => {
  const ticketOf = async () =>
    claimsIn(String((await askGate(app, { as: GRACE })).headers['x-steward-ticket']));

  const first = await ticketOf();
  await app.as(ACME).users.update({ email: GRACE, last_name: 'Murray' });
  const second = await ticketOf();

  assert.is.not(second.jti, first.jti);
  assert.is(second.name, 'Grace Murray');
});

gate('gives a code instead of a ticket that is too large for a header', async ({ app }) => {
  const extra = { regions: 'x'.repeat(60_000) };
  await app.as(ACME).users.update({ email: GRACE, extra });
  const { headers } = await askGate(app, { as: GRACE });

  assert.is(headers['x-steward-ticket'], '');
  const code = String(headers['x-steward-code']);
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });
  assert.equal(claimsIn(ticket).data_permissions, extra);
  await app.as(ACME).users.update({ email: GRACE, extra: {} });
});

gate('names the sites that may show the app in frames, to users and guests', async ({ app }) => {
  const { headers } = await openedView(app);
  const sitesFor = async (options: GateOptions) =>
    (await askGate(app, options)).headers['x-steward-frame-ancestors'];
  const embed_origins = ['https://portal.example.com', 'https://other.example.com:8443'];

  assert.equal([await sitesFor({ as: GRACE }), await sitesFor({ headers })], ["'none'", "'none'"]);
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins });
  const expected = embed_origins.join(' ');
  assert.equal([await sitesFor({ as: GRACE }), await sitesFor({ headers })], [expected, expected]);
  await app.as(ROOT).clients.updateGate({ id: 1, embed_origins: [] });
});

gate('sends names that a header cannot carry percent-encoded', async ({ app }) => {
  const name = 'Ä%\r\nX-Steward-User: root@steward.test 日本';
  await app.db().updateTable('clients').set({ name }).where('id', '=', 1).execute();
  const { headers } = await askGate(app, { as: GRACE });

  assert.is(headers['x-steward-user'], GRACE);
  assert.match(String(headers['x-steward-client']), /^[\x20-\x7e]+$/);
  assert.is(decodeURIComponent(String(headers['x-steward-client'])), name);
});

gate('sends an address that a header cannot carry percent-encoded', async ({ app }) => {
  const authorization = `Token ${await app.tokenOf(EDSGER)}`;
  const email = 'e%\r\nx-steward-roles: superuser\u00fc@globex.test';
  await app.db().updateTable('users').set({ email }).where('email', '=', EDSGER).execute();
  const { headers } = await askGate(app, { headers: { authorization } }, '/gate/fleet/');

  assert.match(String(headers['x-steward-user']), /^[\x20-\x7e]+$/);
  assert.is(decodeURIComponent(String(headers['x-steward-user'])), email);
  await app.db().updateTable('users').set({ email: EDSGER }).where('email', '=', email).execute();
});

gate('refuses an invalid slug without failing concurrent requests', async ({ app }) => {
  const path = '/gate/a%00/';
  const [odd, even] = await Promise.all([askGate(app, { as: ROOT }, path), askGate(app, { as: ROOT })]);

  assert.equal([odd.statusCode, even.statusCode], [403, 204]);
});

gate('supports GET and HEAD only', async ({ app }) => {
  assert.is((await app.send('HEAD !/gate/sales/', { as: ROOT })).statusCode, 204);
  assert.is((await app.send('POST !/gate/sales/', { as: ROOT })).statusCode, 405);
});

gate.run();
