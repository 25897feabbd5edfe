import argon2 from 'argon2';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { newToken } from '../../src/lib/ids.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf, setRows, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';

const tokens = appSuite('tokens');

/** Tokens of a user that are newer than those that they have. */
const addTokens = async (app: TestApp, email: string, count: number, nameOf = (_n: number) => '') => {
  const id = await userId(app, email);
  const later = new Date(app.clock.now().getTime() + 1);
  const rows = Array.from({ length: count }, (_, n) => ({
    user_id: id,
    name: nameOf(n),
    digest: `${email} ${n}`.padStart(64, '0'),
    created_at: later,
    last_used: later,
  }));
  await addRows(app, 'api_tokens', rows);
};

const tokenRow = async (app: TestApp, token: string) =>
  (await rowsOf(app, 'api_tokens', { digest: tokenDigest(token) }))[0];

const login = (app: TestApp, username: string, password = DEMO_PASSWORD) =>
  app.as(null).tokens.create({ username, password });

/** An address that no trusted proxy forwards counts for nothing. */
const sites = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', {
    headers: { authorization: `Token ${token}`, 'x-forwarded-for': '10.1.2.3' },
  });

tokens('have 160 random bits, are new for each login, and only their SHA-256 is stored', async ({ app }) => {
  const { token } = await login(app, 'Ada@ACME.test');
  const second = await app.as(null).tokens.createByEmail({ email: ADA, password: DEMO_PASSWORD });
  const rows = await rowsOf(app, 'api_tokens');

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.is.not(second.token, token);
  assert.not.ok(JSON.stringify(rows).includes(token));
  assert.ok(rows.some((row) => row.digest === tokenDigest(token)));
});

tokens('are refused with one error for whatever is wrong with a login', async ({ app }) => {
  await app.as(ACME).users.create({ email: 'django@acme.test' });
  // Of an unknown format.
  const hash = 'pbkdf2_sha256$1000$salt$aGFzaA==';
  await setRows(app, 'users', { email: 'django@acme.test' }, { password_hash: hash });
  for (const [username, password] of [
    [GRACE, 'wrong'],
    ['unknown@acme.test', DEMO_PASSWORD],
    [IDLE, DEMO_PASSWORD],
    ['not an address \0', DEMO_PASSWORD],
    ['half \ud800 of a pair', DEMO_PASSWORD],
    ['django@acme.test', DEMO_PASSWORD],
  ] as const) {
    const problem = await rejectsWith(login(app, username, password), 'invalid-credentials');
    assert.is(problem.message, 'Unable to log in with provided credentials.');
    assert.is(problem.status, 400);
  }
});

tokens('record the login, and their use at most once a minute', async ({ app }) => {
  const { token } = await login(app, ADA);
  const lastUsed = async () => (await tokenRow(app, token))?.last_used;
  const made = app.clock.now();

  app.clock.advance(MINUTE_MS / 2);
  await sites(app, token);
  assert.equal(await lastUsed(), made);
  app.clock.advance(MINUTE_MS);
  await sites(app, token);
  assert.equal(await lastUsed(), app.clock.now());
  assert.equal((await app.as(ACME).users.get({ email: ADA })).last_login, made);
});

tokens('are limited to 50 per user beside named ones; the oldest are deleted', async ({ app }) => {
  const user_id = await userId(app, GRACE);
  const named = await app.as(GRACE).tokens.createNamed({ name: 'kept' });
  const past = (n: number) => new Date(app.clock.now().getTime() - n * MINUTE_MS);
  const rows = Array.from({ length: 50 }, (_, n) => ({
    user_id,
    digest: tokenDigest(`old ${n}`),
    created_at: past(50 - n),
    last_used: past(50 - n),
  }));
  await setRows(app, 'api_tokens', { user_id, name: '' }, { created_at: past(99), last_used: past(99) });
  await addRows(app, 'api_tokens', rows);

  const { token } = await login(app, GRACE);
  const digests = await valuesOf(app, 'api_tokens', 'digest', { user_id, name: '' });

  assert.is(digests.length, 50);
  assert.ok(digests.includes(tokenDigest(token)));
  assert.not.ok(digests.includes(tokenDigest('old 0')));
  assert.ok(digests.includes(tokenDigest('old 1')));
  assert.is((await sites(app, named.token)).statusCode, 200);
});

tokens('are not issued by a login concurrent with a deactivation', async ({ app }) => {
  const email = 'meet@acme.test';
  await app.as(ACME).users.create({ email });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await setRows(app, 'users', { email }, { password_hash: hash });

  const logins = Array.from({ length: 6 }, () => login(app, email).catch(() => null));
  await Promise.all([...logins, app.as(ACME).users.deactivate({ email })]);
  await app.as(ACME).users.update({ email, is_active: true });

  assert.equal(await rowsOf(app, 'api_tokens', { user_id: await userId(app, email) }), []);
});

tokens('upgrade an outdated password hash at login', async ({ app }) => {
  const cheap = await argon2.hash(DEMO_PASSWORD, { memoryCost: 1024, timeCost: 2, parallelism: 1 });
  await setRows(app, 'users', { email: ADA }, { password_hash: cheap });

  await login(app, ADA);

  const { password_hash } = await rowOf(app, 'users', { email: ADA });
  assert.is(app.hasher.isOutdated(cheap), true);
  assert.is(app.hasher.isOutdated(password_hash ?? ''), false);
  assert.ok((await login(app, ADA)).token);
});

tokens('expire 90 days after their last use', async ({ app }) => {
  const { token } = await login(app, ADA);

  app.clock.advance(80 * DAY_MS);
  assert.is((await sites(app, token)).statusCode, 200);
  app.clock.advance(80 * DAY_MS);
  assert.is((await sites(app, token)).statusCode, 200);
  app.clock.advance(90 * DAY_MS + 1);
  assert.is((await sites(app, token)).statusCode, 401);
});

tokens('named are shown once, authenticate, and record their last use', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'nightly export' });
  app.clock.advance(2 * MINUTE_MS);
  assert.is((await sites(app, token)).statusCode, 200);

  const listed = (await app.as(ADA).tokens.list({})).find((row) => row.id === id);

  assert.match(token, /^stw_[A-Za-z0-9]{36}$/);
  assert.is(listed?.name, 'nightly export');
  assert.is(listed?.last_used.getTime(), app.clock.now().getTime());
  assert.is(listed?.last_address, '127.0.0.1');
  assert.not.ok(JSON.stringify(listed).includes(token));
});

tokens('named have unique names, and are limited to 50', async ({ app }) => {
  await app.renewToken(GRACE);
  await app.as(GRACE).tokens.createNamed({ name: 'a' });
  const twin = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'a' }), 'invalid-input');
  await addTokens(app, GRACE, 49, (n) => `n${n}`);
  const many = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'b' }), 'invalid-input');
  const blank = await rejectsWith(app.as(ADA).tokens.createNamed({ name: '  ' }), 'invalid-input');

  for (const { fields } of [twin, many, blank]) assert.equal(Object.keys(fields ?? {}), ['name']);
});

tokens('named can be revoked only by their owner', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'revoked' });

  await rejectsWith(app.as(GRACE).tokens.revoke({ id }), 'not-found');
  await app.as(ADA).tokens.revoke({ id });

  assert.is((await sites(app, token)).statusCode, 401);
  await rejectsWith(app.as(ADA).tokens.revoke({ id }), 'not-found');
});

tokens('named are not created if the credential is revoked concurrently', async ({ app }) => {
  const email = ADA;
  app.clock.advance(1000);
  const doomed = await app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD });
  const make = (n: number) =>
    app.send('POST /jb/tokens/', {
      payload: { name: `doomed ${n}` },
      headers: { authorization: `Token ${doomed.token}` },
    });

  const change = app
    .as(email)
    .passwords.change({ password: DEMO_PASSWORD, new_password: 'violet-harbor-92-kite' });
  await Promise.all([change, ...Array.from({ length: 10 }, (_, n) => make(n))]);

  assert.is((await sites(app, doomed.token)).statusCode, 401);
  const left = (await app.as(email).tokens.list({})).filter(({ name }) => name.startsWith('doomed'));
  assert.equal(left, []);
});

tokens('named free their name when they expire', async ({ app }) => {
  await app.renewToken(ACME);
  await app.as(ACME).tokens.createNamed({ name: 'ci' });
  app.clock.advance(91 * DAY_MS);
  const { token } = await app.as(null).tokens.create({ username: ACME, password: DEMO_PASSWORD });

  const headers = { authorization: `Token ${token}` };
  const made = await app.send('POST /jb/tokens/', { payload: { name: 'ci' }, headers });

  assert.is(made.statusCode, 201, made.body);
});

const logIn = async (app: TestApp, username: string): Promise<string> =>
  (await app.as(null).tokens.create({ username, password: DEMO_PASSWORD })).token;

const refreshing = appSuite('tokens.refresh and tokens.verify');

const refresh = async (app: TestApp, token: string): Promise<string> =>
  (await app.as(null).tokens.refresh({ token })).token;

const isAccepted = async (app: TestApp, token: string): Promise<boolean> =>
  (await sites(app, token)).statusCode === 200;

const refuse = async (app: TestApp, token: string, why: string): Promise<void> => {
  for (const name of ['refresh', 'verify'] as const) {
    const problem = await rejectsWith(app.as(null).tokens[name]({ token }), 'invalid-token');
    assert.equal([problem.status, problem.message], [400, 'The token is invalid or expired.'], why);
  }
};

/** As if more than the minute had passed on the database's clock. */
const endGrace = (app: TestApp, token: string) =>
  setRows(app, 'api_tokens', { digest: tokenDigest(token) }, { expires_at: app.clock.now() });

refreshing('exchanges a token for a new one, and ends the old one a minute later', async ({ app }) => {
  const old = await logIn(app, ADA);
  const token = await refresh(app, old);

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.is.not(token, old);
  assert.equal([await isAccepted(app, old), await isAccepted(app, token)], [true, true]);
  const seconds = (Number((await tokenRow(app, old))?.expires_at) - app.clock.now().getTime()) / 1000;
  assert.ok(seconds > 30 && seconds <= 60, `${seconds} s`);
  assert.is((await tokenRow(app, token))?.expires_at, null);

  await endGrace(app, old);
  assert.equal([await isAccepted(app, old), await isAccepted(app, token)], [false, true]);
  await refuse(app, old, 'after the minute');
});

refreshing('verifies valid tokens without using them', async ({ app }) => {
  const token = await logIn(app, GRACE);
  const before = await tokenRow(app, token);
  app.clock.advance(DAY_MS);

  assert.equal(await app.as(null).tokens.verify({ token }), { token });
  assert.equal(await tokenRow(app, token), before);
});

refreshing('returns the same new token to concurrent refreshes, on all instances', async ({ app }) => {
  const old = await logIn(app, GRACE);
  const twin = await app.startTwin();
  const send = ({ server }: Pick<TestApp, 'server'>) =>
    server.inject({ method: 'POST', url: '/api/v1/jb/api-token-refresh/', payload: { token: old } });
  const responses = await Promise.all([app, twin, app, twin, app, twin].map(send));
  await twin.close();

  const issued = new Set(responses.map((response) => response.json().token));
  assert.is(issued.size, 1, responses[0]?.body);
  const { id } = (await tokenRow(app, old)) ?? {};
  const entries = await app.as(ROOT).audit.list({ action: 'token.refresh', target: GRACE });
  assert.is(entries.filter(({ details }) => details.id === id).length, 1);
});

refreshing('returns the same new token within the minute, unless it is invalid by then', async ({ app }) => {
  const first = await logIn(app, ADA);
  const second = await refresh(app, first);
  assert.is(await refresh(app, first), second);

  const third = await refresh(app, second);
  assert.is(await refresh(app, first), second, 'the second is valid for its own minute');
  await endGrace(app, second);
  await rejectsWith(app.as(null).tokens.refresh({ token: first }), 'invalid-token');
  assert.is(await isAccepted(app, third), true);

  const revoked = await refresh(app, third);
  const row = await tokenRow(app, revoked);
  await app.as(ADA).tokens.revoke({ id: row?.id ?? 0 });
  await rejectsWith(app.as(null).tokens.refresh({ token: third }), 'invalid-token');
  assert.is(await tokenRow(app, revoked), undefined);
});

refreshing('refuses unknown, revoked, idle and inactive tokens with one error', async ({ app }) => {
  const unknown = [newToken(), 'eyJhbGciOiJIUzI1NiJ9.e30.x', 'x'.repeat(10_000), '\0'];
  for (const token of [...unknown, newToken().toUpperCase()]) await refuse(app, token, token);
  const revoked = await logIn(app, ADA);
  await app.as(ADA).tokens.revoke({ id: (await tokenRow(app, revoked))?.id ?? 0 });
  await refuse(app, revoked, 'revoked');

  const idle = await logIn(app, ADA);
  const lastUsed = new Date(app.clock.now().getTime() - 90 * DAY_MS - 1);
  await setRows(app, 'api_tokens', { digest: tokenDigest(idle) }, { last_used: lastUsed });
  await refuse(app, idle, 'idle');

  const email = 'leaving@acme.test';
  const token = await addUserWithToken(app, email);
  await app.as(ACME).users.deactivate({ email });
  await refuse(app, token, 'deactivated');
  // Not even a row that a deactivation missed.
  const kept = await addUserWithToken(app, 'inactive@acme.test');
  await setRows(app, 'users', { email: 'inactive@acme.test' }, { is_active: false });
  await refuse(app, kept, 'inactive');
});

const addUserWithToken = async (app: TestApp, email: string): Promise<string> => {
  await app.as(ROOT).users.create({ email, client: 1 });
  return app.tokenOf(email);
};

refreshing('issues none that outlives a concurrent deactivation', async ({ app }) => {
  for (let round = 0; round < 4; round += 1) {
    const email = `race${round}@acme.test`;
    const token = await addUserWithToken(app, email);
    const attempts = Array.from({ length: 3 }, () => refresh(app, token).catch(() => null));
    await Promise.all([...attempts, app.as(ROOT).users.deactivate({ email })]);

    assert.equal(await rowsOf(app, 'api_tokens', { user_id: await userId(app, email) }), []);
  }
});

refreshing('keeps the name of a token, and ends no other login', async ({ app }) => {
  const { token, id } = await app.as(GRACE).tokens.createNamed({ name: 'Nightly export' });
  const [first = '', ...others] = await Promise.all(Array.from({ length: 4 }, () => logIn(app, GRACE)));
  // Of 50 logins, the oldest end.
  await addTokens(app, GRACE, 44);
  const refreshOften = async (from: string): Promise<string> => {
    let current = from;
    for (let count = 0; count < 10; count += 1) current = await refresh(app, current);
    return current;
  };
  const current = await refreshOften(token);
  await refreshOften(first);

  const listed = await app.as(GRACE).tokens.list({ limit: 200 });
  const named = listed.filter(({ name }) => name === 'Nightly export');
  assert.is(named.length, 1);
  assert.is(named[0]?.id, (await tokenRow(app, current))?.id);
  assert.is.not(named[0]?.id, id);
  for (const other of others) assert.is(await isAccepted(app, other), true);
});

refreshing('deletes the tokens of the user that have ended', async ({ app }) => {
  const first = await logIn(app, GRACE);
  const second = await refresh(app, first);
  await endGrace(app, first);
  await refresh(app, second);

  assert.is(await tokenRow(app, first), undefined);
});

refreshing('is recorded in the audit trail, and stores no token', async ({ app }) => {
  const old = await logIn(app, ADA);
  const token = await refresh(app, old);
  const [entry] = await app.as(ACME).audit.list({ action: 'token.refresh', target: ADA });

  const [before, after] = [await tokenRow(app, old), await tokenRow(app, token)];
  assert.equal([entry?.actor, entry?.clients], [ADA, [1]]);
  assert.equal(entry?.details, { id: before?.id, new_id: after?.id });
  const stored = JSON.stringify([await rowsOf(app, 'api_tokens'), await rowsOf(app, 'audit_entries')]);
  assert.not.ok(stored.includes(old) || stored.includes(token));
  assert.not.ok(Buffer.from(before?.replacement ?? token).includes(token));
});

tokens.run();
refreshing.run();
