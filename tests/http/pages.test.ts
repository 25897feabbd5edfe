import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { createVisitor } from '../support/http-clients.ts';
import { enterPassword } from '../support/logins.ts';
import { setRows, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const pages = appSuite('pages');
const PAGES = ['/login/', '/password/reset/', '/password/reset/?token=1.x', '/invitation/k/', '/nowhere/'];
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

pages('have headers against framing, scripts, caching and referrers', async ({ app }) => {
  for (const path of PAGES) {
    const { headers, body } = await createVisitor(app).get(path);
    const style = /<style>(.*)<\/style>/s.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    const policy =
      `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; font-src 'self'; form-action 'self'; ` +
      "frame-ancestors 'none'; base-uri 'none'";
    const expected = {
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'referrer-policy': 'strict-origin',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    };
    assert.equal(headers, { ...headers, ...expected }, path);
    assert.match(String(headers.vary), 'Accept', path);
    assert.not.match(body, /<script|\son\w+=|\sstyle=/i, path);
  }
});

pages('support HEAD and paths without the slash, and refuse other methods with Allow', async ({ app }) => {
  const visitor = createVisitor(app);
  const head = await visitor.head('/login/');

  assert.equal([head.status, head.body], [200, '']);
  for (const path of ['/login', '/password/reset']) assert.is((await visitor.get(path)).status, 200);
  for (const [line, allow] of [
    ['DELETE !/login/', 'GET, HEAD, POST, OPTIONS'],
    ['POST !/', 'GET, HEAD, OPTIONS'],
    ['GET !/logout/', 'POST, OPTIONS'],
    ['PUT !/invitation/k/', 'GET, HEAD, POST, OPTIONS'],
    ['GET !/sessions/1/end', 'POST, OPTIONS'],
  ] as const) {
    const response = await app.send(line, { headers: { accept: BROWSER } });
    assert.equal([response.statusCode, response.headers.allow], [405, allow], line);
    assert.match(response.body, 'This page does not support this kind of request.', line);
  }
});

pages('accept URL-encoded forms of up to 16 KiB and no other body', async ({ app }) => {
  const form = 'application/x-www-form-urlencoded';
  for (const [type, payload, status] of [
    [form, `username=${'a'.repeat(17_000)}`, 413],
    ['multipart/form-data; boundary=x', '--x--', 415],
    ['application/json', '{"username":"a"}', 415],
    ['text/plain', 'username=a', 415],
    [form, '%=&__proto__=x&%ff=%fe&username=%00', 403],
    [undefined, '', 403],
  ] as const) {
    const headers = { 'content-type': type, accept: BROWSER };
    const { statusCode, body } = await app.send('POST !/login/', { payload, headers });
    assert.is(statusCode, status, type);
    if (type === 'text/plain') assert.match(body, 'Request failed');
  }
});

pages("show the client's own 404 message with sanitized HTML", async ({ app }) => {
  const message_404 = '<p>Ask <b>Alex</b>.</p><script>alert(1)</script>';
  await setRows(app, 'clients', { id: 1 }, { subtitle_404: 'Lost & found', message_404 });
  const page = await createVisitor(app).get('/nowhere/');

  assert.is(page.status, 404);
  assert.match(page.body, '<h1>Lost &amp; found</h1>');
  assert.match(page.body, '<p>Ask <b>Alex</b>.</p>');
  assert.not.match(page.body, '<script');
});

pages('are problem documents if the client is not a browser or the path is an API path', async ({ app }) => {
  for (const [path, accept] of [
    ['!/nowhere/', '*/*'],
    ['!/nowhere/', 'application/json'],
    ['!/api/nowhere/', BROWSER],
    ['!/trpc/nowhere', BROWSER],
  ] as const) {
    const { statusCode, headers } = await app.send(`GET ${path}`, { as: ADA, headers: { accept } });
    assert.is(statusCode, 404, path);
    assert.match(String(headers['content-type']), 'json', `${path} ${accept}`);
  }
});

pages("show the client's own 500 message with the request id, and not the error", async ({ app }) => {
  const texts = { subtitle_500: 'Oh no', message_500: '<i>Soon</i> again.' };
  await setRows(app, 'clients', { id: 1 }, texts);
  const visitor = createVisitor(app);
  await app.orm.em.fork().execute('alter table sessions rename to sessions_away');
  const page = await enterPassword(visitor, ADA);
  await app.orm.em.fork().execute('alter table sessions_away rename to sessions');

  assert.is(page.status, 500);
  assert.match(page.text, 'Oh no Soon again.');
  assert.match(page.text, String(page.headers['x-request-id']));
  assert.not.match(page.body, /sessions|relation|select|DEMO/i);
});

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';

const logInByPage = async (app: TestApp, username: string) => {
  const visitor = createVisitor(app);
  const { forms } = await visitor.get('/login/');
  const fields = { ...forms[0]?.fields, username, password: DEMO_PASSWORD };
  await visitor.post('/login/', fields, { 'user-agent': FIREFOX });
  return visitor;
};

const countSessions = (body: string): number => body.match(/Firefox on Linux<\/strong>/g)?.length ?? 0;

pages('home page: shows the name, apps and sessions of the user, after the login', async ({ app }) => {
  const anonymous = await createVisitor(app).get('/');
  assert.equal([anonymous.status, anonymous.location], [303, '/login/']);
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true });
  const page = await (await logInByPage(app, ADA)).get('/');
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false });

  for (const phrase of [
    'Hello Ada',
    ADA,
    'Sales In maintenance',
    'Churn',
    'Firefox on Linux',
    'This browser',
  ])
    assert.match(page.text, phrase);
  assert.not.match(page.text, 'Fleet');
  assert.match(page.body, 'href="/launch/sales/"');
  assert.match(page.text, '127.0.0.1, last used 21 Nov 2026, 12:00 UTC');
});

pages('home page: ends another session of the user, but not sessions of other users', async ({ app }) => {
  const otherSession = await logInByPage(app, GRACE);
  const visitor = await logInByPage(app, GRACE);
  const before = await visitor.get('/');
  const stale = await visitor.submit('/sessions/', { csrf_token: 'old' });
  const ended = await visitor.submit('/sessions/');
  const after = await visitor.get('/');

  assert.equal([countSessions(before.body), stale.status, countSessions(stale.body)], [2, 403, 2]);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.equal([ended.status, ended.location], [303, '/']);
  assert.is(countSessions(after.body), 1);
  assert.match(after.text, 'This browser');
  assert.is((await otherSession.get('/')).location, '/login/');

  const other = await logInByPage(app, EDSGER);
  const [id] = await valuesOf(app, 'sessions', 'id', { user_id: await userId(app, GRACE) });
  const { forms } = await other.get('/');
  await other.post(`/sessions/${id}/end/`, forms[0]?.fields ?? {});
  assert.is((await visitor.get('/')).status, 200);
});

const credentials = { username: ADA, password: DEMO_PASSWORD };

const openLogin = async (app: TestApp, query = '', host?: string) => {
  const visitor = createVisitor(app, host);
  return { visitor, page: await visitor.get(`/login/${query}`) };
};

const setHome = (app: TestApp, home_location: string) =>
  setRows(app, 'clients', { id: 1 }, { home_location });

pages(
  'login page: has the texts of the client of its site, and a password that can be pasted',
  async ({ app }) => {
    const acme = (await openLogin(app)).page;
    const globex = (await openLogin(app, '', 'globex.localhost:8000')).page;

    assert.match(acme.text, 'Welcome to Acme Analytics Log in to see your apps.');
    assert.match(acme.text, 'help@acme.test');
    assert.match(globex.text, 'Welcome to Globex Data');
    assert.match(acme.body, /<input id="password" [^>]*type="password" autocomplete="current-password"/);
    assert.not.match(acme.body, /onpaste|maxlength/);
  },
);

pages('login page: sets an HttpOnly, SameSite=Lax cookie and redirects to the home', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const answer = await visitor.submit('/login/', credentials);
  const cookie = [answer.headers['set-cookie']].flat().find((line) => line?.startsWith('steward_session='));

  assert.equal([answer.status, answer.location], [303, '/']);
  assert.match(String(cookie), /HttpOnly; SameSite=Lax/);
  assert.match((await visitor.get('/')).text, 'Hello Ada');
});

pages('login page: continues to `next`, also after a failed attempt', async ({ app }) => {
  const { visitor } = await openLogin(app, '?next=%2Fpassword%2Fchange%2F%3Fa%3Db');
  await visitor.submit('/login/', { ...credentials, password: 'wrong' });
  const answer = await visitor.submit('/login/', credentials);

  assert.equal([answer.status, answer.location], [303, '/password/change/?a=b']);
  const again = await visitor.get('/login/?next=/password/change/');
  assert.equal([again.status, again.location], [303, '/password/change/']);
});

pages('login page: does not redirect to other hosts (open redirect)', async ({ app }) => {
  for (const next of ['https://evil.test/', '//evil.test', '/\\evil.test', '/\t/evil.test', 'javascript:x']) {
    const { visitor } = await openLogin(app, `?next=${encodeURIComponent(next)}`);
    assert.is((await visitor.submit('/login/', credentials)).location, '/', next);
    const { visitor: forger } = await openLogin(app);
    assert.is((await forger.submit('/login/', { ...credentials, next })).location, '/', next);
  }
});

pages('login page: redirects to a home on another host and allows it in form-action', async ({ app }) => {
  await setHome(app, 'https://apps.acme.test/start');
  const { visitor, page } = await openLogin(app);
  const answer = await visitor.submit('/login/', credentials);
  const again = await visitor.get('/login/');
  await setHome(app, '/');

  assert.match(String(page.headers['content-security-policy']), "form-action 'self' https:;");
  assert.is(answer.location, 'https://apps.acme.test/start');
  assert.is(again.location, 'https://apps.acme.test/start');
});

pages('login page: keeps the address after a failed attempt, and marks missing fields', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const page = await visitor.submit('/login/', { ...credentials, password: 'not it' });
  assert.equal([page.status, page.forms[0]?.fields.username], [400, ADA]);
  assert.match(page.body, 'role="alert"');
  assert.match(page.text, 'Incorrect email address or password.');
  assert.not.match(page.body, 'not it');

  const empty = (await visitor.submit('/login/', { username: '' })).body;
  assert.match(empty, /name="username"[^>]*aria-describedby="username-error"[^>]*aria-invalid="true"/s);
  assert.match(empty, '<p class="error" id="password-error">This field is required.</p>');
});

pages('login page: says when to try again after too many attempts', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const wrong = { username: 'guessed@acme.test', password: 'x' };
  for (let tries = 0; tries < 10; tries += 1) await visitor.submit('/login/', wrong);
  const page = await visitor.submit('/login/', wrong);

  assert.is(page.status, 429);
  assert.match(String(page.headers['retry-after']), /^\d+$/);
  assert.match(page.text, 'Try again in 15 minutes.');
});

pages('login page: shows the form again for a stale CSRF token, and refuses other sites', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const stale = await visitor.submit('/login/', { ...credentials, csrf_token: 'old' });
  const renewed = await visitor.submit('/login/', credentials);
  const { visitor: victim } = await openLogin(app);
  const foreign = await victim.post('/login/', credentials, { origin: 'https://evil.test' });

  assert.equal([stale.status, renewed.status, foreign.status], [403, 303, 403]);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.is(stale.forms[0]?.fields.username, ADA);
  assert.not.ok(victim.jar.has('steward_session'));
});

pages('login page: replaces an expired password, then logs in', async ({ app }) => {
  await setRows(app, 'clients', { id: 2 }, { password_expiration_days: 30 });
  app.clock.advance(31 * DAY_MS);
  const old = { username: EDSGER, password: DEMO_PASSWORD };
  const { visitor } = await openLogin(app, '?next=/password/change/', 'globex.localhost:8000');

  const asked = await visitor.submit('/login/', old);
  const weak = await visitor.submit('/login/', { ...old, new_password: 'short' });
  const changed = { ...old, new_password: 'a fine new one' };
  const wrong = await visitor.submit('/login/', { ...changed, password: 'wrong' });
  const done = await visitor.submit('/login/', changed);

  assert.equal([asked.status, weak.status], [403, 400]);
  assert.match(asked.text, 'Your password has expired');
  assert.match(asked.text, 'At least 8 characters.');
  const { username, password } = asked.forms[0]?.fields ?? {};
  assert.equal([username, password], [EDSGER, '']);
  assert.match(weak.body, /<li class="broken">At least 8 characters\./);
  assert.match(wrong.text, 'Incorrect email address or password.');
  assert.equal([done.status, done.location], [303, '/password/change/']);
  assert.is((await visitor.get('/password/change/')).status, 200);
});

pages('login page: logs out by POST only', async ({ app }) => {
  const { visitor } = await openLogin(app);
  await visitor.submit('/login/', { ...credentials, username: GRACE });
  await visitor.get('/');
  const byLink = await visitor.get('/logout/');
  await visitor.get('/');
  const stale = await visitor.submit('/logout/', { csrf_token: 'old' });
  const out = await visitor.submit('/logout/', { next: '//evil.test' });

  assert.is(byLink.status, 405);
  assert.is(stale.status, 403);
  assert.match(stale.text, 'Log out?');
  assert.equal([out.status, out.location], [303, '/login/']);
  assert.not.ok(visitor.jar.has('steward_session'));
  assert.is((await visitor.get('/')).location, '/login/');
});

pages.run();
