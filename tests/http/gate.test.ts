import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { askGate, claimsIn, type GateOptions, openedView, setApp } from '../support/access-views.ts';
import { createVisitor } from '../support/http-clients.ts';
import { cookieHeader, enterPassword, loggedIn } from '../support/logins.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, IDLE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const gate = appSuite('forward authentication and launches');
const HTML = { accept: 'text/html' };

gate('sends the app who the user is, in headers that must not be cached', async ({ app }) => {
  const { statusCode, headers } = await askGate(app, { as: GRACE });

  assert.is(statusCode, 204);
  assert.equal(headers, {
    ...headers,
    'x-steward-user': GRACE,
    'x-steward-client': 'Acme Analytics',
    'x-steward-roles': 'member',
    'x-steward-code': '',
    'cache-control': 'no-store',
    vary: 'Cookie, Authorization',
  });
  const claims = claimsIn(String(headers['x-steward-ticket']));
  assert.equal([claims.aud, claims.email, claims.access_view], ['sales', GRACE, null]);
});

gate('names the roles in the client of the app, also by a session and both spellings', async ({ app }) => {
  const cookie = cookieHeader((await loggedIn(app)).cookies);
  for (const path of ['/gate/sales/', '/gate/sales'])
    for (const [role, options] of Object.entries({
      member: { headers: { cookie } },
      'client-admin': { as: ACME },
      staff: { as: STAFF },
      superuser: { as: ROOT },
    }))
      assert.is((await askGate(app, options, path)).headers['x-steward-roles'], role);
});

gate('refuses with 401 without valid credentials, with the address of the login page', async ({ app }) => {
  const cookies = ['steward_session=x', '__Host-steward_embed_sales=x'].map((cookie) => ({ cookie }));
  for (const headers of [{}, { authorization: 'Token x' }, ...cookies] as Record<string, string>[]) {
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
  for (const uri of ['//evil.test/', '/\\evil.test', 'https://evil.test/', '/\t/evil.test', ''])
    assert.is(await nextFor({ ...own, 'x-original-uri': uri }), '/launch/sales/', uri);
  const foreign = { 'x-forwarded-host': 'evil.test', 'x-original-uri': '/sales/' };
  assert.is(await nextFor(foreign), '/launch/sales/');
});

gate('shows people a page, or redirects them to the login if the proxy wants that', async ({ app }) => {
  const page = await askGate(app, { headers: HTML });
  assert.is(page.statusCode, 401);
  const login = 'http://localhost:8000/login/?next=%2Flaunch%2Fsales%2F';
  assert.match(page.body, `<a class="button" href="${login}">`);

  const redirect = await askGate(app, { headers: HTML }, '/gate/sales/?redirect=1');
  assert.equal([redirect.statusCode, redirect.headers.location], [303, login]);
  assert.is((await askGate(app, {}, '/gate/sales/?redirect=1')).statusCode, 401);
});

gate('refuses with 403 who may not open the app, and apps that do not exist', async ({ app }) => {
  for (const path of ['/gate/sales/', '/gate/unknown/', '/gate/a%00/']) {
    const { statusCode, json } = await askGate(app, { as: EDSGER }, path);
    assert.equal([statusCode, json().detail], [403, 'You may not open this app.'], path);
  }
  const page = await askGate(app, { as: EDSGER, headers: HTML });
  assert.match(page.body, /<h1>You may not open this app<\/h1>/);
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
  await setRows(app, 'clients', { id: 1 }, { name });
  const { headers } = await askGate(app, { as: GRACE });
  await setRows(app, 'clients', { id: 1 }, { name: 'Acme Analytics' });

  assert.is(headers['x-steward-user'], GRACE);
  assert.match(String(headers['x-steward-client']), /^[\x20-\x7e]+$/);
  assert.is(decodeURIComponent(String(headers['x-steward-client'])), name);
});

type Example = {
  http: { middlewares: { steward: { forwardAuth: { address: string; authResponseHeaders: string[] } } } };
};

/** The example for Traefik in docs/gate.md. */
const readExample = async () => {
  const document = await readFile(join(import.meta.dirname, '../../docs/gate.md'), 'utf8');
  const [, yaml = ''] = /```yaml\n(# Traefik\n.*?)```/s.exec(document) ?? [];
  const { http }: Example = parse(yaml);
  return http.middlewares.steward.forwardAuth;
};

type Original = { method?: string; headers?: Record<string, string>; as?: string };

/**
 * Asks as Traefik documents it: a GET to the address, with the headers of the original request, except those of the connection,
 * and its method, scheme, host, path and client address in X-Forwarded headers.
 */
const askAsTraefik = async (app: TestApp, { method = 'GET', headers = {}, as }: Original) => {
  const { pathname, search, host } = new URL((await readExample()).address);
  return app.send(`GET !${pathname}${search}`, {
    ...(as !== undefined && { as }),
    headers: {
      accept: 'text/html',
      ...headers,
      host,
      'x-forwarded-method': method,
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'localhost:8000',
      'x-forwarded-uri': '/sales/',
      'x-forwarded-for': '192.0.2.7',
    },
  });
};

gate('Traefik: answers with each header that the example passes on to the app', async ({ app }) => {
  const { headers, statusCode } = await askAsTraefik(app, { as: GRACE });
  const { authResponseHeaders } = await readExample();

  assert.is(statusCode, 204);
  const sent = Object.keys(headers).filter((name) => name.startsWith('x-steward-'));
  assert.equal(sent.sort(), authResponseHeaders.map((name) => name.toLowerCase()).sort());
});

gate('Traefik: admits a browser that posts a form to the app, also from another site', async ({ app }) => {
  const headers = {
    cookie: cookieHeader((await loggedIn(app)).cookies),
    origin: 'https://other.example.com',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '0',
  };
  const { statusCode, headers: answer } = await askAsTraefik(app, { method: 'POST', headers });

  assert.equal([statusCode, answer['x-steward-user']], [204, ADA]);
});

gate.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/open' }));

const logIn = async (app: Pick<TestApp, 'server'>, username: string) => {
  const visitor = createVisitor(app);
  await enterPassword(visitor, username);
  return visitor;
};

gate('launch: sends the browser to the app, with a code that gives a ticket of its user', async ({ app }) => {
  const { status, location, headers } = await (await logIn(app, GRACE)).get('/launch/sales/?stack=overview');
  const [, code = ''] = /^https:\/\/sales\.example\.com\/open\?code=([\w-]{43})$/.exec(location ?? '') ?? [];
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });

  assert.is(status, 303);
  assert.equal([headers['cache-control'], headers['referrer-policy']], ['no-store', 'strict-origin']);
  assert.equal([claimsIn(ticket).email, claimsIn(ticket).stack], [GRACE, 'overview']);
});

gate('launch: asks for the login first, and comes back', async ({ app }) => {
  const visitor = createVisitor(app);
  const first = await visitor.get('/launch/sales/?stack=overview');
  assert.is(first.location, '/login/?next=%2Flaunch%2Fsales%2F%3Fstack%3Doverview');

  const login = await visitor.get(String(first.location));
  // Chromium checks redirects after a form against this directive, also the one to the app.
  assert.match(String(login.headers['content-security-policy']), "form-action 'self' http: https:");
  const second = await enterPassword(visitor, GRACE, {
    query: String(first.location).slice('/login/'.length),
  });
  assert.is(second.location, '/launch/sales/?stack=overview');
  const third = await visitor.get(String(second.location));
  assert.match(String(third.location), 'https://sales.example.com/open?code=');
});

gate('launch: shows the message of an app in maintenance, and its end', async ({ app }) => {
  const maintenance_message = 'Back at <b>noon</b>.';
  const maintenance_until = new Date('2031-12-04T20:00:00Z');
  await setRows(app, 'apps', { id: SALES }, { in_maintenance: true, maintenance_message, maintenance_until });
  const page = await (await logIn(app, GRACE)).get('/launch/sales/');
  await setApp(app, { in_maintenance: false });

  assert.equal([page.status, page.headers['retry-after']], [503, '2']);
  assert.match(page.text, 'Sales is in maintenance');
  assert.match(page.body, 'Back at <b>noon</b>.');
  assert.match(page.text, 'Maintenance lasts until 4 Dec 2031, 20:00 UTC.');
});

gate('launch: says that an app without an address cannot be opened yet', async ({ app }) => {
  await setApp(app, { launch_url: '' });
  const page = await (await logIn(app, GRACE)).get('/launch/sales/');
  await setApp(app, { launch_url: 'https://sales.example.com/open' });

  assert.equal([page.status, page.location], [404, undefined]);
  assert.match(page.text, 'Sales cannot be opened yet');
  assert.match(page.text, 'Acme', 'the branding of the client');
});

gate('access views: admits who has opened an access view of this app, before the login', async ({ app }) => {
  const { viewId, headers } = await openedView(app, { data_permissions: { region: ['North'] } });
  const asGuest = await askGate(app, { headers });
  const who = [asGuest.headers['x-steward-user'], asGuest.headers['x-steward-roles']];
  assert.equal([asGuest.statusCode, ...who], [204, `view:${viewId}`, 'guest']);
  const claims = claimsIn(String(asGuest.headers['x-steward-ticket']));
  assert.equal([claims.access_view, claims.data_permissions], [viewId, { region: ['North'] }]);
  assert.is((await askGate(app, { as: GRACE, headers })).headers['x-steward-user'], `view:${viewId}`);
  // The cookie of one app opens no other.
  const elsewhere = { cookie: headers.cookie.replace('_sales', '_churn') };
  assert.is((await askGate(app, { headers: elsewhere }, '/gate/churn/')).statusCode, 401);
});

gate('access views: refuses a view that has ended, but not the login beside it', async ({ app }) => {
  const { viewId: id, headers, secret } = await openedView(app, { user: GRACE });
  assert.is((await askGate(app, { headers })).headers['x-steward-user'], GRACE);

  await setRows(app, 'access_views', { id }, { is_active: false });
  assert.is((await askGate(app, { headers })).statusCode, 403);
  assert.is((await askGate(app, { as: ADA, headers })).headers['x-steward-user'], ADA);
  await setRows(app, 'access_views', { id }, { is_active: true });
  await app.db().deleteFrom('app_grants').where('app_id', '=', SALES).execute();
  assert.is((await askGate(app, { headers })).statusCode, 403);
  const expires_at = new Date(app.clock.now().getTime() - 1);
  await setRows(app, 'embed_sessions', { digest: tokenDigest(secret) }, { expires_at });
  assert.is((await askGate(app, { headers })).statusCode, 401);
});

gate('access views: compares the current networks of a view at each request', async ({ app }) => {
  const { viewId: id, headers } = await openedView(app);
  const statusIn = async (...allowed_networks: string[]) => {
    await setRows(app, 'access_views', { id }, { allowed_networks });
    return (await askGate(app, { headers })).statusCode;
  };
  assert.is(await statusIn('192.0.2.0/24'), 403);
  assert.is((await askGate(app, { as: ACME, headers })).headers['x-steward-user'], ACME);
  assert.is(await statusIn('127.0.0.0/8'), 204);
  assert.is(await statusIn(), 204);
});

gate('access views: is open to the login again after the app was launched', async ({ app }) => {
  const { headers } = await openedView(app);
  const cookie = `${headers.cookie}; ${cookieHeader((await loggedIn(app, ROOT)).cookies)}`;
  const response = await app.send('GET !/launch/sales/', { headers: { cookie, accept: 'text/html' } });

  assert.is(response.statusCode, 303);
  const ended = response.cookies.find(({ name }) => name === '__Host-steward_embed_sales');
  assert.equal([ended?.value, ended?.secure, ended?.sameSite], ['', true, 'None']);
  assert.ok(Number(ended?.expires) < app.clock.now().getTime());
});

gate.run();
