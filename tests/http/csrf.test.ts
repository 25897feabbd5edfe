import superjson from 'superjson';
import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { cookieHeader, loggedIn } from '../support/logins.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const csrf = appSuite('CSRF');
const PATH = '/hashr/saved_global_filters/';
let made = 0;

const post = (app: TestApp, as: string | undefined, header?: string, cookie?: string) => {
  made += 1;
  return app.send(`POST ${PATH}`, {
    ...(as && { as }),
    payload: { stack_id: 'a0a91e46', hash: `h${made}`, name: 'x' },
    headers: { 'x-csrftoken': header, cookie: cookie && `csrftoken=${cookie}` },
  });
};

const tokenFor = async (app: TestApp, as?: string, line = 'GET /csrf/') => {
  const response = await app.send(line, as ? { as } : {});
  return response.cookies.find(({ name }) => name === 'csrftoken')?.value ?? '';
};

csrf('GET /csrf/ and every GET under hashr set a token', async ({ app }) => {
  const response = await app.send('GET /csrf/', { as: ADA });
  const cookie = response.cookies[0];

  assert.is(response.json().csrf_token, cookie?.value);
  assert.is(cookie?.sameSite, 'Lax');
  assert.ok(await tokenFor(app, ADA, `GET ${PATH}`));
});

csrf('accepts a token again, also beside older ones that browsers send first', async ({ app }) => {
  const [older, token] = [await tokenFor(app, GRACE), await tokenFor(app, ADA)];
  const cookie = `django; csrftoken=${older}; csrftoken=${token}`;

  for (const sent of [token, token, cookie]) assert.is((await post(app, ADA, token, sent)).statusCode, 201);
  const again = await app.send('GET /csrf/', { as: ADA, headers: { cookie: `csrftoken=${cookie}` } });
  assert.is(again.json().csrf_token, token);
});

csrf('answers a missing, wrong or foreign token with 403, and 401 without credentials', async ({ app }) => {
  const [ada, grace, anonymous] = [await tokenFor(app, ADA), await tokenFor(app, GRACE), await tokenFor(app)];
  const both = [
    ...[grace, anonymous, ada.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
    ...['x', '.', '', `${ada}.x`, `a.${'é'.repeat(64)}`],
  ].map((token) => [token, token]);
  for (const [header, cookie] of [[], [ada], [undefined, ada], [ada, grace], ...both]) {
    const response = await post(app, ADA, header, cookie);
    assert.is(response.statusCode, 403, `${header} ${cookie}`);
    assert.is(response.json().type, 'urn:steward:problem:csrf-failed');
  }
  assert.is((await post(app, undefined, anonymous, anonymous)).statusCode, 401);
});

csrf('keeps a valid token and replaces one of another credential', async ({ app }) => {
  const token = await tokenFor(app, ADA);
  const again = (as: string) => app.send('GET /csrf/', { as, headers: { cookie: `csrftoken=${token}` } });

  assert.is((await again(ADA)).json().csrf_token, token);
  assert.is.not((await again(GRACE)).json().csrf_token, token);
});

csrf('treats a malformed cookie as a missing token', async ({ app }) => {
  for (const cookie of [`csrftoken=a.${'é'.repeat(64)}`, 'csrftoken=%', 'csrftoken', '=;=']) {
    assert.is((await app.send('GET /csrf/', { as: ADA, headers: { cookie } })).statusCode, 200, cookie);
  }
});

csrf('records a failed check of a session in the audit trail', async ({ app }) => {
  const { send } = await loggedIn(app);
  const headers = { 'x-csrftoken': 'wrong' };
  const refused = await send('POST /jb/tokens/', { payload: { name: 'x' }, headers });
  const [entry] = await app.as(ROOT).audit.list({ actor: ADA, action: 'request.refused' });

  assert.is(refused.statusCode, 403);
  assert.equal(entry?.details, { request: 'POST /api/v1/jb/tokens/', problem: 'csrf-failed' });
});

csrf('sessions allow reads at once and changes with the CSRF token', async ({ app }) => {
  const { send, cookies } = await loggedIn(app, ACME);
  const patch = (headers: Record<string, string>) =>
    send('PATCH /jb/users/grace@acme.test/', { payload: { last_name: 'H' }, headers });

  assert.is((await send('GET /session/')).json().user.email, ACME);
  assert.is((await patch({})).statusCode, 200);
  for (const token of ['', 'x', cookies.get('csrftoken')?.replace(/.$/, 'z') ?? '']) {
    assert.is((await patch({ 'x-csrftoken': token })).json().type, 'urn:steward:problem:csrf-failed');
  }
});

csrf('sessions refuse the CSRF token of another login', async ({ app }) => {
  const [script, other] = [await loggedIn(app, ACME), await loggedIn(app, ACME)];
  const foreign = other.cookies.get('csrftoken') ?? '';
  script.cookies.set('csrftoken', foreign);

  assert.is((await script.send('DELETE /session/', { headers: { 'x-csrftoken': foreign } })).statusCode, 403);
});

csrf('sessions refuse requests of other sites, including the login and public paths', async ({ app }) => {
  const { send } = await loggedIn(app);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { origin: 'http://localhost:8001', host: 'localhost:8000' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  const login = { username: GRACE, password: DEMO_PASSWORD };
  const requests: [line: string, payload?: object][] = [
    ['POST /password/request-reset/', { email: ADA }],
    ['POST /session/', login],
    ['POST /session/passkey/options/'],
    ['POST /session/passkey/', { passkey: {} }],
    ['DELETE /session/'],
  ];
  for (const headers of foreign)
    for (const [line, payload] of requests) {
      const refused = await send(line, { ...(payload && { payload }), headers });
      assert.is(refused.json().type, 'urn:steward:problem:cross-site', `${line} ${JSON.stringify(headers)}`);
    }
  const own = { origin: 'http://localhost:8000', host: 'localhost:8000', 'sec-fetch-site': 'same-origin' };
  assert.is((await send('DELETE /session/', { headers: own })).statusCode, 204);
});

csrf('sessions need no CSRF token with an API token, even if cookies are sent', async ({ app }) => {
  const headers = { cookie: cookieHeader((await loggedIn(app)).cookies) };
  const payload = { last_name: 'Hopper' };

  assert.is((await app.send(`PATCH /jb/users/${GRACE}/`, { as: ACME, payload, headers })).statusCode, 200);
});

csrf('sessions work over tRPC, with the CSRF token for every mutation', async ({ app }) => {
  const script = createScript(app);
  const call = (procedure: string, input: unknown, headers: Record<string, string> = {}) =>
    script.send(`POST !/trpc/${procedure}`, { payload: superjson.serialize(input), headers });

  const login = await call('sessions.create', { username: ACME, password: DEMO_PASSWORD });
  const change = { email: ADA, last_name: 'L' };

  assert.is(login.statusCode, 200, login.body);
  assert.ok(script.cookies.has('steward_session'));
  assert.is((await script.send('GET !/trpc/sessions.current?input={"json":{}}')).statusCode, 200);
  assert.is((await call('users.update', change)).statusCode, 200);
  assert.is((await call('users.update', change, { 'x-csrftoken': 'x' })).statusCode, 403);
  assert.is((await call('users.update', change, { origin: 'https://evil.test' })).statusCode, 403);
  assert.is((await call('sessions.end', {})).statusCode, 200);
  assert.not.ok(script.cookies.has('steward_session'));
});

csrf.run();
