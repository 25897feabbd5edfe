import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { appSuite } from '../support/app-suite.ts';
import { mailedPasswordPath } from '../support/mailed-links.ts';
import { ADA, DEMO_PASSWORD, GRACE, type TestApp } from '../support/test-app.ts';
import { createVisitor } from '../support/visitor.ts';

const passwords = appSuite('password pages');

const NEW = 'a fine new one';
const asked = async (app: TestApp, email: string) => {
  const visitor = createVisitor(app);
  await visitor.get('/password/reset/');
  return visitor.submit('/password/reset/', { email });
};
const loggedIn = async (app: TestApp, username: string, password = DEMO_PASSWORD) => {
  const visitor = createVisitor(app);
  await visitor.get('/login/');
  const { status } = await visitor.submit('/login/', { username, password });
  return { visitor, status };
};

passwords('answers every address the same', async ({ app }) => {
  const known = await asked(app, ADA);
  const unknown = await asked(app, 'nobody@acme.test');

  assert.is(known.status, 200);
  assert.match(known.text, `If ${ADA} has an account, a mail is on its way.`);
  assert.is(unknown.text, known.text.replaceAll(ADA, 'nobody@acme.test'));
});

passwords('says what is no address, and when there were too many wishes', async ({ app }) => {
  const bad = await asked(app, 'no address');
  for (let wishes = 0; wishes < 5; wishes += 1) await asked(app, 'often@acme.test');
  const often = await asked(app, 'often@acme.test');

  assert.is(bad.status, 400);
  assert.match(bad.body, '<p class="error" id="email-error">Must be an email address.</p>');
  assert.is(bad.forms[0]?.fields.email, 'no address');
  assert.is(often.status, 429);
  assert.match(often.text, 'Try again in an hour.');
});

passwords('sets a password by a mailed link, once, and logs nobody in', async ({ app }) => {
  await asked(app, GRACE);
  const path = await mailedPasswordPath(app, GRACE);
  const visitor = createVisitor(app);

  await createVisitor(app).get(path);
  const form = await visitor.get(path);
  const weak = await visitor.submit('/password/reset/', { password: 'grace' });
  const done = await visitor.submit('/password/reset/', { password: NEW });
  const again = await visitor.get(path);

  assert.is(form.status, 200);
  assert.match(form.text, GRACE);
  assert.match(form.text, 'At least 8 characters.');
  assert.not.match(form.text, /NUL|broken characters/);
  assert.is(form.forms[0]?.action, '/password/reset/', 'the secret must not stand in an address again');
  assert.is(weak.status, 400);
  assert.match(weak.body, 'class="broken"');
  assert.is(done.status, 200);
  assert.match(done.text, 'Your new password is set');
  assert.not.ok(visitor.jar.has('steward_session'));
  assert.is(again.status, 404);
  assert.is((await loggedIn(app, GRACE, NEW)).status, 303);
});

passwords('offers a new link in place of one that is wrong, cut short, used or too old', async ({ app }) => {
  await asked(app, ADA);
  const path = await mailedPasswordPath(app, ADA);
  const late = createVisitor(app);
  await late.get(path);
  app.clock.advance(61 * MINUTE_MS);

  const tried = await late.submit('/password/reset/', { password: NEW });
  assert.is(tried.status, 404);
  for (const dead of [path, path.slice(0, -1), `${path}x`, '/password/reset/?token=']) {
    const visitor = createVisitor(app);
    const page = await visitor.get(dead);
    assert.is(page.status, 404, dead);
    assert.match(page.text, 'This link no longer works');
    assert.is((await visitor.submit('/password/reset/', { email: 'dead@acme.test' })).status, 200);
  }
});

passwords('gives the same form again when it was open for too long', async ({ app }) => {
  await asked(app, ADA);
  const visitor = createVisitor(app);
  await visitor.get(await mailedPasswordPath(app, ADA));

  const stale = await visitor.submit('/password/reset/', { password: NEW, csrf_token: '' });
  assert.is(stale.status, 403);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.not.match(stale.body, NEW);
  assert.is((await visitor.submit('/password/reset/', { password: DEMO_PASSWORD })).status, 200);
});

passwords(
  'changes the password of who is logged in, ends the other logins and keeps this one',
  async ({ app }) => {
    const { visitor } = await loggedIn(app, ADA);
    const { visitor: elsewhere } = await loggedIn(app, ADA);
    await visitor.get('/password/change/');
    const send = (password: string, new_password: string, more = {}) =>
      visitor.submit('/password/change/', { password, new_password, ...more });

    const wrong = await send('wrong', NEW);
    const weak = await send(DEMO_PASSWORD, 'lovelace');
    const stale = await send(DEMO_PASSWORD, NEW, { csrf_token: 'old' });
    const done = await send(DEMO_PASSWORD, NEW);

    assert.equal([wrong.status, weak.status, stale.status, done.status], [400, 400, 403, 200]);
    assert.match(wrong.body, 'id="password-error">This is not your current password.</p>');
    assert.match(weak.body, 'class="broken">Must not contain your name or email address');
    assert.match(stale.text, 'This form has expired. Please try again.');
    assert.match(done.text, 'Everywhere else you are logged out.');
    assert.is((await visitor.get('/')).status, 200);
    assert.is((await elsewhere.get('/')).location, '/login/');
  },
);

passwords('asks for the login before a change, and comes back', async ({ app }) => {
  const visitor = createVisitor(app);

  assert.is((await visitor.get('/password/change/')).location, '/login/?next=%2Fpassword%2Fchange%2F');
  const posted = await visitor.post('/password/change/', { password: 'a', new_password: 'b' });
  assert.equal([posted.status, posted.location], [303, '/login/?next=%2Fpassword%2Fchange%2F']);
});

passwords.run();
