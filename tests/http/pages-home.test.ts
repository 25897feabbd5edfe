import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createVisitor } from '../support/http-clients.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const home = appSuite('home page');

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';
const logIn = async (app: TestApp, username: string) => {
  const visitor = createVisitor(app);
  const { forms } = await visitor.get('/login/');
  const fields = { ...forms[0]?.fields, username, password: DEMO_PASSWORD };
  await visitor.post('/login/', fields, { 'user-agent': FIREFOX });
  return visitor;
};
const countSessions = (body: string): number => body.match(/Firefox on Linux<\/strong>/g)?.length ?? 0;

home('redirects to the login page without a session', async ({ app }) => {
  const answer = await createVisitor(app).get('/');

  assert.equal([answer.status, answer.location], [303, '/login/']);
});

home('shows the name, apps and sessions of the user', async ({ app }) => {
  const page = await (await logIn(app, ADA)).get('/');

  for (const phrase of ['Hello Ada', ADA, 'Sales', 'Churn', 'Firefox on Linux', 'This browser']) {
    assert.match(page.text, phrase);
  }
  assert.not.match(page.text, 'Fleet');
  assert.match(page.text, '127.0.0.1, last used 21 Nov 2026, 12:00 UTC');
});

home('launches each app from its card', async ({ app }) => {
  const page = await (await logIn(app, ADA)).get('/');

  assert.match(page.body, 'href="/launch/sales/"');
});

home('says which apps are in maintenance', async ({ app }) => {
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true });
  const page = await (await logIn(app, ADA)).get('/');
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false });

  assert.match(page.text, /Sales\s+In maintenance/);
});

home('ends another session of the user, but not sessions of other users', async ({ app }) => {
  const otherSession = await logIn(app, GRACE);
  const visitor = await logIn(app, GRACE);
  const before = await visitor.get('/');
  const ended = await visitor.submit('/sessions/');
  const after = await visitor.get('/');

  assert.is(countSessions(before.body), 2);
  assert.equal([ended.status, ended.location], [303, '/']);
  assert.is(countSessions(after.body), 1);
  assert.match(after.text, 'This browser');
  assert.is((await otherSession.get('/')).location, '/login/');

  const other = await logIn(app, EDSGER);
  const { id } = await app
    .db()
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select('sessions.id')
    .where('users.email', '=', GRACE)
    .executeTakeFirstOrThrow();
  const { forms } = await other.get('/');
  await other.post(`/sessions/${id}/end/`, forms[0]?.fields ?? {});
  assert.is((await visitor.get('/')).status, 200);
});

home('ends no session if the CSRF token is wrong', async ({ app }) => {
  await logIn(app, ROOT);
  const visitor = await logIn(app, ROOT);
  await visitor.get('/');
  const stale = await visitor.submit('/sessions/', { csrf_token: 'old' });

  assert.is(stale.status, 403);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.is(countSessions(stale.body), 2);
});

home('treats a malformed session id as a session that has already ended', async ({ app }) => {
  const visitor = await logIn(app, ADA);
  const { forms } = await visitor.get('/');
  for (const id of ['x', '1.5', '-1', '9'.repeat(30), '%00']) {
    const answer = await visitor.post(`/sessions/${id}/end/`, forms[0]?.fields ?? {});
    assert.equal([answer.status, answer.location], [303, '/'], id);
  }
});

home('uses one CSRF token for all forms of the page', async ({ app }) => {
  await logIn(app, ADA);
  const visitor = await logIn(app, ADA);
  visitor.jar.delete('csrftoken');
  const page = await visitor.get('/');
  const tokens = new Set(page.forms.map(({ fields }) => fields.csrf_token));

  assert.ok(page.forms.length > 1);
  assert.equal([...tokens], [visitor.jar.get('csrftoken')]);
});

home('redirects to the login page after the session has expired', async ({ app }) => {
  const visitor = await logIn(app, ADA);
  app.clock.advance(15 * DAY_MS);

  assert.is((await visitor.get('/')).location, '/login/');
});

home.run();
