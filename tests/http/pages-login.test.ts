import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createVisitor } from '../support/http-clients.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';

const login = appSuite('login page');

const credentials = { username: ADA, password: DEMO_PASSWORD };
const openLogin = async (app: TestApp, query = '', host?: string) => {
  const visitor = createVisitor(app, host);
  return { visitor, page: await visitor.get(`/login/${query}`) };
};
const setHome = (app: TestApp, home_location: string) =>
  app.db().updateTable('clients').set({ home_location }).where('id', '=', 1).execute();

login('shows the texts of the client whose site it is', async ({ app }) => {
  const acme = (await openLogin(app)).page;
  const globex = (await openLogin(app, '', 'globex.localhost:8000')).page;

  assert.match(acme.text, 'Welcome to Acme Analytics Log in to see your apps.');
  assert.match(acme.text, 'help@acme.test');
  assert.match(globex.text, 'Welcome to Globex Data');
});

login('hides the password, and lets password managers fill it in and the user paste it', async ({ app }) => {
  const { page } = await openLogin(app);
  const [, attributes = ''] = /<input id="password" ([^>]*)>/.exec(page.body) ?? [];

  assert.match(attributes, 'type="password" autocomplete="current-password"');
  assert.not.match(page.body, /onpaste|maxlength/);
});

login('sets an HttpOnly, SameSite=Lax cookie and redirects to the home of the client', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const answer = await visitor.submit('/login/', credentials);
  const cookie = [answer.headers['set-cookie']].flat().find((line) => line?.startsWith('steward_session='));

  assert.equal([answer.status, answer.location], [303, '/']);
  assert.match(String(cookie), /HttpOnly; SameSite=Lax/);
  assert.match((await visitor.get('/')).text, 'Hello Ada');
});

login('continues to `next`, also after a failed attempt', async ({ app }) => {
  const { visitor } = await openLogin(app, '?next=%2Fpassword%2Fchange%2F%3Fa%3Db');
  await visitor.submit('/login/', { ...credentials, password: 'wrong' });
  const answer = await visitor.submit('/login/', credentials);

  assert.equal([answer.status, answer.location], [303, '/password/change/?a=b']);
});

login('does not redirect to other hosts (open redirect)', async ({ app }) => {
  for (const next of ['https://evil.test/', '//evil.test', '/\\evil.test', '/\t/evil.test', 'javascript:x']) {
    const { visitor } = await openLogin(app, `?next=${encodeURIComponent(next)}`);
    assert.is((await visitor.submit('/login/', credentials)).location, '/', next);
    const { visitor: forger } = await openLogin(app);
    assert.is((await forger.submit('/login/', { ...credentials, next })).location, '/', next);
  }
});

login('redirects to a home on another host and allows it in form-action', async ({ app }) => {
  await setHome(app, 'https://apps.acme.test/start');
  const { visitor, page } = await openLogin(app);
  const answer = await visitor.submit('/login/', credentials);
  const again = await visitor.get('/login/');
  await setHome(app, '/');

  assert.match(String(page.headers['content-security-policy']), "form-action 'self' https:;");
  assert.is(answer.location, 'https://apps.acme.test/start');
  assert.is(again.location, 'https://apps.acme.test/start');
});

login('redirects users who are already logged in', async ({ app }) => {
  const { visitor } = await openLogin(app);
  await visitor.submit('/login/', credentials);
  const answer = await visitor.get('/login/?next=/password/change/');

  assert.equal([answer.status, answer.location], [303, '/password/change/']);
});

login('keeps the email address after a failed attempt, but not the password', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const page = await visitor.submit('/login/', { ...credentials, password: 'not it' });

  assert.is(page.status, 400);
  assert.match(page.body, 'role="alert"');
  assert.match(page.text, 'Incorrect email address or password.');
  assert.is(page.forms[0]?.fields.username, ADA);
  assert.not.match(page.body, 'not it');
});

login('marks missing fields as invalid', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const page = await visitor.submit('/login/', {});

  assert.is(page.status, 400);
  assert.match(page.body, /name="username"[^>]*aria-describedby="username-error"[^>]*aria-invalid="true"/s);
  assert.match(page.body, '<p class="error" id="password-error">This field is required.</p>');
});

login('says when to try again after too many attempts', async ({ app }) => {
  const { visitor } = await openLogin(app);
  const wrong = { username: 'guessed@acme.test', password: 'x' };
  for (let tries = 0; tries < 10; tries += 1) await visitor.submit('/login/', wrong);
  const page = await visitor.submit('/login/', wrong);

  assert.is(page.status, 429);
  assert.match(String(page.headers['retry-after']), /^\d+$/);
  assert.match(page.text, 'Try again in 15 minutes.');
});

login(
  'shows the form again if its CSRF token is stale, and rejects forms of other sites',
  async ({ app }) => {
    const { visitor } = await openLogin(app);
    const stale = await visitor.submit('/login/', { ...credentials, csrf_token: 'old' });
    const renewed = await visitor.submit('/login/', credentials);
    const { visitor: victim } = await openLogin(app);
    const foreign = await victim.post('/login/', credentials, { origin: 'https://evil.test' });

    assert.is(stale.status, 403);
    assert.match(stale.text, 'This form has expired. Please try again.');
    assert.is(stale.forms[0]?.fields.username, ADA);
    assert.is(renewed.status, 303);
    assert.is(foreign.status, 403);
    assert.not.ok(victim.jar.has('steward_session'));
  },
);

login('redirects a second tab after the first has logged in', async ({ app }) => {
  const { visitor, page } = await openLogin(app);
  await visitor.submit('/login/', credentials);
  const answer = await visitor.post('/login/', { ...credentials, ...page.forms[0]?.fields });

  assert.equal([answer.status, answer.location], [303, '/']);
});

login('replaces an expired password, then logs in', async ({ app }) => {
  await app.db().updateTable('clients').set({ password_expiration_days: 30 }).where('id', '=', 2).execute();
  app.clock.advance(31 * DAY_MS);
  const old = { username: EDSGER, password: DEMO_PASSWORD };
  const { visitor } = await openLogin(app, '?next=/password/change/', 'globex.localhost:8000');

  const asked = await visitor.submit('/login/', old);
  const weak = await visitor.submit('/login/', { ...old, new_password: 'short' });
  const wrong = await visitor.submit('/login/', {
    ...old,
    password: 'wrong',
    new_password: 'a fine new one',
  });
  const done = await visitor.submit('/login/', { ...old, new_password: 'a fine new one' });

  assert.is(asked.status, 403);
  assert.match(asked.text, 'Your password has expired');
  assert.match(asked.text, 'At least 8 characters.');
  assert.is(asked.forms[0]?.fields.username, EDSGER);
  assert.is(asked.forms[0]?.fields.password, '');
  assert.is(weak.status, 400);
  assert.match(weak.body, /<li class="broken">At least 8 characters\./);
  assert.match(wrong.text, 'Incorrect email address or password.');
  assert.equal([done.status, done.location], [303, '/password/change/']);
  assert.is((await visitor.get('/password/change/')).status, 200);
});

login('logs out by POST only', async ({ app }) => {
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

login.run();
