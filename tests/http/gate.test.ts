import * as assert from 'uvu/assert';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { appSuite } from '../support/app-suite.ts';
import { createScript } from '../support/cookie-jar.ts';
import {
  ACME,
  ADA,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { claimsIn, setApp, setClient, usedView } from '../support/tickets.ts';
import { SALES } from '../support/usage.ts';

const gate = appSuite('forward authentication');

type Options = { as?: string; headers?: Record<string, string> };
const ask = (app: TestApp, options: Options = {}, path = '/gate/sales/') => app.send(`GET !${path}`, options);

const HTML = { accept: 'text/html' };

/** The cookie of a browser that has opened a view of the app Sales. */
const openedView = async (app: TestApp, view: Parameters<typeof usedView>[1] = {}) => {
  const { useId, viewId } = await usedView(app, view);
  const secret = `secret-${useId}`;
  const row = { digest: tokenDigest(secret), access_view_use_id: useId };
  const expires_at = new Date(app.clock.now().getTime() + 60_000);
  await app
    .db()
    .insertInto('embed_sessions')
    .values({ ...row, expires_at })
    .execute();
  return { viewId, secret, headers: { cookie: `__Host-steward_embed_sales=${secret}` } };
};

gate('tells the app who the user is, in headers that nothing may cache', async ({ app }) => {
  const response = await ask(app, { as: GRACE });

  assert.is(response.statusCode, 204, response.body);
  assert.is(response.headers['x-steward-user'], GRACE);
  assert.is(response.headers['x-steward-client'], 'Acme Analytics');
  assert.is(response.headers['x-steward-roles'], 'member');
  assert.is(response.headers['x-steward-code'], '');
  assert.is(response.headers['cache-control'], 'no-store');
  const claims = claimsIn(String(response.headers['x-steward-ticket']));
  assert.equal([claims.aud, claims.email, claims.access_view], ['sales', GRACE, null]);
});

gate('admits a browser session, and both spellings of the path', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ADA, DEMO_PASSWORD);
  const cookie = `steward_session=${script.cookies.get('steward_session')}`;

  for (const path of ['/gate/sales/', '/gate/sales'])
    assert.is((await ask(app, { headers: { cookie } }, path)).statusCode, 204);
});

gate('names the roles in the client of the app', async ({ app }) => {
  const rolesOf = async (who: string) => (await ask(app, { as: who })).headers['x-steward-roles'];

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
    const response = await ask(app, { headers });
    assert.is(response.statusCode, 401);
    assert.is(response.json().type, 'urn:steward:problem:unauthenticated');
    assert.is(response.headers['x-steward-login'], 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F');
  }
  assert.is((await ask(app, { as: IDLE })).statusCode, 401);
});

gate('leads back to the requested page only on its own host', async ({ app }) => {
  const nextFor = async (headers: Record<string, string>) => {
    const response = await ask(app, { headers });
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
  const page = await ask(app, { headers: HTML });
  assert.is(page.statusCode, 401);
  assert.match(
    page.body,
    /<a class="button" href="http:\/\/localhost:8000\/login\/\?next=%2Flaunch%2Fsales%2F">/,
  );

  const redirect = await ask(app, { headers: HTML }, '/gate/sales/?redirect=1');
  assert.is(redirect.statusCode, 303);
  assert.is(redirect.headers.location, 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F');
  assert.is((await ask(app, {}, '/gate/sales/?redirect=1')).statusCode, 401);
});

gate('refuses with 403 who may not open the app, and apps that do not exist', async ({ app }) => {
  const refused = [await ask(app, { as: EDSGER }), await ask(app, { as: EDSGER }, '/gate/unknown/')];

  assert.equal(
    refused.map((response) => [response.statusCode, response.json().detail]),
    [
      [403, 'You may not open this app.'],
      [403, 'You may not open this app.'],
    ],
  );
  assert.match((await ask(app, { as: EDSGER, headers: HTML })).body, /<h1>You may not open this app<\/h1>/);
});

gate('refuses with 503 while the app is in maintenance, and with 403 in a closed client', async ({ app }) => {
  await setApp(app, { in_maintenance: true });
  const response = await ask(app, { as: GRACE });
  assert.is(response.statusCode, 503);
  assert.is(response.json().type, 'urn:steward:problem:app-in-maintenance');
  assert.ok(response.headers['retry-after']);

  await setApp(app, { in_maintenance: false });
  await setClient(app, 1, false);
  for (const who of [GRACE, ACME, ROOT]) assert.is((await ask(app, { as: who })).statusCode, 403, who);
  await setClient(app, 1, true);
  assert.is((await ask(app, { as: GRACE })).statusCode, 204);
});

gate(
  'keeps a ticket for half of its lifetime, unless it was revoked or the person changed',
  async ({ app }) => {
    const jtiOf = async () =>
      claimsIn(String((await ask(app, { as: GRACE })).headers['x-steward-ticket'])).jti;

    const first = await jtiOf();
    assert.is(await jtiOf(), first);
    await app.as(ROOT).tickets.revoke({ user: GRACE });
    const second = await jtiOf();
    assert.is.not(second, first);
    await app.as(ACME).users.update({ email: GRACE, last_name: 'Murray' });
    assert.is.not(await jtiOf(), second);
  },
);

gate('gives a code instead of a ticket that is too large for a header', async ({ app }) => {
  const extra = { regions: 'x'.repeat(60_000) };
  await app.as(ACME).users.update({ email: GRACE, extra });
  const { headers } = await ask(app, { as: GRACE });

  assert.is(headers['x-steward-ticket'], '');
  const code = String(headers['x-steward-code']);
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });
  assert.equal(claimsIn(ticket).data_permissions, extra);
  await app.as(ACME).users.update({ email: GRACE, extra: {} });
});

gate('names the sites that may show the app in frames, to users and guests', async ({ app }) => {
  const { headers } = await openedView(app);
  const sitesFor = async (options: Options) => (await ask(app, options)).headers['x-steward-frame-ancestors'];
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
  const { headers } = await ask(app, { as: GRACE });

  assert.is(headers['x-steward-user'], GRACE);
  assert.match(String(headers['x-steward-client']), /^[\x20-\x7e]+$/);
  assert.is(decodeURIComponent(String(headers['x-steward-client'])), name);
});

gate('admits who has opened an access view of this app, before the login', async ({ app }) => {
  const { viewId, headers } = await openedView(app, { data_permissions: { region: ['North'] } });
  const asGuest = await ask(app, { headers });
  assert.is(asGuest.statusCode, 204, asGuest.body);
  assert.is(asGuest.headers['x-steward-user'], `view:${viewId}`);
  assert.is(asGuest.headers['x-steward-roles'], 'guest');
  const claims = claimsIn(String(asGuest.headers['x-steward-ticket']));
  assert.equal([claims.access_view, claims.data_permissions], [viewId, { region: ['North'] }]);
  assert.is((await ask(app, { as: GRACE, headers })).headers['x-steward-user'], `view:${viewId}`);
  // The cookie of one app opens no other.
  const elsewhere = { cookie: headers.cookie.replace('_sales', '_churn') };
  assert.is((await ask(app, { headers: elsewhere }, '/gate/churn/')).statusCode, 401);
});

gate('refuses a view that has ended at the next request, but not the login beside it', async ({ app }) => {
  const { viewId, headers, secret } = await openedView(app, { user: GRACE });
  assert.is((await ask(app, { headers })).headers['x-steward-user'], GRACE);

  await app.db().updateTable('access_views').set({ is_active: false }).where('id', '=', viewId).execute();
  assert.is((await ask(app, { headers })).statusCode, 403);
  assert.is((await ask(app, { as: ADA, headers })).headers['x-steward-user'], ADA);
  await app.db().updateTable('access_views').set({ is_active: true }).where('id', '=', viewId).execute();
  await app.db().deleteFrom('app_grants').where('app_id', '=', SALES).execute();
  assert.is((await ask(app, { headers })).statusCode, 403);
  const past = new Date(app.clock.now().getTime() - 1);
  await app
    .db()
    .updateTable('embed_sessions')
    .set({ expires_at: past })
    .where('digest', '=', tokenDigest(secret))
    .execute();
  assert.is((await ask(app, { headers })).statusCode, 401);
});

gate('compares the current networks of a view at each request', async ({ app }) => {
  const { viewId, headers } = await openedView(app);
  const limitTo = (allowed_networks: string[]) =>
    app.db().updateTable('access_views').set({ allowed_networks }).where('id', '=', viewId).execute();

  await limitTo(['127.0.0.0/8']);
  assert.is((await ask(app, { headers })).statusCode, 204);
  await limitTo(['192.0.2.0/24']);
  assert.is((await ask(app, { headers })).statusCode, 403);
  assert.is((await ask(app, { as: ACME, headers })).headers['x-steward-user'], ACME);
  await limitTo([]);
  assert.is((await ask(app, { headers })).statusCode, 204);
});

gate('admits no view whose user became a superuser, unless a superuser created it', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
  const { viewId, headers } = await openedView(app, { user: GRACE });
  assert.is((await ask(app, { headers })).headers['x-steward-roles'], 'member');

  for (const role of ['is_superuser', 'is_staff'] as const) {
    await app.as(ROOT).roles.update({ email: GRACE, [role]: true });
    assert.is((await ask(app, { headers })).statusCode, 403, role);
    const bySuperuser = (by_superuser: boolean) =>
      app.db().updateTable('access_views').set({ by_superuser }).where('id', '=', viewId).execute();
    await bySuperuser(true);
    assert.is((await ask(app, { headers })).statusCode, 204, role);
    await bySuperuser(false);
    await app.as(ROOT).roles.update({ email: GRACE, [role]: false });
  }
});

gate('refuses a slug that is none without failing the requests beside it', async ({ app }) => {
  const path = '/gate/a%00/';
  const [odd, even] = await Promise.all([ask(app, { as: ROOT }, path), ask(app, { as: ROOT })]);

  assert.equal([odd.statusCode, even.statusCode], [403, 204]);
});

gate('is open to the login again after the app was launched', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ROOT, DEMO_PASSWORD);
  const { headers } = await openedView(app);
  const cookie = `${headers.cookie}; steward_session=${script.cookies.get('steward_session')}`;
  const response = await app.send('GET !/launch/sales/', { headers: { cookie, ...HTML } });

  assert.is(response.statusCode, 303);
  const ended = response.cookies.find(({ name }) => name === '__Host-steward_embed_sales');
  assert.equal([ended?.value, ended?.secure, ended?.sameSite], ['', true, 'None']);
  assert.ok(Number(ended?.expires) < Date.now());
});

gate('supports GET and HEAD only', async ({ app }) => {
  assert.is((await app.send('HEAD !/gate/sales/', { as: ROOT })).statusCode, 204);
  assert.is((await app.send('POST !/gate/sales/', { as: ROOT })).statusCode, 405);
});

gate.run();
