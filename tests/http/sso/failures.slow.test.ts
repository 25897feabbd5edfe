import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import {
  ACME_ID,
  actionsOf,
  activate,
  addConnection,
  logInWithSso,
  personOf,
  ssoSuite,
  verifyDomain,
  visitProvider,
} from '../../support/sso.ts';
import { ACME, ADA, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../../support/test-app.ts';

const failures = ssoSuite('failed single sign-on');

failures.before.each(async ({ app, provider }) => {
  provider.people.clear();
  Object.assign(provider.state, { tamper: null, respond: null });
  await sql`delete from external_identities`.execute(app.db());
});

const lastFailure = async (app: TestApp) => (await actionsOf(app, { action: 'login.sso-fail' }))[0]?.details;

const provision = (app: TestApp, connection: number, provisions: boolean) =>
  app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, provisions });

type Case = {
  name: string;
  reason: string;
  text: string;
  claims?: Record<string, unknown>;
  /** Prepares the case, and returns what undoes it. */
  prepare?: (fixture: { app: TestApp; connection: number }) => Promise<(() => Promise<unknown>) | undefined>;
};

const setActive = (email: string, isActive: boolean) =>
  sql`update users set is_active = ${isActive} where email = ${email}`;

const CASES: Case[] = [
  {
    name: 'a person who is neither a member nor invited',
    claims: { email: 'stranger@acme.test' },
    reason: 'unknown-person',
    text: 'Ask your administrator to invite you.',
  },
  {
    name: 'an address outside the domains of the client',
    claims: { email: 'edsger@globex.test' },
    reason: 'foreign-address',
    text: 'not in a domain that your organization has verified',
    prepare: async ({ app, connection }) => {
      await provision(app, connection, true);
      return () => provision(app, connection, false);
    },
  },
  {
    name: 'an address in a subdomain of a verified domain',
    claims: { email: 'ada@sub.acme.test' },
    reason: 'foreign-address',
    text: 'not in a domain that your organization has verified',
  },
  {
    name: 'an address that the provider has not verified',
    claims: { email: ADA, email_verified: false },
    reason: 'unverified-address',
    text: 'has not verified your email address',
  },
  { name: 'no address', claims: {}, reason: 'no-address', text: 'does not state your email address' },
  {
    name: 'a text that is no address',
    claims: { email: 'ada' },
    reason: 'no-address',
    text: 'does not state your email address',
  },
  {
    name: 'a deactivated person',
    claims: { email: GRACE },
    reason: 'inactive-person',
    text: 'Your access has been deactivated.',
    prepare: async ({ app }) => {
      await setActive(GRACE, false).execute(app.db());
      return () => setActive(GRACE, true).execute(app.db());
    },
  },
  {
    name: 'a person whose membership is suspended',
    claims: { email: GRACE },
    reason: 'inactive-person',
    text: 'Your access has been deactivated.',
    prepare: async ({ app }) => {
      await app.as(ROOT).memberships.update({ id: ACME_ID, email: GRACE, is_active: false });
      return () => app.as(ROOT).memberships.update({ id: ACME_ID, email: GRACE, is_active: true });
    },
  },
  {
    name: 'new people of a domain whose proof has lapsed',
    claims: { email: 'late@acme.test' },
    reason: 'lapsed-domain',
    text: 'The proof that your organization owns the domain',
    prepare: async ({ app, connection }) => {
      await provision(app, connection, true);
      await sql`update client_domains set lapsed_at = ${app.clock.now()}::timestamptz`.execute(app.db());
      return async () => {
        await provision(app, connection, false);
        await sql`update client_domains set lapsed_at = null`.execute(app.db());
      };
    },
  },
];

for (const { name, reason, text, claims = {}, prepare } of CASES)
  failures(`refuses ${name}`, async (fixture) => {
    const { app, provider, connection } = fixture;
    const undo = await prepare?.(fixture);
    provider.people.set('someone', claims);
    const { visitor, page } = await logInWithSso(fixture, { subject: 'someone' });

    assert.is(page.status, 403);
    assert.match(page.text, text);
    assert.is(await personOf(app, visitor), null);
    assert.equal(await lastFailure(app), { connection, name: 'Acme ID', reason });
    const { rows } = await sql`select from external_identities`.execute(app.db());
    assert.is(rows.length, 0);
    await undo?.();
  });

type Claims = Record<string, unknown>;
const TAMPERED: [name: string, tamper: (claims: Claims) => Claims][] = [
  ['for another service', (claims) => ({ ...claims, aud: 'another-service' })],
  ['with another nonce', (claims) => ({ ...claims, nonce: 'of-another-login' })],
  ['with an empty subject', (claims) => ({ ...claims, sub: '' })],
];

for (const [name, tamper] of TAMPERED)
  failures(`refuses an ID token ${name}`, async (fixture) => {
    fixture.provider.people.set('ada', { email: ADA });
    fixture.provider.state.tamper = tamper;
    const { visitor, page } = await logInWithSso(fixture, { subject: 'ada' });

    assert.equal([page.status, await personOf(fixture.app, visitor)], [403, null]);
    assert.match(page.text, 'is not valid, or was meant for another service');
    assert.is((await lastFailure(fixture.app))?.reason, 'provider-invalid');
  });

failures('allows clocks that differ by less than a minute', async (fixture) => {
  fixture.provider.people.set('ada', { email: ADA });
  const seconds = Math.floor(Date.now() / 1000);
  fixture.provider.state.tamper = (claims) => ({ ...claims, iat: seconds - 600, exp: seconds - 40 });
  const { page } = await logInWithSso(fixture, { subject: 'ada' });

  assert.is(page.location, '/');
});

failures('refuses an ID token that another key has signed', async (fixture) => {
  const other = await startIdentityProvider(fixture.app.config.baseUrl);
  fixture.provider.people.set('ada', { email: ADA });
  const { provider } = fixture;
  provider.state.signWith = other.sign;
  provider.state.tamper = (claims) => claims;
  const { page } = await logInWithSso(fixture, { subject: 'ada' });

  assert.is(page.status, 403);
  assert.is((await lastFailure(fixture.app))?.reason, 'provider-invalid');
  provider.state.signWith = null;
  await other.close();
});

failures('refuses an answer that names another issuer (RFC 9207)', async (fixture) => {
  fixture.provider.people.set('ada', { email: ADA });
  const visitor = createVisitor(fixture.app);
  const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
  assert.match(callback, /[?&]iss=/);
  const page = await visitor.get(
    callback.replace(/iss=[^&]*/, `iss=${encodeURIComponent('https://evil.example')}`),
  );

  assert.is(page.status, 403);
});

failures('name members of the client alone in its audit trail', async (fixture) => {
  const { app, provider } = fixture;
  const entryOf = async (email: string) => {
    provider.people.set('somebody', { email });
    await logInWithSso(fixture, { subject: 'somebody' });
    const { rows } = await sql<{ target: string; has_address: boolean }>`
      select target_label as target, address is not null as has_address from audit_entries where action = 'login.sso-fail'
      order by id desc limit 1`.execute(app.db());
    return rows[0];
  };
  await app.as(ROOT).users.create({ email: 'of-globex@acme.test', client: 2 });

  assert.equal(await entryOf('of-globex@acme.test'), { target: '', has_address: false });
  assert.equal(await entryOf('nobody@acme.test'), { target: '', has_address: false });
  await app.as(ROOT).memberships.update({ id: ACME_ID, email: GRACE, is_active: false });
  assert.equal(await entryOf(GRACE), { target: GRACE, has_address: true });
  await app.as(ROOT).memberships.update({ id: ACME_ID, email: GRACE, is_active: true });
});

failures('says so if the person cancels at the provider', async (fixture) => {
  const { page } = await logInWithSso(fixture, { subject: null });

  assert.is(page.status, 403);
  assert.match(page.text, 'did not log you in. You may have cancelled');
});

failures('records no text of whoever sends a browser back with an error', async (fixture) => {
  const { app, connection } = fixture;
  const visitor = createVisitor(app);
  const started = await visitor.get(`/sso/${connection}/start/`);
  const state = new URL(started.location ?? '').searchParams.get('state') ?? '';
  const query = new URLSearchParams({ state, iss: fixture.provider.issuer, error: 'Call +1 555 0100 now' });
  assert.is((await visitor.get(`/sso/${connection}/callback/?${query}`)).status, 403);

  assert.is((await lastFailure(app))?.detail, 'The provider answered with an error.');
});

failures('refuses a state after 15 minutes, and one that is made up', async (fixture) => {
  const { app, provider, connection } = fixture;
  provider.people.set('ada', { email: ADA });
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
  app.clock.advance(15 * MINUTE_MS + 1);

  assert.match((await visitor.get(callback)).text, 'This login has expired');
  for (const query of ['?code=x&state=x', ''])
    assert.match(
      (await visitor.get(`/sso/${connection}/callback/${query}`)).text,
      'started in another browser',
    );
});

failures('refuses an answer in another browser, and with the cookie of another', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('ada', { email: ADA });
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
  const other = createVisitor(app);
  await other.get(`/sso/${fixture.connection}/start/`);
  const before = await actionsOf(app, { action: 'login.sso-fail' });

  assert.match((await createVisitor(app).get(callback)).text, 'was started in another browser');
  assert.match((await other.get(callback)).text, 'was started in another browser');
  assert.equal(await actionsOf(app, { action: 'login.sso-fail' }), before, 'is no failure of the connection');
  // The attempts of others do not use it up.
  assert.is((await visitor.get(callback)).status, 303);
  assert.is((await visitor.get(callback)).status, 403, 'the provider takes its code once');
});

failures('starts no login for an image or a frame', async ({ app, connection }) => {
  for (const destination of ['image', 'iframe', 'empty']) {
    const headers = { 'sec-fetch-dest': destination };
    assert.is((await createVisitor(app).get(`/sso/${connection}/start/`, { headers })).status, 403);
  }
});

failures('says that a connection is set up wrongly if the provider refuses its secret', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('ada', { email: ADA });
  for (const headers of [{}, { 'www-authenticate': 'Basic' }]) {
    const visitor = createVisitor(app);
    const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
    provider.state.respond = (path, response) => {
      if (path !== '/token') return false;
      response.writeHead(401, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ error: 'invalid_client' }));
      return true;
    };
    assert.match((await visitor.get(callback)).text, 'is not set up correctly');
    assert.is((await lastFailure(app))?.reason, 'provider-misconfigured');
    provider.state.respond = null;
  }
});

failures('refuses an answer at the address of another connection', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('ada', { email: ADA });
  const other = await addConnection(app, provider, 2);
  await activate(app, other, 2);
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
  const page = await visitor.get(callback.replace(/\/sso\/\d+\//, `/sso/${other}/`));

  assert.match(page.text, 'started in another browser');
  await app.as(ROOT).sso.remove({ id: 2, connection_id: other });
});

failures('lets known people in after the proof of their domain has lapsed', async (fixture) => {
  const { app, provider } = fixture;
  const email = 'known@acme.test';
  await app.as(ACME).users.create({ email });
  provider.people.set('known', { email });
  await logInWithSso(fixture, { subject: 'known' });
  await sql`update client_domains set lapsed_at = ${app.clock.now()}::timestamptz`.execute(app.db());
  const { visitor } = await logInWithSso(fixture, { subject: 'known' });

  assert.is(await personOf(app, visitor), email);
  await sql`update client_domains set lapsed_at = null`.execute(app.db());
});

failures('refuses known people who were deactivated', async (fixture) => {
  const { app, provider } = fixture;
  provider.people.set('known-1', { email: GRACE });
  await logInWithSso(fixture, { subject: 'known-1' });
  await setActive(GRACE, false).execute(app.db());
  assert.match((await logInWithSso(fixture, { subject: 'known-1' })).page.text, 'has been deactivated');
  await setActive(GRACE, true).execute(app.db());
});

failures('refuses accounts without the claim that the connection requires', async (fixture) => {
  const { app, provider, connection } = fixture;
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, required_claim: 'groups', required_value: '42' });
  for (const [tenant, isRefused] of [
    [undefined, true],
    ['43', true],
    ['42', false],
    [42, false],
    [['41', '42'], false],
  ] as const) {
    provider.people.set('tenant', { email: GRACE, ...(tenant !== undefined && { groups: tenant }) });
    const { page } = await logInWithSso(fixture, { subject: 'tenant' });
    assert.is(page.status, isRefused ? 403 : 303, String(tenant));
  }
  await app.as(ROOT).sso.update({ ...about, required_claim: '', required_value: '' });
});

failures('shows one page for a connection that does not exist, or is not active', async (fixture) => {
  const { app, connection } = fixture;
  const visitor = createVisitor(app);
  const pages = [await visitor.get('/sso/999/start/'), await visitor.get('/sso/x/start/')];
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_active: false });
  pages.push(await visitor.get(`/sso/${connection}/start/`));
  await app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, is_active: true });

  for (const page of pages) {
    assert.is(page.status, 403);
    assert.match(page.text, 'This connection does not exist or is not active.');
  }
});

failures('shows nobody else the test of an admin', async (fixture) => {
  const { app, connection } = fixture;
  const path = `/sso/${connection}/start/?test=1`;
  assert.match((await createVisitor(app).get(path)).text, 'This test belongs to another administrator.');
  for (const email of [GLOBEX, ADA, STAFF]) {
    const headers = { authorization: `Token ${await app.tokenOf(email)}` };
    assert.is((await createVisitor(app).get(path, { headers })).status, 403);
  }
});

failures(
  'shows one page if the provider has a fault, or is away in the middle of a login',
  async (fixture) => {
    const { app, provider } = fixture;
    provider.people.set('ada', { email: ADA });
    provider.state.respond = (path, response) => {
      if (path !== '/token') return false;
      response.writeHead(500).end();
      return true;
    };
    const broken = await logInWithSso(fixture, { subject: 'ada' });
    provider.state.respond = (path, response) => {
      if (path === '/token') response.destroy();
      return path === '/token';
    };
    const cut = await logInWithSso(fixture, { subject: 'ada' });
    provider.state.respond = null;
    const visitor = createVisitor(app);
    const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
    await provider.close();
    const away = await visitor.get(callback);

    for (const page of [broken.page, cut.page, away]) {
      assert.is(page.status, 503);
      assert.match(page.text, 'Your identity provider does not answer at the moment.');
    }
    assert.is((await lastFailure(app))?.reason, 'provider-unavailable');
  },
);

failures('shows the same page if the provider is away from the start', async ({ app, provider }) => {
  const id = await addConnection(app, provider, 2);
  await activate(app, id, 2);
  await sql`update sso_connections set issuer = issuer || '/away' where id = ${id}`.execute(app.db());
  await verifyDomain(app, 2, 'globex.test');
  const page = await createVisitor(app).get(`/sso/${id}/start/`);

  assert.is(page.status, 503);
  assert.match(page.text, 'Your identity provider does not answer');
});

failures.run();
