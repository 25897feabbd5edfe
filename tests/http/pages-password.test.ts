import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createVisitor } from '../support/http-clients.ts';
import { enterPassword } from '../support/logins.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, type TestApp } from '../support/test-app.ts';

const passwords = appSuite('password pages');
const NEW = 'a fine new one';
const requestReset = async (app: TestApp, email: string) => {
  const visitor = createVisitor(app);
  await visitor.get('/password/reset/');
  return visitor.submit('/password/reset/', { email });
};
const logIn = async (app: TestApp, username: string, password = DEMO_PASSWORD) => {
  const visitor = createVisitor(app);
  return { visitor, status: (await enterPassword(visitor, username, { password })).status };
};

passwords('a reset request shows the same page for known and unknown addresses', async ({ app }) => {
  const known = await requestReset(app, ADA);
  const unknown = await requestReset(app, 'unknown@acme.test');

  assert.is(known.status, 200);
  assert.match(known.text, `If ${ADA} has an account, we have sent a link`);
  assert.is(unknown.text, known.text.replaceAll(ADA, 'unknown@acme.test'));
});

passwords('a reset request reports an invalid address and too many requests', async ({ app }) => {
  const bad = await requestReset(app, 'no address');
  for (let count = 0; count < 5; count += 1) await requestReset(app, 'often@acme.test');
  const often = await requestReset(app, 'often@acme.test');

  assert.is(bad.status, 400);
  assert.match(bad.body, '<p class="error" id="email-error">Must be an email address.</p>');
  assert.is(bad.forms[0]?.fields.email, 'no address');
  assert.is(often.status, 429);
  assert.match(often.text, 'Try again in an hour.');
});

passwords('a mailed link sets a password once and does not log in', async ({ app }) => {
  await requestReset(app, GRACE);
  const path = await mailedPasswordPath(app, GRACE);
  const visitor = createVisitor(app);

  await createVisitor(app).get(path);
  const form = await visitor.get(path);
  const weak = await visitor.submit('/password/reset/', { password: 'grace' });
  const stale = await visitor.submit('/password/reset/', { password: NEW, csrf_token: '' });
  const done = await visitor.submit('/password/reset/', { password: NEW });
  const again = await visitor.get(path);

  assert.is(form.status, 200);
  assert.match(form.text, GRACE);
  assert.match(form.text, 'At least 8 characters.');
  assert.not.match(form.text, /NUL|broken characters/);
  assert.is(form.forms[0]?.action, '/password/reset/', 'the token must not appear in the URL again');
  assert.is(weak.status, 400);
  assert.match(weak.body, 'class="broken"');
  assert.equal([stale.status, stale.body.includes(NEW)], [403, false]);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.is(done.status, 200);
  assert.match(done.text, 'Password changed');
  assert.not.ok(visitor.jar.has('steward_session'));
  assert.is(again.status, 404);
  assert.is((await logIn(app, GRACE, NEW)).status, 303);
});

passwords('a wrong, truncated, used or expired link offers a new one', async ({ app }) => {
  await requestReset(app, ADA);
  const path = await mailedPasswordPath(app, ADA);
  const slowVisitor = createVisitor(app);
  await slowVisitor.get(path);
  app.clock.advance(61 * MINUTE_MS);

  const expired = await slowVisitor.submit('/password/reset/', { password: NEW });
  assert.is(expired.status, 404);
  for (const invalid of [path, path.slice(0, -1), `${path}x`, '/password/reset/?token=']) {
    const visitor = createVisitor(app);
    const page = await visitor.get(invalid);
    assert.is(page.status, 404, invalid);
    assert.match(page.text, 'This link is no longer valid');
    assert.is((await visitor.submit('/password/reset/', { email: 'retry@acme.test' })).status, 200);
  }
});

passwords('a change ends all other sessions of the user and keeps this one', async ({ app }) => {
  const { visitor } = await logIn(app, ADA);
  const { visitor: elsewhere } = await logIn(app, ADA);
  await visitor.get('/password/change/');
  const send = (password: string, new_password: string, more = {}) =>
    visitor.submit('/password/change/', { password, new_password, ...more });

  const wrong = await send('wrong', NEW);
  const weak = await send(DEMO_PASSWORD, 'lovelace');
  const stale = await send(DEMO_PASSWORD, NEW, { csrf_token: 'old' });
  const done = await send(DEMO_PASSWORD, NEW);

  assert.equal([wrong.status, weak.status, stale.status, done.status], [400, 400, 403, 200]);
  assert.match(wrong.body, 'id="password-error">This is not your current password.</p>');
  assert.match(weak.body, /class="broken">[^<]*name or email address/);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.match(done.text, 'You have been logged out everywhere else.');
  assert.is((await visitor.get('/')).status, 200);
  assert.is((await elsewhere.get('/')).location, '/login/');
});

passwords('a change requires a login and returns afterwards', async ({ app }) => {
  const visitor = createVisitor(app);

  assert.is((await visitor.get('/password/change/')).location, '/login/?next=%2Fpassword%2Fchange%2F');
  const posted = await visitor.post('/password/change/', { password: 'a', new_password: 'b' });
  assert.equal([posted.status, posted.location], [303, '/login/?next=%2Fpassword%2Fchange%2F']);
});

passwords.run();
