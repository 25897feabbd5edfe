import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { runConcurrently } from '../../support/database-sessions.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { rowsOf, valuesOf } from '../../support/rows.ts';
import { enroll, nextCode, setFactorPolicy } from '../../support/second-factors.ts';
import { ACME_ID, actionsOf, logInWithSso, personOf, ssoSuite } from '../../support/sso.ts';
import { ACME } from '../../support/test-app.ts';

const logouts = ssoSuite('logout by the provider');
const EMAIL = 'leaver@acme.test';

logouts.before(async ({ app, provider }) => {
  await app.as(ACME).users.create({ email: EMAIL });
  provider.people.set('leaver', { email: EMAIL });
});

type Fixture = Parameters<typeof logInWithSso>[0];

/** Two browsers with a session each, and their ids at the provider. */
const logInTwice = async (fixture: Fixture) => {
  const first = await logInWithSso(fixture, { subject: 'leaver' });
  const second = await logInWithSso(fixture, { subject: 'leaver' });
  const all = await valuesOf(fixture.app, 'sessions', 'sid', { connection_id: fixture.connection });
  const sids = all.slice(-2).map((sid) => sid ?? '');
  return { browsers: [first.visitor, second.visitor], sids };
};

const send = ({ app, connection }: Fixture, logout_token: string) =>
  app.server.inject({
    method: 'POST',
    url: `/sso/${connection}/backchannel-logout/`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ logout_token }).toString(),
  });

const whoIn = (fixture: Fixture, browsers: Parameters<typeof personOf>[1][]) =>
  Promise.all(browsers.map((browser) => personOf(fixture.app, browser)));

logouts('ends the session that a token names, once', async (fixture) => {
  const { browsers, sids } = await logInTwice(fixture);
  assert.match(sids[0] ?? '', /.{8}/);
  assert.not.equal(sids[0], sids[1]);
  const token = await fixture.provider.logoutToken({ sid: sids[0], sub: 'leaver' });
  assert.is((await send(fixture, token)).statusCode, 200);
  assert.equal(await whoIn(fixture, browsers), [null, EMAIL]);

  const replayed = await send(fixture, token);
  assert.equal([replayed.statusCode, replayed.json().error], [400, 'invalid_request']);
  assert.match(replayed.json().error_description, 'used before');
  assert.is(replayed.headers['cache-control'], 'no-store');
  const [entry] = await actionsOf(fixture.app, { target: EMAIL, action: 'session.end-by-provider' });
  assert.equal(entry?.details, { connection: fixture.connection, name: 'Acme ID' });
});

logouts('ends all sessions of the person without a session', async (fixture) => {
  const { browsers } = await logInTwice(fixture);
  const tokens = await Promise.all([1, 2].map(() => fixture.provider.logoutToken({ sub: 'someone else' })));
  for (const token of tokens) assert.is((await send(fixture, token)).statusCode, 200);
  assert.equal(await whoIn(fixture, browsers), [EMAIL, EMAIL]);
  assert.is((await send(fixture, await fixture.provider.logoutToken({ sub: 'leaver' }))).statusCode, 200);
  assert.equal(await whoIn(fixture, browsers), [null, null]);
});

logouts('counts a token once of many at the same time', async (fixture) => {
  const token = await fixture.provider.logoutToken({ sub: 'leaver' });
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(fixture, token)));
  assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
});

const seconds = () => Math.floor(Date.now() / 1000);

for (const [name, claims] of [
  ['for another service', { aud: 'another-service' }],
  ['of another issuer', { iss: 'https://evil.example' }],
  ['that is old', { iat: seconds() - 3600, exp: undefined }],
  ['that has expired', { exp: seconds() - 120 }],
  ['without an event', { events: {} }],
  ['of another event', { events: { 'http://schemas.openid.net/event/other': {} } }],
  ['with a nonce, as an ID token has', { nonce: 'n' }],
  ['without an id', { jti: undefined }],
  ['that names nobody', { sub: undefined }],
  ['with a session that no database can store', { sub: undefined, sid: 'a\0b' }],
] as const)
  logouts(`refuses a token ${name}`, async (fixture) => {
    const { browsers } = await logInTwice(fixture);
    const answer = await send(fixture, await fixture.provider.logoutToken({ sub: 'leaver', ...claims }));
    assert.equal([answer.statusCode, answer.json().error], [400, 'invalid_request']);
    assert.equal(await whoIn(fixture, browsers), [EMAIL, EMAIL]);
  });

logouts('refuses tokens that are none, are unsigned, or have another signature', async (fixture) => {
  const token = await fixture.provider.logoutToken({ sub: 'leaver' });
  const payload = token.split('.')[1];
  const header = Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url');
  for (const forged of ['', 'x', `${header}.${payload}.`, `${token.slice(0, -8)}AAAAAAAA`])
    assert.is((await send(fixture, forged)).statusCode, 400, forged);
});

logouts('ends the session that the page in a frame names', async (fixture) => {
  const { app, provider, connection } = fixture;
  const { browsers, sids } = await logInTwice(fixture);
  const visit = (query: Record<string, string>) =>
    createVisitor(app).get(`/sso/${connection}/frontchannel-logout/?${new URLSearchParams(query)}`);
  const { issuer: iss } = provider;
  const refused = [{}, { iss }, { iss, sid: '' }, { iss, sid: '\0' }];
  for (const query of [...refused, { iss: 'https://evil.example', sid: sids[0] ?? '' }])
    assert.is((await visit(query as Record<string, string>)).status, 403);
  assert.equal(await whoIn(fixture, browsers), [EMAIL, EMAIL]);
  const page = await visit({ iss, sid: sids[0] ?? '' });

  assert.is(page.status, 200);
  assert.match(String(page.headers['content-security-policy']), `frame-ancestors ${iss}`);
  assert.equal(await whoIn(fixture, browsers), [null, EMAIL]);
});

/** A browser in which a login waits for a code, and a token that ends it. */
const beginLogin = async (fixture: Fixture, name: string) => {
  const { app, provider, connection } = fixture;
  const email = `${name}@acme.test`;
  await app.as(ACME).users.create({ email });
  provider.people.set(name, { email });
  await logInWithSso(fixture, { subject: name });
  const { secret } = await enroll(app, email);
  await setFactorPolicy(app, ACME_ID, { policy: 'required', daysAgo: 30 });
  const { visitor } = await logInWithSso(fixture, { subject: name });
  const sids = await valuesOf(app, 'login_challenges', 'sid', { connection_id: connection });
  const token = await provider.logoutToken({ sid: sids.at(-1) ?? '' });
  await visitor.get('/login/code/');
  await setFactorPolicy(app, ACME_ID, { policy: 'off' });
  return { visitor, token, enter: () => visitor.submit('/login/code/', { code: nextCode(app, secret) }) };
};

logouts('ends a login that waits for the second factor', async (fixture) => {
  const { visitor, token, enter } = await beginLogin(fixture, 'waits');
  assert.is((await send(fixture, token)).statusCode, 200);
  await enter();

  assert.is(await personOf(fixture.app, visitor), null);
  assert.equal(await rowsOf(fixture.app, 'login_challenges', { connection_id: fixture.connection }), []);
});

logouts('ends a login whose second factor is entered at the same time', async (fixture) => {
  const { visitor, token, enter } = await beginLogin(fixture, 'hurries');
  await runConcurrently<unknown>(fixture.app, 'sessions', [enter, () => send(fixture, token)]);

  assert.is(await personOf(fixture.app, visitor), null);
});

logouts('ends nothing of another connection, or one that is gone', async (fixture) => {
  const { browsers } = await logInTwice(fixture);
  const token = await fixture.provider.logoutToken({ sub: 'leaver' });
  const answer = await send({ ...fixture, connection: 999 }, token);
  assert.is(answer.statusCode, 400);
  assert.equal(await whoIn(fixture, browsers), [EMAIL, EMAIL]);
});

logouts('ends the sessions of an identity that an admin unlinks', async (fixture) => {
  const { browsers } = await logInTwice(fixture);
  const [identity] = await fixture.app.as(ACME).users.identities({ email: EMAIL });
  await fixture.app.as(ACME).users.unlinkIdentity({ email: EMAIL, identity_id: identity?.id ?? 0 });
  assert.equal(await whoIn(fixture, browsers), [null, null]);
  assert.equal(await fixture.app.as(ACME).users.identities({ email: EMAIL }), []);
});

logouts('checks no more than 300 refused tokens of a network in 15 minutes', async (fixture) => {
  const { app, provider } = fixture;
  await sql`delete from rate_limits`.execute(app.db());
  for (let sent = 0; sent < 310; sent += 1) assert.is((await send(fixture, 'made up')).statusCode, 400);
  assert.match((await send(fixture, 'made up')).json().error_description, 'Too many');
  const right = await provider.logoutToken({ sub: 'leaver' });
  assert.is((await send(fixture, right)).statusCode, 200, 'a right one is not limited');
  const { page } = await logInWithSso(fixture, { subject: 'leaver' });
  assert.is(page.status, 303, 'logins are counted apart');
  await sql`delete from rate_limits`.execute(app.db());
});

logouts.run();
