import type { ServerResponse } from 'node:http';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { createVisitor, type Page } from '../../support/http-clients.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import { rowsOf, setRows } from '../../support/rows.ts';
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
import { ADA, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../../support/test-app.ts';

const failures = ssoSuite('failed single sign-on');

failures.before.each(async ({ app, provider }) => {
  provider.people.clear();
  Object.assign(provider.state, { tamper: null, respond: null, signWith: null });
  await sql`delete from external_identities`.execute(app.db());
});

type Claims = Record<string, unknown>;

/** Logs in a person of the provider with these claims, in a new browser. */
const logInAs = (fixture: Parameters<typeof logInWithSso>[0], claims: Claims) => {
  fixture.provider.people.set('someone', claims);
  return logInWithSso(fixture, { subject: 'someone' });
};

const lastFailure = async (app: TestApp) => (await actionsOf(app, { action: 'login.sso-fail' }))[0]?.details;

type Setting = (fixture: { app: TestApp; connection: number }, isOn: boolean) => Promise<unknown>;
const provision: Setting = ({ app, connection }, isOn) =>
  app.as(ROOT).sso.update({ id: ACME_ID, connection_id: connection, provisions: isOn });
const deactivate: Setting = ({ app }, isOn) => setRows(app, 'users', { email: GRACE }, { is_active: !isOn });
const suspend: Setting = ({ app }, isOn) =>
  app.as(ROOT).memberships.update({ id: ACME_ID, email: GRACE, is_active: !isOn });
const lapse: Setting = ({ app }, isOn) =>
  setRows(app, 'client_domains', {}, { lapsed_at: isOn ? app.clock.now() : null });

const TEXTS = {
  'unknown-person': 'Ask your administrator to invite you.',
  'foreign-address': 'not in a domain that your organization has verified',
  'unverified-address': 'has not verified your email address',
  'no-address': 'does not state your email address',
  'inactive-person': 'Your access has been deactivated.',
  'lapsed-domain': 'The proof that your organization owns the domain',
};

const CASES: [name: string, reason: keyof typeof TEXTS, claims: Claims, settings?: Setting[]][] = [
  ['a person who is neither a member nor invited', 'unknown-person', { email: 'stranger@acme.test' }],
  ['an address of no verified domain', 'foreign-address', { email: 'edsger@globex.test' }, [provision]],
  ['an address in a subdomain of a verified domain', 'foreign-address', { email: 'ada@sub.acme.test' }],
  ['an unverified address', 'unverified-address', { email: ADA, email_verified: false }],
  ['no address', 'no-address', {}],
  ['a text that is no address', 'no-address', { email: 'ada' }],
  ['a deactivated person', 'inactive-person', { email: GRACE }, [deactivate]],
  ['a person whose membership is suspended', 'inactive-person', { email: GRACE }, [suspend]],
  ['new people of a lapsed domain', 'lapsed-domain', { email: 'late@acme.test' }, [provision, lapse]],
];

for (const [name, reason, claims, settings = []] of CASES)
  failures(`refuses ${name}`, async (fixture) => {
    const { app, connection } = fixture;
    for (const set of settings) await set(fixture, true);
    const { visitor, page } = await logInAs(fixture, claims);
    for (const set of settings) await set(fixture, false);

    assert.equal([page.status, await personOf(app, visitor)], [403, null]);
    assert.match(page.text, TEXTS[reason]);
    assert.equal(await lastFailure(app), { connection, name: 'Acme ID', reason });
    assert.equal(await rowsOf(app, 'external_identities'), []);
  });

const TAMPERED: [name: string, tamper: (claims: Claims) => Claims][] = [
  ['for another service', (claims) => ({ ...claims, aud: 'another-service' })],
  ['with another nonce', (claims) => ({ ...claims, nonce: 'of-another-login' })],
  ['with an empty subject', (claims) => ({ ...claims, sub: '' })],
];

for (const [name, tamper] of TAMPERED)
  failures(`refuses an ID token ${name}`, async (fixture) => {
    fixture.provider.state.tamper = tamper;
    const { visitor, page } = await logInAs(fixture, { email: ADA });

    assert.equal([page.status, await personOf(fixture.app, visitor)], [403, null]);
    assert.match(page.text, 'is not valid, or was meant for another service');
    assert.is((await lastFailure(fixture.app))?.reason, 'provider-invalid');
  });

failures('allows clocks that differ by less than a minute', async (fixture) => {
  const seconds = Math.floor(Date.now() / 1000);
  fixture.provider.state.tamper = (claims) => ({ ...claims, iat: seconds - 600, exp: seconds - 40 });

  assert.is((await logInAs(fixture, { email: ADA })).page.location, '/');
});

failures('refuses an ID token that another key has signed', async (fixture) => {
  const other = await startIdentityProvider(fixture.app.config.baseUrl);
  Object.assign(fixture.provider.state, { signWith: other.sign, tamper: (claims: Claims) => claims });

  assert.is((await logInAs(fixture, { email: ADA })).page.status, 403);
  assert.is((await lastFailure(fixture.app))?.reason, 'provider-invalid');
  await other.close();
});

failures('refuses an answer that names another issuer (RFC 9207)', async (fixture) => {
  fixture.provider.people.set('ada', { email: ADA });
  const visitor = createVisitor(fixture.app);
  const callback = await visitProvider(fixture, visitor, { subject: 'ada' });
  assert.match(callback, /[?&]iss=/);
  const evil = callback.replace(/iss=[^&]*/, `iss=${encodeURIComponent('https://evil.example')}`);

  assert.is((await visitor.get(evil)).status, 403);
});

failures('name members of the client alone in its audit trail', async (fixture) => {
  const { app } = fixture;
  const entryOf = async (email: string) => {
    await logInAs(fixture, { email });
    const entry = (await rowsOf(app, 'audit_entries', { action: 'login.sso-fail' })).at(-1);
    return [entry?.target_label, entry?.address !== null];
  };
  await app.as(ROOT).users.create({ email: 'of-globex@acme.test', client: 2 });

  assert.equal(await entryOf('of-globex@acme.test'), ['', false]);
  assert.equal(await entryOf('nobody@acme.test'), ['', false]);
  await suspend(fixture, true);
  assert.equal(await entryOf(GRACE), [GRACE, true]);
  await suspend(fixture, false);
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
  for (const query of ['?code=x&state=x', '']) {
    const page = await visitor.get(`/sso/${connection}/callback/${query}`);
    assert.match(page.text, 'started in another browser');
  }
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

failures('lets known people of a lapsed domain in, unless deactivated', async (fixture) => {
  const { app } = fixture;
  await logInAs(fixture, { email: GRACE });
  await lapse(fixture, true);
  const { visitor } = await logInAs(fixture, { email: GRACE });
  await lapse(fixture, false);
  assert.is(await personOf(app, visitor), GRACE);

  await deactivate(fixture, true);
  assert.match((await logInAs(fixture, { email: GRACE })).page.text, 'has been deactivated');
  await deactivate(fixture, false);
});

failures('refuses accounts without the claim that the connection requires', async (fixture) => {
  const { app, connection } = fixture;
  const about = { id: ACME_ID, connection_id: connection };
  await app.as(ROOT).sso.update({ ...about, required_claim: 'groups', required_value: '42' });
  for (const [tenant, isRefused] of [
    [undefined, true],
    ['43', true],
    ['42', false],
    [42, false],
    [['41', '42'], false],
  ] as const) {
    const { page } = await logInAs(fixture, {
      email: GRACE,
      ...(tenant !== undefined && { groups: tenant }),
    });
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

failures('shows one page if the provider has a fault, or is away', async (fixture) => {
  const { app, provider } = fixture;
  const elsewhere = await addConnection(app, provider, 2);
  await activate(app, elsewhere, 2);
  await setRows(app, 'sso_connections', { id: elsewhere }, { issuer: `${provider.issuer}/away` });
  await verifyDomain(app, 2, 'globex.test');
  const pages: Page[] = [];
  const faults: ((response: ServerResponse) => unknown)[] = [
    (response) => response.writeHead(500).end(),
    (response) => response.destroy(),
  ];
  for (const answer of faults) {
    provider.state.respond = (path, response) => {
      if (path === '/token') answer(response);
      return path === '/token';
    };
    pages.push((await logInAs(fixture, { email: ADA })).page);
  }
  provider.state.respond = null;
  const visitor = createVisitor(app);
  const callback = await visitProvider(fixture, visitor, { subject: 'someone' });
  await provider.close();
  pages.push(await visitor.get(callback), await visitor.get(`/sso/${elsewhere}/start/`));

  for (const page of pages) {
    assert.is(page.status, 503);
    assert.match(page.text, 'Your identity provider does not answer');
  }
  assert.is((await lastFailure(app))?.reason, 'provider-unavailable');
});

failures.run();
