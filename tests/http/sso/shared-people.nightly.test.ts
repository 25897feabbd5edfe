import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { unzip } from '../../support/files.ts';
import { createScript, createVisitor } from '../../support/http-clients.ts';
import { mailedEmailToken, mailedPasswordPath } from '../../support/mails.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { enroll } from '../../support/second-factors.ts';
import { ACME_ID, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME, DEMO_PASSWORD, EDSGER, ROOT, type TestApp } from '../../support/test-app.ts';
import { FLEET } from '../../support/usage.ts';

const GLOBEX_ID = 2;
const shared = ssoSuite('single sign-on and people of several clients');

shared.before.each(({ provider }) => {
  provider.people.clear();
});

type Fixture = Parameters<typeof logInWithSso>[0];

/** A member of Acme alone, who has logged in with its provider. */
const addConnected = async (fixture: Fixture, name: string) => {
  const email = `${name}@acme.test`;
  await fixture.app.as(ACME).users.create({ email });
  fixture.provider.people.set(name, { email });
  const { visitor } = await logInWithSso(fixture, { subject: name });
  assert.is(await personOf(fixture.app, visitor), email);
  return { email, visitor };
};

const joinGlobex = (app: TestApp, email: string) =>
  app.as(ROOT).roles.setClientAdmin({ id: GLOBEX_ID, email, is_admin: true });

const identitiesOf = async (app: TestApp, email: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from external_identities i
    join users u on u.id = i.user_id where u.email = ${email}`.execute(app.db());
  return rows[0]?.count ?? 0;
};

const setPasswordOf = async (app: TestApp, email: string): Promise<void> => {
  await sql`update users set password_hash = (select password_hash from users where email = ${ACME}), last_password_set = '2020-01-01'
    where email = ${email}`.execute(app.db());
};

shared('a provider logs in nobody who belongs to another client, too', async (fixture) => {
  const { app } = fixture;
  const { email, visitor } = await addConnected(fixture, 'joins');
  await joinGlobex(app, email);

  assert.is(await personOf(app, visitor), null, 'the session of the provider has ended');
  assert.is(await identitiesOf(app, email), 0);
  const { visitor: again, page } = await logInWithSso(fixture, { subject: 'joins', amr: ['mfa'] });
  assert.match(page.text, 'does not belong to your organization alone');
  assert.is(await personOf(app, again), null);
});

shared('a member without a password who belongs to another client is not adopted', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'pending@acme.test';
  await app.as(ACME).users.create({ email });
  await joinGlobex(app, email);
  provider.people.set('pending', { email });
  const { page } = await logInWithSso(fixture, { subject: 'pending' });

  assert.match(page.text, 'does not belong to your organization alone');
});

shared('a member who has left another client logs in with the password', async (fixture) => {
  const { app, provider, connection } = fixture;
  const email = 'returned@acme.test';
  await app.as(ACME).users.create({ email });
  await setPasswordOf(app, email);
  await joinGlobex(app, email);
  await app.as(ROOT).roles.setClientAdmin({ id: GLOBEX_ID, email, is_admin: false });
  await app.as(ROOT).memberships.remove({ id: GLOBEX_ID, email });
  provider.people.set('returned', { email });
  const { page } = await logInWithSso(fixture, { subject: 'returned' });
  assert.match(page.text, 'does not belong to your organization alone');

  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_required: true });
  assert.ok(await app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD }));
  await app.as(ROOT).sso.update({ ...about, is_required: false });
});

/** Ways to log in that the account has already. */
const prepare = async (app: TestApp, email: string) => {
  await setPasswordOf(app, email);
  const browser = createScript(app);
  await browser.logIn(email, DEMO_PASSWORD);
  const { token } = await app.as(email).tokens.createNamed({ name: 'prepared' });
  await enroll(app, email, 'prepared');
  return { browser, token };
};

/** Asserts that nothing of `prepare` is left, at the present address of the account. */
const assertEnded = async (
  app: TestApp,
  email: string,
  { browser, token }: Awaited<ReturnType<typeof prepare>>,
) => {
  const withToken = await app.send('GET /session/', { headers: { authorization: `Token ${token}` } });
  assert.is(withToken.statusCode, 401, 'the token');
  assert.is((await browser.send('GET /session/')).statusCode, 401, 'the session');
  await rejectsWith(
    app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD }),
    'invalid-credentials',
  );
  for (const table of ['mfa_factors', 'recovery_codes', 'login_challenges'] as const) {
    const left = sql`select from ${sql.table(table)} t join users u on u.id = t.user_id where u.email = ${email}`;
    assert.is((await left.execute(app.db())).rows.length, 0, table);
  }
};

/** As if it had begun before the account was linked. */
const makeOlder = (app: TestApp) =>
  sql`update provider_links set since = since + interval '1 day'`.execute(app.db());

const mailsAbout = async (app: TestApp, email: string): Promise<string[]> => {
  const { rows } = await sql<{ kind: string }>`select kind from outbox_mails where recipient = ${email}
    and kind in ('password-renewal', 'second-factor-removed', 'passkey-removed')`.execute(app.db());
  return rows.map(({ kind }) => kind);
};

/** Each lets the account belong to more than one client. */
const JOINS: Record<string, (app: TestApp, email: string) => Promise<unknown>> = {
  'becomes an admin of another client': joinGlobex,
  'gets an app of another client': (app, email) => app.as(ROOT).users.update({ email, apps: [FLEET] }),
  'accepts an invitation of another client': async (app, email) => {
    const [invitation] = await app.as(ROOT).invitations.create({ items: [{ email, client: GLOBEX_ID }] });
    const { pathname, searchParams } = new URL(app.links.invitation(invitation?.key ?? ''));
    const [, , key = ''] = pathname.split('/');
    await app.as(email).invitations.accept({ key, signature: searchParams.get('signature') ?? '' });
  },
  'becomes staff': (app, email) => app.as(ROOT).roles.update({ email, is_staff: true }),
  'becomes a superuser': (app, email) => app.as(ROOT).roles.update({ email, is_superuser: true }),
};

for (const [join, letJoin] of Object.entries(JOINS))
  shared(`nothing that logs in is left of before, however old, to a person who ${join}`, async (fixture) => {
    const { app } = fixture;
    const { email } = await addConnected(fixture, join.replaceAll(' ', '-'));
    const prepared = await prepare(app, email);
    await makeOlder(app);
    await letJoin(app, email);

    await assertEnded(app, email, prepared);
    assert.equal(await mailsAbout(app, email), ['password-renewal']);
    assert.match(await mailedPasswordPath(app, email), '/password/reset/');
    const [mail] = await app.as(ROOT).mail.list({ recipient: email });
    const { text } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });
    assert.match(text, 'Set a new password to log in');
  });

shared('a change of the address in a session of a provider ends all else that logs in', async (fixture) => {
  const { app } = fixture;
  const { email, visitor } = await addConnected(fixture, 'moves');
  const prepared = await prepare(app, email);
  const to = 'moved@acme.test';
  await app.as(email).profile.requestEmail({ email: to });
  const token = await mailedEmailToken(app, to, 'confirm');
  await visitor.get(`/email/confirm/?token=${token}`);
  await visitor.submit('/email/confirm/');

  assert.is(await personOf(app, visitor), to, 'this session goes on');
  await assertEnded(app, to, prepared);
});

shared('a change of the address in a session of a passkey ends all else that logs in', async (fixture) => {
  const { app } = fixture;
  const { email } = await addConnected(fixture, 'keyed');
  await setPasswordOf(app, email);
  const browser = createVisitor(app);
  await browser.get('/login/?method=password');
  await browser.submit('/login/', { username: email, password: DEMO_PASSWORD });
  await sql`update sessions set methods = array['hwk', 'mfa'] where id = (select max(id) from sessions)`.execute(
    app.db(),
  );
  const prepared = await prepare(app, email);
  const to = 'rekeyed@acme.test';
  await app.as(email).profile.requestEmail({ email: to });
  await browser.get(`/email/confirm/?token=${await mailedEmailToken(app, to, 'confirm')}`);
  await browser.submit('/email/confirm/');

  await assertEnded(app, to, prepared);
});

shared('a change of the address in a session of the password keeps the second factors', async (fixture) => {
  const { app } = fixture;
  const { email } = await addConnected(fixture, 'stays');
  await setPasswordOf(app, email);
  const browser = createVisitor(app);
  await browser.get('/login/?method=password');
  await browser.submit('/login/', { username: email, password: DEMO_PASSWORD });
  const to = 'stayed@acme.test';
  await app.as(email).profile.requestEmail({ email: to });
  await browser.get(`/email/confirm/?token=${await mailedEmailToken(app, to, 'confirm')}`);
  await browser.submit('/email/confirm/');

  assert.ok(await app.as(null).tokens.create({ username: to, password: DEMO_PASSWORD }));
});

/** Each ends the identity before the person joins another client. */
const ENDINGS: Record<string, (fixture: Fixture, email: string) => Promise<unknown>> = {
  'was unlinked': async ({ app }, email) => {
    const [identity] = await app.as(ACME).users.identities({ email });
    await app.as(ACME).users.unlinkIdentity({ email, identity_id: identity?.id ?? 0 });
  },
  'was unlinked and linked again': async (fixture, email) => {
    await ENDINGS['was unlinked']?.(fixture, email);
    fixture.app.clock.advance(1_000);
    await logInWithSso(fixture, { subject: email.split('@')[0] ?? '' });
  },
  'has left the client': async ({ app }, email) => {
    await app.as(ROOT).memberships.remove({ id: ACME_ID, email });
    await app.as(ROOT).users.update({ email, is_active: true });
  },
};

for (const [ending, end] of Object.entries(ENDINGS))
  shared(
    `what a provider began ends for a person who ${ending} before joining another client`,
    async (fixture) => {
      const { app } = fixture;
      const { email } = await addConnected(fixture, ending.replaceAll(' ', '-'));
      const { token } = await app.as(email).tokens.createNamed({ name: 'made by the provider, perhaps' });
      await enroll(app, email, 'made by the provider, perhaps');
      await end(fixture, email);
      await joinGlobex(app, email);

      const response = await app.send('GET /session/', { headers: { authorization: `Token ${token}` } });
      assert.is(response.statusCode, 401);
      const factors = sql`select from mfa_factors f join users u on u.id = f.user_id where u.email = ${email}`;
      assert.is((await factors.execute(app.db())).rows.length, 0);
    },
  );

shared('who logs in with a provider while joining another client is not logged in there', async (fixture) => {
  const { app } = fixture;
  for (const round of [1, 2, 3, 4, 5]) {
    const { email } = await addConnected(fixture, `races-${round}`);
    const logins = [1, 2, 3].map(() => logInWithSso(fixture, { subject: `races-${round}` }));
    const [visits] = await Promise.all([Promise.all(logins), joinGlobex(app, email)]);
    for (const { visitor } of visits) assert.is(await personOf(app, visitor), null);
    assert.is(await identitiesOf(app, email), 0);
  }
});

shared('a client requires single sign-on of nobody who belongs to another, too', async (fixture) => {
  const { app, connection } = fixture;
  const email = 'required@acme.test';
  await app.as(ACME).users.create({ email });
  await setPasswordOf(app, email);
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_required: true });
  const logIn = () => app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD });
  await rejectsWith(logIn(), 'sso-required');
  await joinGlobex(app, email);

  assert.ok(await logIn());
  await app.as(ROOT).sso.update({ ...about, is_required: false });
});

shared('a superuser who hands an account over unlinks it from the provider', async (fixture) => {
  const { app } = fixture;
  const { email } = await addConnected(fixture, 'earlier');
  await app.as(ROOT).users.changeEmail({ email, new_email: 'later@acme.test' });
  assert.is(await identitiesOf(app, 'later@acme.test'), 0);
  const { page, visitor } = await logInWithSso(fixture, { subject: 'earlier' });

  assert.match(page.text, 'You have no access yet.');
  assert.is(await personOf(app, visitor), null);
});

shared(
  'a person exports nothing of clients that they do not belong to, with a provider or without',
  async (fixture) => {
    const { app } = fixture;
    const email = 'exports@acme.test';
    await app.as(ACME).users.create({ email });
    await sql`update users set is_email_verified = true where email = ${email}`.execute(app.db());
    const invited = { email, client: GLOBEX_ID, first_name: 'Named by Globex' };
    await app.as(ROOT).invitations.create({ items: [invited] });
    const invitations = async () => {
      const response = await app.send(`GET /jb/users/${email}/export/`, { as: email });
      return (await unzip(response.rawPayload)).get('invitations_received.json') ?? '';
    };
    assert.is((await invitations()).trim(), '[]');
    fixture.provider.people.set('exports', { email });
    await logInWithSso(fixture, { subject: 'exports' });

    assert.is((await invitations()).trim(), '[]');
  },
);

shared('an invitation of another client does not end single sign-on that is required', async (fixture) => {
  const { app, connection } = fixture;
  const { email } = await addConnected(fixture, 'bound');
  const [invitation] = await app.as(ROOT).invitations.create({ items: [{ email, client: GLOBEX_ID }] });
  const { pathname, searchParams } = new URL(app.links.invitation(invitation?.key ?? ''));
  const [, , key = ''] = pathname.split('/');
  const signature = searchParams.get('signature') ?? '';
  const accept = () => app.as(email).invitations.accept({ key, signature });
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_required: true });
  const refused = await rejectsWith(accept(), 'sso-required');
  assert.match(refused.message, 'Ask a superuser to add you.');
  assert.is(await identitiesOf(app, email), 1);

  await app.as(ROOT).sso.update({ ...about, is_required: false });
  await accept();
  assert.is(await identitiesOf(app, email), 0);
});

shared('a role for all clients ends the logins of a provider', async (fixture) => {
  const { app } = fixture;
  const { email, visitor } = await addConnected(fixture, 'promoted');
  await app.as(ROOT).roles.update({ email, is_staff: true });

  assert.is(await personOf(app, visitor), null);
  assert.is(await identitiesOf(app, email), 0);
});

shared('a person of another client accepts an invitation with their password only', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'edsger@acme.test';
  // An address of Acme's domain that is a member of Globex only.
  await sql`update users set email = ${email} where email = ${EDSGER}`.execute(app.db());
  provider.people.set('edsger', { email });
  const visit = () => logInWithSso(fixture, { subject: 'edsger' });
  const texts = [(await visit()).page.text];
  for (const column of ['is_staff', 'is_active']) {
    const set = (value: boolean) =>
      sql`update users set ${sql.ref(column)} = ${value} where email = ${email}`;
    await set(column === 'is_staff').execute(app.db());
    texts.push((await visit()).page.text);
    await set(column !== 'is_staff').execute(app.db());
  }
  for (const text of texts) assert.match(text, 'Ask your administrator to invite you.');

  await app.as(ACME).invitations.create({ items: [{ email, client: ACME_ID }] });
  const states = [
    `is_active = false`,
    `is_active = true`,
    `last_deactivated = '${app.clock.now().toISOString()}'`,
  ];
  for (const state of states) {
    await sql`update users set ${sql.raw(state)} where email = ${email}`.execute(app.db());
    const { visitor, page } = await visit();
    assert.match(page.text, 'does not belong to your organization alone');
    assert.is(await personOf(app, visitor), null);
  }
  await sql`update users set email = ${EDSGER} where email = ${email}`.execute(app.db());
});

shared('a connection that is not active any more ends its sessions', async (fixture) => {
  const { app, connection } = fixture;
  const first = await addConnected(fixture, 'first');
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, is_active: false });
  assert.is(await personOf(app, first.visitor), null);
  await app.as(ROOT).sso.update({ ...about, is_active: true });
  const again = await logInWithSso(fixture, { subject: 'first' });
  assert.is(await personOf(app, again.visitor), first.email);
  await app.as(ROOT).sso.update({ ...about, client_id: 'another-registration' });

  assert.is(await personOf(app, again.visitor), null);
  await app.as(ROOT).sso.update({ ...about, client_id: fixture.provider.clientId });
});

shared.run();
