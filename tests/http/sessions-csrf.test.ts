import superjson from 'superjson';
import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, type TestApp } from '../support/test-app.ts';

const sessions = appSuite('browser sessions: CSRF');

const loggedIn = async (app: TestApp, email = ADA) => {
  const script = createScript(app);
  const response = await script.logIn(email, DEMO_PASSWORD);
  assert.is(response.statusCode, 200, response.body);
  return { ...script, response };
};

sessions('allow reads at once and changes with the CSRF token', async ({ app }) => {
  const { send, cookies } = await loggedIn(app, ACME);
  const patch = (headers: Record<string, string>) =>
    send('PATCH /jb/users/grace@acme.test/', { payload: { last_name: 'H' }, headers });

  assert.is((await send('GET /session/')).json().user.email, ACME);
  assert.is((await patch({})).statusCode, 200);
  for (const token of ['', 'x', cookies.get('csrftoken')?.replace(/.$/, 'z') ?? '']) {
    assert.is((await patch({ 'x-csrftoken': token })).json().type, 'urn:steward:problem:csrf-failed');
  }
});

sessions('refuse the CSRF token of another login', async ({ app }) => {
  const ada = await loggedIn(app, ACME);
  const other = await loggedIn(app, ACME);
  const foreign = other.cookies.get('csrftoken') ?? '';
  ada.cookies.set('csrftoken', foreign);

  const response = await ada.send('DELETE /session/', { headers: { 'x-csrftoken': foreign } });

  assert.is(response.statusCode, 403);
});

sessions('refuse requests of other sites, including the login', async ({ app }) => {
  const { send } = await loggedIn(app);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { origin: 'http://localhost:8001', host: 'localhost:8000' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreign) {
    const logout = await send('DELETE /session/', { headers });
    const login = await send('POST /session/', {
      payload: { username: EDSGER, password: DEMO_PASSWORD },
      headers,
    });
    assert.equal([logout.statusCode, login.statusCode], [403, 403], JSON.stringify(headers));
    assert.is(login.json().type, 'urn:steward:problem:cross-site');
  }
  const own = { origin: 'http://localhost:8000', host: 'localhost:8000', 'sec-fetch-site': 'same-origin' };
  assert.is((await send('DELETE /session/', { headers: own })).statusCode, 204);
});

sessions('need no CSRF token with an API token, even if cookies are sent', async ({ app }) => {
  const { cookies } = await loggedIn(app);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');

  const response = await app.send('PATCH /jb/users/grace@acme.test/', {
    as: ACME,
    payload: { last_name: 'Hopper' },
    headers: { cookie },
  });

  assert.is(response.statusCode, 200);
});

sessions('work over tRPC, with the CSRF token for every mutation', async ({ app }) => {
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

sessions('keep the CSRF rule of saved filters', async ({ app }) => {
  const { send } = await loggedIn(app);
  const payload = { stack_id: 'a0a91e46', hash: 'by-session', name: 'x' };

  const without = await send('POST /hashr/saved_global_filters/', {
    payload,
    headers: { 'x-csrftoken': '' },
  });
  const made = await send('POST /hashr/saved_global_filters/', { payload });

  assert.equal([without.statusCode, made.statusCode], [403, 201]);
});

sessions('refuse requests of other sites on public paths, too', async ({ app }) => {
  const { send } = await loggedIn(app);
  const request = (headers: Record<string, string>) =>
    send('POST /password/request-reset/', { payload: { email: ADA }, headers });

  assert.is((await request({ origin: 'https://evil.test' })).statusCode, 403);
  assert.is((await request({})).statusCode, 204);
});

sessions.run();
