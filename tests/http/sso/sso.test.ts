import * as assert from 'uvu/assert';
import { actionsOf, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME } from '../../support/test-app.ts';

/** One login, refusal and logout; the slow files beside this one have all others. */
const sso = ssoSuite('single sign-on');

sso('logs a member in by an answer of the provider', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'new.member@acme.test';
  await app.as(ACME).users.create({ email });
  provider.people.set('new-member', { email });
  const { visitor, page } = await logInWithSso(fixture, { subject: 'new-member' });

  assert.equal([page.status, page.location], [303, '/']);
  assert.is(await personOf(app, visitor), email);
});

sso('refuses a person who is neither a member nor invited', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('stranger', { email: 'stranger@acme.test' });
  const { visitor, page } = await logInWithSso(fixture, { subject: 'stranger' });

  assert.is(page.status, 403);
  assert.match(page.text, 'Ask your administrator to invite you.');
  assert.is(await personOf(app, visitor), null);
  const [failure] = await actionsOf(app, { action: 'login.sso-fail' });
  assert.is(failure?.details.reason, 'unknown-person');
});

sso('ends the session that a logout of the provider names', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = 'leaver@acme.test';
  await app.as(ACME).users.create({ email });
  provider.people.set('leaver', { email });
  const { visitor } = await logInWithSso(fixture, { subject: 'leaver' });
  assert.is(await personOf(app, visitor), email);
  const logout_token = await provider.logoutToken({ sub: 'leaver' });
  const answer = await app.send(`POST !/sso/${connection}/backchannel-logout/`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ logout_token }).toString(),
  });

  assert.is(answer.statusCode, 200);
  assert.is(await personOf(app, visitor), null);
});

sso.run();
