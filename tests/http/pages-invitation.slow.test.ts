import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createVisitor } from '../support/http-clients.ts';
import { enterPassword } from '../support/logins.ts';
import { inviteByLink } from '../support/mails.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GLOBEX, IDLE, type TestApp } from '../support/test-app.ts';

const invitations = appSuite('invitation page');
const PASSWORD = 'a fine new one';
const newcomer = { first_name: 'Mary', last_name: 'Shaw', password: PASSWORD };

const openInvitation = async (app: TestApp, path: string) => {
  const visitor = createVisitor(app);
  return { visitor, page: await visitor.get(path) };
};

const statusOf = async (app: TestApp, id: number) => (await app.as(ACME).invitations.get({ id })).status;

invitations('shows the inviter, the apps and the expiry, and opening it changes nothing', async ({ app }) => {
  const text = 'Dear Mary,\n<b>come</b> & see';
  await setRows(app, 'clients', { id: 1 }, { invitation_body: text });
  const { id, path } = await inviteByLink(app, { email: 'mary@acme.test', apps: ['zylTKNVx', 'Qm3vR8pa'] });
  const { page } = await openInvitation(app, path);

  assert.is(page.status, 200);
  for (const phrase of [
    'You are invited to Acme Analytics',
    'Alex Acme invited mary@acme.test. This invitation expires on 5 Dec 2026, 12:00 UTC.',
    'Sales Churn',
    'At least 8 characters.',
    'help@acme.test',
  ]) {
    assert.match(page.text, phrase);
  }
  assert.match(page.body, 'Dear Mary,\n&lt;b&gt;come&lt;/b&gt; &amp; see', 'the body of the mail is escaped');
  assert.is(await statusOf(app, id), 'pending');
});

invitations('creates the user, logs in and redirects to the home of the client', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: 'joan@acme.test', apps: ['zylTKNVx'] });
  const { visitor } = await openInvitation(app, path);
  const answer = await visitor.submit('/invitation/', { ...newcomer, first_name: ' Joan ' });
  const home = await visitor.get('/');

  assert.equal([answer.status, answer.location], [303, '/']);
  assert.match(home.text, 'Hello Joan');
  assert.match(home.text, 'Sales');
});

invitations('keeps the entered names if the password is too weak', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: 'weak@acme.test' });
  const { visitor } = await openInvitation(app, path);
  const page = await visitor.submit('/invitation/', { ...newcomer, password: 'shaw' });
  const empty = await visitor.submit('/invitation/', { password: '' });
  const stale = await visitor.submit('/invitation/', { ...newcomer, csrf_token: 'old' });

  assert.is(page.status, 400);
  assert.match(page.body, 'class="broken"');
  assert.is(page.forms[0]?.fields.last_name, 'Shaw');
  assert.is(page.forms[0]?.fields.password, '');
  assert.match(empty.text, 'This field is required.');
  assert.is(stale.status, 403);
  assert.match(stale.text, 'This form has expired. Please try again.');
  assert.is((await visitor.submit('/invitation/', { password: PASSWORD })).status, 303);
});

invitations('requires users with an account to log in, then accepts with one click', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: ADA, client: 2, apps: ['Hb7cW2ke'], by: GLOBEX });
  const { visitor, page } = await openInvitation(app, path);
  const [, link = ''] = /<a class="button" href="([^"]*)">Log in to accept/.exec(page.body) ?? [];
  await visitor.get(link.replaceAll('&amp;', '&'));
  const back = await visitor.submit('/login/', { username: ADA, password: DEMO_PASSWORD });
  await visitor.get(String(back.location));
  const accepted = await visitor.submit('/invitation/');
  const home = await visitor.get('/');

  assert.is(back.location, path);
  assert.is(accepted.status, 303);
  assert.match(home.text, 'Fleet');
});

invitations('offers to log out if another user is logged in', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: 'other@acme.test' });
  const visitor = createVisitor(app);
  await enterPassword(visitor, ADA);
  const page = await visitor.get(path);
  const out = await visitor.submit('/logout/');

  assert.match(page.text, `You are logged in as ${ADA} , but this invitation is for other@acme.test`);
  assert.equal([out.status, out.location], [303, path]);
  assert.match((await visitor.get(path)).text, 'Choose a password');
});

invitations('shows no form if the account is deactivated', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: IDLE });
  const { page } = await openInvitation(app, path);

  assert.match(page.text, 'The account idle@acme.test has been deactivated.');
  assert.equal(page.forms, []);
});

invitations('explains that an invitation was accepted, revoked or has expired', async ({ app }) => {
  const used = await inviteByLink(app, { email: 'used@acme.test' });
  const revoked = await inviteByLink(app, { email: 'revoked@acme.test' });
  const expired = await inviteByLink(app, { email: 'expired@acme.test' });
  await (await openInvitation(app, used.path)).visitor.submit('/invitation/', newcomer);
  const { visitor: tooLate } = await openInvitation(app, revoked.path);
  await app.as(ACME).invitations.revoke({ id: revoked.id });
  const posted = await tooLate.submit('/invitation/', newcomer);
  app.clock.advance(15 * DAY_MS);

  const explanations: [string, RegExp][] = [
    [used.path, /Invitation already accepted .* was accepted on 21 Nov 2026, \d\d:\d\d UTC\. .* Log in/],
    [revoked.path, /This invitation was revoked .* Alex Acme .* help@acme\.test/],
    [expired.path, /has expired .* until 5 Dec 2026, 12:00 UTC\. Alex Acme can send you a new one/],
  ];
  for (const [path, explanation] of explanations) {
    const { page } = await openInvitation(app, path);
    assert.is(page.status, 410, page.text);
    assert.match(page.text, explanation);
  }
  assert.is(posted.status, 409);
  assert.match(posted.text, 'This invitation was revoked');
});

invitations('shows the same page for a wrong and for a truncated link', async ({ app }) => {
  const { path } = await inviteByLink(app, { email: 'wrong@acme.test' });
  const others = [path.replace(/\?.*/, ''), path.replace(/n\/./, 'n/'), '/invitation/%00/'];
  for (const wrong of [`${path}x`, ...others]) {
    const { page } = await openInvitation(app, wrong);
    assert.is(page.status, 404, wrong);
    assert.match(page.text, 'Invalid invitation link');
  }
});

invitations.run();
