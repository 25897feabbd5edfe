import superjson from 'superjson';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { createScript } from '../support/http-clients.ts';
import { loggedIn } from '../support/logins.ts';
import { rowOf, rowsOf, setRows } from '../support/rows.ts';
import { challenged, enroll, nextCode } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE } from '../support/test-app.ts';

const sessions = appSuite('browser sessions');

sessions('set an HttpOnly cookie and store only a digest', async ({ app }) => {
  const { response, cookies } = await loggedIn(app);
  const { value = '', ...cookie } = response.cookies.find(({ name }) => name === 'steward_session') ?? {};
  const rows = await rowsOf(app, 'sessions');

  assert.equal([response.json().user.email, response.json().csrf_token], [ADA, cookies.get('csrftoken')]);
  assert.equal(cookie, { ...cookie, httpOnly: true, sameSite: 'Lax', maxAge: 30 * 24 * 3600 });
  assert.not.ok('secure' in cookie);
  assert.ok(rows.some(({ digest }) => digest === tokenDigest(value)));
  assert.not.ok(JSON.stringify(rows).includes(value));
});

sessions('work although a proxy adds its own Authorization', async ({ app }) => {
  const { cookies } = await loggedIn(app);
  const cookie = `steward_session=${cookies.get('steward_session')}`;
  const send = (line: string, headers: Record<string, string>) =>
    app.send(line, { headers: { cookie, ...headers } });

  for (const authorization of ['Basic cHJveHk6c2VjcmV0', 'Negotiate abc', 'Digest username="x"', '']) {
    assert.is((await send('GET /session/', { authorization })).statusCode, 200, authorization);
    // Still a browser session, with its CSRF check.
    const unsafe = await send('DELETE /session/', { authorization });
    assert.is(unsafe.json().type, 'urn:steward:problem:csrf-failed', authorization);
    const foreign = await send('DELETE /session/', { authorization, origin: 'https://evil.test' });
    assert.is(foreign.json().type, 'urn:steward:problem:cross-site', authorization);
  }
  for (const authorization of ['Token', 'Token x', 'bearer ', 'JWT a b']) {
    assert.is((await send('GET /session/', { authorization })).statusCode, 401, authorization);
  }
});

sessions('end with the logout, without ending other sessions', async ({ app }) => {
  const [first, second] = [await loggedIn(app), await loggedIn(app)];

  assert.is((await first.send('DELETE /session/')).statusCode, 204);
  assert.not.ok(first.cookies.has('steward_session'));
  const ended = await first.send('GET /session/');
  assert.equal([ended.statusCode, ended.headers['cache-control']], [401, 'no-store']);
  assert.is((await second.send('GET /session/')).statusCode, 200);
});

sessions('get another secret with a new password, which logs out a copied cookie', async ({ app }) => {
  const browser = await loggedIn(app, GRACE);
  const copied = createScript(app);
  for (const [name, value] of browser.cookies) copied.cookies.set(name, value);
  const change = async (password: string, new_password: string) =>
    (await browser.send('POST /password/change/', { payload: { password, new_password } })).statusCode;
  assert.is(await change(DEMO_PASSWORD, 'violet-harbor-92-kite'), 204);

  assert.is((await browser.send('GET /session/')).statusCode, 200);
  assert.is((await copied.send('GET /session/')).statusCode, 401);
  assert.is(await change('violet-harbor-92-kite', DEMO_PASSWORD), 204);
});

sessions('are listed and revoked one by one', async ({ app }) => {
  const [first, second] = [await loggedIn(app, EDSGER), await loggedIn(app, EDSGER)];
  const list: { id: number; is_current: boolean }[] = (await first.send('GET /jb/sessions/')).json();
  const line = `DELETE /jb/sessions/${list.find(({ is_current }) => !is_current)?.id}/`;

  assert.is(list.length, 2);
  assert.is((await createScript(app).send(line)).statusCode, 401);
  assert.is((await (await loggedIn(app, GRACE)).send(line)).statusCode, 404);
  assert.is((await first.send(line)).statusCode, 204);
  assert.is((await second.send('GET /session/')).statusCode, 401);
  assert.is((await first.send('GET /session/')).statusCode, 200);
});

sessions('end with deactivation, and when an admin revokes them', async ({ app }) => {
  const status = async ({ send }: Awaited<ReturnType<typeof loggedIn>>) =>
    (await send('GET /session/')).statusCode;
  const ended = await loggedIn(app, GRACE);
  await app.as(ACME).sessions.revokeAll({ email: GRACE });
  assert.is(await status(ended), 401);
  const deactivated = await loggedIn(app, GRACE);
  await app.as(ACME).users.deactivate({ email: GRACE });
  assert.is(await status(deactivated), 401);
});

sessions('expire after 14 days without use', async ({ app }) => {
  const { send } = await loggedIn(app);

  app.clock.advance(13 * DAY_MS);
  assert.is((await send('GET /session/')).statusCode, 200);
  app.clock.advance(13 * DAY_MS);
  assert.is((await send('GET /session/')).statusCode, 200);
  app.clock.advance(14 * DAY_MS + 1);
  assert.is((await send('GET /session/')).statusCode, 401);
});

sessions('expire after their absolute lifetime, even if used', async ({ app }) => {
  const { send, cookies } = await loggedIn(app);
  const digest = tokenDigest(cookies.get('steward_session') ?? '');
  const now = app.clock.now().getTime();
  const expireIn = (ms: number) => setRows(app, 'sessions', { digest }, { expires_at: new Date(now + ms) });
  const { expires_at } = await rowOf(app, 'sessions', { digest });

  assert.is(Math.round((expires_at.getTime() - now) / DAY_MS), 30);
  await expireIn(HOUR_MS);
  assert.is((await send('GET /session/')).statusCode, 200);
  await expireIn(0);
  assert.is((await send('GET /session/')).statusCode, 401);
});

sessions('do not start in a streamed response, which cannot set the cookie', async ({ app }) => {
  const { send } = createScript(app);
  const response = await send('POST !/trpc/sessions.create?batch=1', {
    payload: { 0: superjson.serialize({ username: ADA, password: DEMO_PASSWORD }) },
    headers: { 'trpc-accept': 'application/jsonl' },
  });

  assert.match(response.body, /does not stream/);
  assert.equal(response.cookies, []);
});

sessions('are replaced by the next login in the same browser', async ({ app }) => {
  const { cookies, logIn } = await loggedIn(app, EDSGER);
  const former = createScript(app);
  former.cookies.set('steward_session', cookies.get('steward_session') ?? '');
  await logIn(EDSGER, DEMO_PASSWORD);

  assert.is((await former.send('GET /session/')).statusCode, 401);
});

sessions.run();

const secure = appSuite('sessions over https', { BASE_URL: 'https://steward.example' });

secure('use a __Host- cookie, which no other host can set', async ({ app }) => {
  const { send, cookies, response } = await loggedIn(app);
  const cookie = response.cookies.find(({ name }) => name.endsWith('steward_session'));
  const planted = createScript(app);
  planted.cookies.set('steward_session', cookie?.value ?? '');

  assert.equal([cookie?.name, cookie?.secure, cookie?.path], ['__Host-steward_session', true, '/']);
  assert.is(cookie?.domain, undefined);
  assert.is((await send('GET /session/')).statusCode, 200);
  assert.is((await planted.send('GET /session/')).statusCode, 401);
  assert.ok(cookies.has('csrftoken'));
});

secure('have such a cookie before the code of a second factor, too', async ({ app }) => {
  const { secret } = await enroll(app, GRACE);
  const { browser, response, answer } = await challenged(app, GRACE);
  const cookie = response.cookies.find(({ name }) => name.endsWith('steward_challenge'));

  assert.equal([cookie?.name, cookie?.secure, cookie?.path], ['__Host-steward_challenge', true, '/']);
  assert.is(cookie?.domain, undefined);
  assert.is((await answer(nextCode(app, secret))).statusCode, 200);
  assert.not.ok(browser.cookies.has('__Host-steward_challenge'));
});

secure('have such a cookie for a challenge to a passkey', async ({ app }) => {
  const response = await app.send('POST /session/passkey/options/');

  const cookie = String(response.headers['set-cookie']);
  assert.match(cookie, /^__Host-steward_passkey=.*Max-Age=300; Path=\/; HttpOnly; Secure; SameSite=Lax/);
  assert.is(response.json().rpId, 'steward.example');
});

secure.run();
