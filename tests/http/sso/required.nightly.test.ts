import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { mailedPasswordPath } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { challenged, enroll, nextCode, problemIn } from '../../support/second-factors.ts';
import { ACME_ID, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME, ADA, DEMO_PASSWORD, EDSGER, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const required = ssoSuite('required single sign-on');

required.before(async ({ app, connection }) => {
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_required: true });
});

const tokenWith = (app: TestApp, username: string, password = DEMO_PASSWORD) =>
  app.as(null).tokens.create({ username, password });

required('refuses a right password of a member in a verified domain, everywhere', async ({ app }) => {
  const refused = await rejectsWith(tokenWith(app, ADA), 'sso-required');
  assert.is(refused.status, 403);
  assert.not.match(refused.message, /ada|acme/i);
  await rejectsWith(app.as(null).sessions.create({ username: ADA, password: DEMO_PASSWORD }), 'sso-required');
  const renewal = { username: ADA, password: DEMO_PASSWORD, new_password: 'Violet-harbor-92-kite' };
  await rejectsWith(app.as(null).passwords.renew(renewal), 'sso-required');
});

required('says no more than before for a wrong password, or without an account', async ({ app }) => {
  await rejectsWith(tokenWith(app, ADA, 'wrong'), 'invalid-credentials');
  await rejectsWith(tokenWith(app, 'nobody@acme.test'), 'invalid-credentials');
});

required('refuses the password reset of people who are connected', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'connected@acme.test';
  await app.as(ACME).users.create({ email, send_email: false });
  provider.people.set('connected', { email });
  await logInWithSso(fixture, { subject: 'connected' });
  await app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'send-password-link' });
  const path = await mailedPasswordPath(app, email);
  const token = new URL(path, 'http://localhost').searchParams.get('token') ?? '';
  await rejectsWith(app.as(null).passwords.verifyToken({ token }), 'sso-required');
  const reset = { token, password: 'Violet-harbor-92-kite' };
  await rejectsWith(app.as(null).passwords.reset(reset), 'sso-required');
  assert.match((await createVisitor(app).get(path)).text, 'Your organization requires single sign-on.');
});

required('lets people set a password whom only a provider of before knows', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'of-before@acme.test';
  await app.as(ACME).users.create({ email, send_email: false });
  provider.people.set('of-before', { email });
  await logInWithSso(fixture, { subject: 'of-before' });
  await sql`update external_identities set issuer = 'https://before.example' where email = ${email}`.execute(
    app.db(),
  );
  await app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'send-password-link' });
  const token =
    new URL(await mailedPasswordPath(app, email), 'http://localhost').searchParams.get('token') ?? '';

  await app.as(null).passwords.reset({ token, password: 'Violet-harbor-92-kite' });
});

required(
  'lets people who are not connected yet set the password with which they connect',
  async ({ app }) => {
    await app.as(ROOT).users.bulkUpdate({ emails: [GRACE], action: 'send-password-link' });
    const path = await mailedPasswordPath(app, GRACE);
    const token = new URL(path, 'http://localhost').searchParams.get('token') ?? '';
    await app.as(null).passwords.reset({ token, password: 'Violet-harbor-92-kite' });
    await rejectsWith(tokenWith(app, GRACE, 'Violet-harbor-92-kite'), 'sso-required');
    await sql`update users set password_hash = (select password_hash from users where email = ${ADA})
    where email = ${GRACE}`.execute(app.db());
  },
);

required(
  'leaves people of other clients and domains, superusers and staff their passwords',
  async ({ app }) => {
    for (const email of [EDSGER, ROOT]) assert.ok(await tokenWith(app, email));
    for (const column of ['is_staff', 'is_superuser']) {
      await sql`update users set ${sql.ref(column)} = true where email = ${ADA}`.execute(app.db());
      assert.ok(await tokenWith(app, ADA));
      await sql`update users set ${sql.ref(column)} = false where email = ${ADA}`.execute(app.db());
    }
    await sql`update memberships set is_active_member = false
    where user_id = (select id from users where email = ${ADA})`.execute(app.db());
    assert.ok(await tokenWith(app, ADA));
    await sql`update memberships set is_active_member = true`.execute(app.db());
  },
);

required('lapses with the proof of the domain, but not for people who are connected', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('ada', { email: ADA });
  const { visitor, page } = await logInWithSso(fixture, { subject: 'ada' });
  await visitor.get(page.location ?? '');
  assert.is((await visitor.submit('/sso/link/', { password: DEMO_PASSWORD })).status, 303);
  assert.is(await personOf(app, visitor), ADA);
  await sql`update client_domains set lapsed_at = ${app.clock.now()}::timestamptz`.execute(app.db());
  await rejectsWith(tokenWith(app, ADA), 'sso-required');
  assert.ok(await tokenWith(app, GRACE));
  await sql`update client_domains set lapsed_at = null`.execute(app.db());
});

required('counts for logins that wait for their code', async ({ app, connection }) => {
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_required: false });
  const { secret } = await enroll(app, GRACE);
  const { answer } = await challenged(app, GRACE);
  await app.as(ROOT).sso.update({ ...about, is_required: true });

  assert.is(problemIn(await answer(nextCode(app, secret))), 'invalid-challenge');
  await sql`delete from mfa_factors`.execute(app.db());
});

required('keeps named tokens and sessions', async ({ app }) => {
  const { token } = await app.as(ADA).tokens.createNamed({ name: 'script' });
  const response = await app.send('GET /session/', { headers: { authorization: `Token ${token}` } });
  assert.is(response.statusCode, 200);
});

required('asks for the address first, and leads it to the provider or to the password', async (fixture) => {
  const { app, provider } = fixture;
  for (const [username, leadsToProvider] of [
    [ADA, true],
    ['nobody@acme.test', true],
    [EDSGER, false],
    ['nobody@globex.test', false],
  ] as const) {
    const visitor = createVisitor(app);
    const first = await visitor.get('/login/?next=/console/');
    assert.not.match(first.body, 'type="password"');
    const second = await visitor.submit('/login/', { username });
    if (leadsToProvider) {
      const url = new URL(second.location ?? '');
      assert.is(url.origin, provider.issuer);
      assert.is(url.searchParams.get('login_hint'), username);
      assert.is(url.searchParams.get('code_challenge_method'), 'S256');
    } else {
      assert.is(second.status, 200);
      assert.match(second.body, 'type="password"');
      assert.match(second.body, `value="${username}"`);
    }
  }
});

required('shows the way to single sign-on after a right password', async ({ app }) => {
  const visitor = createVisitor(app);
  await visitor.get('/login/?method=password');
  const page = await visitor.submit('/login/', { username: GRACE, password: DEMO_PASSWORD });
  assert.is(page.status, 403);
  assert.match(page.text, 'Your organization requires single sign-on.');
  assert.match(page.body, '<a href="/login/">Log in with single sign-on</a>');
});

required('ends with the connection', async ({ app, connection }) => {
  await app.as(ACME).sso.remove({ id: ACME_ID, connection_id: connection });
  assert.ok(await tokenWith(app, GRACE));
  assert.match((await createVisitor(app).get('/login/')).body, 'type="password"');
});

required.run();
