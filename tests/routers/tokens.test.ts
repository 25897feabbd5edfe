import argon2 from 'argon2';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { newToken } from '../../src/lib/ids.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';

const tokens = appSuite('tokens');

/** Tokens of a user that are newer than those that they have. */
const addTokens = async (app: TestApp, email: string, count: number, nameOf = (_n: number) => '') => {
  const users = app.db().selectFrom('users').select('id').where('email', '=', email);
  const { id } = await users.executeTakeFirstOrThrow();
  const later = new Date(app.clock.now().getTime() + 1);
  const rows = Array.from({ length: count }, (_, n) => ({
    user_id: id,
    name: nameOf(n),
    digest: `${email} ${n}`.padStart(64, '0'),
    created_at: later,
    last_used: later,
  }));
  await app.db().insertInto('api_tokens').values(rows).execute();
};

const login = (app: TestApp, username: string, password = DEMO_PASSWORD) =>
  app.as(null).tokens.create({ username, password });

const sites = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', { headers: { authorization: `Token ${token}` } });

tokens('have 160 random bits, and only their SHA-256 is stored', async ({ app }) => {
  const { token } = await login(app, 'Ada@ACME.test');
  const rows = await app.db().selectFrom('api_tokens').selectAll().execute();

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.not.ok(JSON.stringify(rows).includes(token));
  assert.ok(rows.some((row) => row.digest === tokenDigest(token)));
});

tokens('are new for each login, also by the email alias', async ({ app }) => {
  const first = await login(app, ADA);
  const second = await app.as(null).tokens.createByEmail({ email: ADA, password: DEMO_PASSWORD });
  const aliased = await app.send('POST /jb/api-token-auth/', {
    payload: { email: ADA, password: DEMO_PASSWORD },
  });

  assert.is.not(first.token, second.token);
  assert.match(aliased.json().token, /^[0-9a-f]{40}$/);
});

tokens(
  'are refused with the same error for a wrong password, an unknown or inactive user, and an unknown hash format',
  async ({ app }) => {
    await app.as(ACME).users.create({ email: 'django@acme.test' });
    const hash = 'pbkdf2_sha256$1000$salt$aGFzaA==';
    await app
      .db()
      .updateTable('users')
      .set({ password_hash: hash })
      .where('email', '=', 'django@acme.test')
      .execute();
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
  },
);

tokens('names the missing fields', async ({ app }) => {
  const response = await app.send('POST /api-token-auth/');

  assert.equal(response.json().errors, {
    username: ['This field is required.'],
    password: ['This field is required.'],
  });
});

tokens('record the login, and their use at most once a minute', async ({ app }) => {
  const { token } = await login(app, ADA);
  const lastUsed = async () =>
    (
      await app
        .db()
        .selectFrom('api_tokens')
        .select('last_used')
        .where('digest', '=', tokenDigest(token))
        .executeTakeFirstOrThrow()
    ).last_used.getTime();
  const made = app.clock.now().getTime();

  app.clock.advance(MINUTE_MS / 2);
  await sites(app, token);
  assert.is(await lastUsed(), made);
  app.clock.advance(MINUTE_MS);
  await sites(app, token);
  assert.is(await lastUsed(), app.clock.now().getTime());
  assert.is((await app.as(ACME).users.get({ email: ADA })).last_login?.getTime(), made);
});

tokens('are limited to 50 per user; the oldest are deleted', async ({ app }) => {
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', GRACE)
    .executeTakeFirstOrThrow();
  const past = (n: number) => new Date(app.clock.now().getTime() - n * MINUTE_MS);
  const rows = Array.from({ length: 50 }, (_, n) => ({
    user_id: id,
    digest: tokenDigest(`old ${n}`),
    created_at: past(50 - n),
    last_used: past(50 - n),
  }));
  await app.db().insertInto('api_tokens').values(rows).execute();

  const { token } = await login(app, GRACE);
  const kept = await app.db().selectFrom('api_tokens').select('digest').where('user_id', '=', id).execute();
  const digests = kept.map((row) => row.digest);

  assert.is(kept.length, 50);
  assert.ok(digests.includes(tokenDigest(token)));
  assert.not.ok(digests.includes(tokenDigest('old 0')));
  assert.ok(digests.includes(tokenDigest('old 1')));
});

tokens('are revoked by deactivation, and not restored by activation', async ({ app }) => {
  const { token } = await login(app, GRACE);

  await app.as(ROOT).users.deactivate({ email: GRACE });
  assert.is((await sites(app, token)).statusCode, 401);
  await app.as(ROOT).users.update({ email: GRACE, is_active: true });
  assert.is((await sites(app, token)).statusCode, 401);
});

tokens('are not issued by a login concurrent with a deactivation', async ({ app }) => {
  const email = 'meet@acme.test';
  await app.as(ACME).users.create({ email });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', email).execute();

  const logins = Array.from({ length: 6 }, () => login(app, email).catch(() => null));
  await Promise.all([...logins, app.as(ACME).users.deactivate({ email })]);
  await app.as(ACME).users.update({ email, is_active: true });
  const alive = await app
    .db()
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select('api_tokens.id')
    .where('users.email', '=', email)
    .execute();

  assert.is(alive.length, 0);
});

tokens('upgrade an outdated password hash at login', async ({ app }) => {
  const cheap = await argon2.hash(DEMO_PASSWORD, { memoryCost: 1024, timeCost: 2, parallelism: 1 });
  const hashOf = async () =>
    (
      await app
        .db()
        .selectFrom('users')
        .select('password_hash')
        .where('email', '=', ADA)
        .executeTakeFirstOrThrow()
    ).password_hash ?? '';
  await app.db().updateTable('users').set({ password_hash: cheap }).where('email', '=', ADA).execute();

  await login(app, ADA);

  assert.is(app.hasher.isOutdated(cheap), true);
  assert.is(app.hasher.isOutdated(await hashOf()), false);
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

const sitesAs = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', {
    headers: { authorization: `Token ${token}`, 'x-forwarded-for': '10.1.2.3' },
  });

tokens('named are shown once, authenticate, and record their last use', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'nightly export' });
  app.clock.advance(2 * MINUTE_MS);
  assert.is((await sitesAs(app, token)).statusCode, 200);

  const listed = (await app.as(ADA).tokens.list({})).find((row) => row.id === id);

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.is(listed?.name, 'nightly export');
  assert.is(listed?.last_used.getTime(), app.clock.now().getTime());
  assert.is(listed?.last_address, '127.0.0.1');
  assert.not.ok(JSON.stringify(listed).includes(token));
});

tokens('named have unique names, and are limited to 50', async ({ app }) => {
  await app.as(GRACE).tokens.createNamed({ name: 'a' });
  const twin = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'a' }), 'invalid-input');
  await addTokens(app, GRACE, 49, (n) => `n${n}`);
  const many = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'b' }), 'invalid-input');
  const blank = await rejectsWith(app.as(ADA).tokens.createNamed({ name: '  ' }), 'invalid-input');

  for (const { fields } of [twin, many, blank]) assert.equal(Object.keys(fields ?? {}), ['name']);
});

tokens('named are not deleted by logins', async ({ app }) => {
  const { token } = await app.as(EDSGER).tokens.createNamed({ name: 'kept' });
  await addTokens(app, EDSGER, 60);

  await app.as(null).tokens.create({ username: EDSGER, password: DEMO_PASSWORD });

  assert.is((await sitesAs(app, token)).statusCode, 200);
});

tokens('named do not count as used when another token is used', async ({ app }) => {
  const used = await app.as(ADA).tokens.createNamed({ name: 'used' });
  const { id } = await app.as(ADA).tokens.createNamed({ name: 'unused' });
  const before = app.clock.now().getTime();
  app.clock.advance(5 * 60_000);

  await sitesAs(app, used.token);

  const row = await app
    .db()
    .selectFrom('api_tokens')
    .select('last_used')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.is(row?.last_used.getTime(), before);
});

tokens('named can be revoked only by their owner', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'revoked' });

  await rejectsWith(app.as(GRACE).tokens.revoke({ id }), 'not-found');
  await app.as(ADA).tokens.revoke({ id });

  assert.is((await sitesAs(app, token)).statusCode, 401);
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

  assert.is((await sitesAs(app, doomed.token)).statusCode, 401);
  const left = (await app.as(email).tokens.list({})).filter(({ name }) => name.startsWith('doomed'));
  assert.equal(left, []);
});

tokens('named free their name when they expire', async ({ app }) => {
  await app.renewToken(ACME);
  await app.as(ACME).tokens.createNamed({ name: 'ci' });
  app.clock.advance(91 * DAY_MS);
  const { token } = await app.as(null).tokens.create({ username: ACME, password: DEMO_PASSWORD });

  const made = await app.send('POST /jb/tokens/', {
    payload: { name: 'ci' },
    headers: { authorization: `Token ${token}` },
  });

  assert.is(made.statusCode, 201, made.body);
});

const logIn = async (app: TestApp, username: string): Promise<string> =>
  (await app.as(null).tokens.create({ username, password: DEMO_PASSWORD })).token;

const refreshing = appSuite('tokens.refresh and tokens.verify');

const refresh = async (app: TestApp, token: string): Promise<string> =>
  (await app.as(null).tokens.refresh({ token })).token;

const isAccepted = async (app: TestApp, token: string): Promise<boolean> => {
  const response = await app.send('GET /jb/sites/', { headers: { authorization: `Token ${token}` } });
  return response.statusCode === 200;
};

const rowOf = (app: TestApp, token: string) =>
  app.db().selectFrom('api_tokens').selectAll().where('digest', '=', tokenDigest(token)).executeTakeFirst();

const refuse = async (app: TestApp, token: string, why: string): Promise<void> => {
  for (const name of ['refresh', 'verify'] as const) {
    const problem = await rejectsWith(app.as(null).tokens[name]({ token }), 'invalid-token');
    assert.equal([problem.status, problem.message], [400, 'The token is invalid or expired.'], why);
  }
};

/** As if more than the minute had passed on the database's clock. */
const endGrace = (app: TestApp, token: string) =>
  app
    .db()
    .updateTable('api_tokens')
    .set({ expires_at: app.clock.now() })
    .where('digest', '=', tokenDigest(token))
    .where('expires_at', 'is not', null)
    .executeTakeFirstOrThrow();

refreshing('exchanges a token for a new one, and ends the old one a minute later', async ({ app }) => {
  const old = await logIn(app, ADA);
  const token = await refresh(app, old);

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.is.not(token, old);
  assert.equal([await isAccepted(app, old), await isAccepted(app, token)], [true, true]);
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from expires_at - ${app.clock.now()}::timestamptz)::float as seconds from api_tokens
    where digest = ${tokenDigest(old)}`.execute(app.db());
  const [{ seconds } = { seconds: 0 }] = rows;
  assert.ok(seconds > 30 && seconds <= 60, `${seconds} s`);
  assert.is((await rowOf(app, token))?.expires_at, null);

  await endGrace(app, old);
  assert.equal([await isAccepted(app, old), await isAccepted(app, token)], [false, true]);
  await refuse(app, old, 'after the minute');
});

refreshing('verifies valid tokens without using them', async ({ app }) => {
  const token = await logIn(app, GRACE);
  const before = await rowOf(app, token);
  app.clock.advance(DAY_MS);

  assert.equal(await app.as(null).tokens.verify({ token }), { token });
  assert.equal(await rowOf(app, token), before);
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
  const { id } = (await rowOf(app, old)) ?? {};
  const entries = await app.as(ROOT).audit.list({ action: 'token.refresh', target: GRACE });
  assert.is(entries.filter(({ details }) => details.id === id).length, 1);
});

refreshing(
  'returns the same new token again within the minute, unless that one is no longer valid',
  async ({ app }) => {
    const first = await logIn(app, ADA);
    const second = await refresh(app, first);
    assert.is(await refresh(app, first), second);

    const third = await refresh(app, second);
    assert.is(await refresh(app, first), second, 'the second is valid for its own minute');
    await endGrace(app, second);
    await rejectsWith(app.as(null).tokens.refresh({ token: first }), 'invalid-token');
    assert.is(await isAccepted(app, third), true);

    const revoked = await refresh(app, third);
    const row = await rowOf(app, revoked);
    await app.as(ADA).tokens.revoke({ id: row?.id ?? 0 });
    await rejectsWith(app.as(null).tokens.refresh({ token: third }), 'invalid-token');
    assert.is(await rowOf(app, revoked), undefined);
  },
);

refreshing(
  'refuses unknown, malformed, revoked and idle tokens, and those of inactive users, with one error',
  async ({ app }) => {
    for (const unknown of [
      newToken(),
      'eyJhbGciOiJIUzI1NiJ9.e30.x',
      'x'.repeat(10_000),
      '\0',
      newToken().toUpperCase(),
    ])
      await refuse(app, unknown, unknown);
    const revoked = await logIn(app, ADA);
    await app.as(ADA).tokens.revoke({ id: (await rowOf(app, revoked))?.id ?? 0 });
    await refuse(app, revoked, 'revoked');

    const idle = await logIn(app, ADA);
    const lastUsed = new Date(app.clock.now().getTime() - 90 * DAY_MS - 1);
    await app
      .db()
      .updateTable('api_tokens')
      .set({ last_used: lastUsed })
      .where('digest', '=', tokenDigest(idle))
      .execute();
    await refuse(app, idle, 'idle');

    const email = 'leaving@acme.test';
    const token = await addUserWithToken(app, email);
    await app.as(ACME).users.deactivate({ email });
    await refuse(app, token, 'deactivated');
    // Not even a row that a deactivation missed.
    const kept = await addUserWithToken(app, 'inactive@acme.test');
    await app
      .db()
      .updateTable('users')
      .set({ is_active: false })
      .where('email', '=', 'inactive@acme.test')
      .execute();
    await refuse(app, kept, 'inactive');
  },
);

const addUserWithToken = async (app: TestApp, email: string): Promise<string> => {
  await app.as(ROOT).users.create({ email, client: 1 });
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  const token = newToken();
  const now = app.clock.now();
  const row = { user_id: id, digest: tokenDigest(token), created_at: now, last_used: now };
  await app.db().insertInto('api_tokens').values(row).execute();
  return token;
};

refreshing('issues none that outlives a concurrent deactivation', async ({ app }) => {
  for (let round = 0; round < 4; round += 1) {
    const email = `race${round}@acme.test`;
    const token = await addUserWithToken(app, email);
    const attempts = Array.from({ length: 3 }, () => refresh(app, token).catch(() => null));
    await Promise.all([...attempts, app.as(ROOT).users.deactivate({ email })]);

    const left = app
      .db()
      .selectFrom('api_tokens')
      .innerJoin('users', 'users.id', 'api_tokens.user_id')
      .select('api_tokens.id')
      .where('users.email', '=', email);
    assert.equal(await left.execute(), []);
  }
});

refreshing(
  'refreshes a token that is revoked at the same time either before its revocation or not at all',
  async ({ app }) => {
    for (let round = 0; round < 6; round += 1) {
      const token = await logIn(app, EDSGER);
      const id = (await rowOf(app, token))?.id ?? 0;
      const [refreshed] = await Promise.all([
        refresh(app, token).catch(() => null),
        app.as(EDSGER).tokens.revoke({ id }),
      ]);

      assert.is(await rowOf(app, token), undefined);
      if (refreshed !== null) assert.is(await isAccepted(app, refreshed), true);
    }
  },
);

refreshing('keeps the name of a token, and ends no other login', async ({ app }) => {
  const { token, id } = await app.as(GRACE).tokens.createNamed({ name: 'Nightly export' });
  const others = await Promise.all(Array.from({ length: 3 }, () => logIn(app, GRACE)));
  let current = token;
  // Of 50 logins, the oldest end.
  await addTokens(app, GRACE, 44);
  for (let count = 0; count < 10; count += 1) current = await refresh(app, current);

  const listed = await app.as(GRACE).tokens.list({ limit: 200 });
  const named = listed.filter(({ name }) => name === 'Nightly export');
  assert.is(named.length, 1);
  assert.is(named[0]?.id, (await rowOf(app, current))?.id);
  assert.ok(named[0]?.id !== id);
  for (const other of others) assert.is(await isAccepted(app, other), true);

  const before = others[0] ?? '';
  let unnamed = before;
  for (let count = 0; count < 10; count += 1) unnamed = await refresh(app, unnamed);
  for (const other of others.slice(1)) assert.is(await isAccepted(app, other), true);
  await app
    .db()
    .updateTable('api_tokens')
    .set({ expires_at: app.clock.now() })
    .where('expires_at', 'is not', null)
    .execute();
  await refresh(app, unnamed);
  const ended = sql<boolean>`expires_at <= ${app.clock.now()}::timestamptz`;
  const rest = app.db().selectFrom('api_tokens').innerJoin('users', 'users.id', 'api_tokens.user_id');
  assert.equal(await rest.select('api_tokens.id').where('email', '=', GRACE).where(ended).execute(), []);
});

refreshing('is recorded in the audit trail, and stores no token', async ({ app }) => {
  const old = await logIn(app, ADA);
  const token = await refresh(app, old);
  const [entry] = await app.as(ACME).audit.list({ action: 'token.refresh', target: ADA });

  const [before, after] = [await rowOf(app, old), await rowOf(app, token)];
  assert.equal([entry?.actor, entry?.clients], [ADA, [1]]);
  assert.equal(entry?.details, { id: before?.id, new_id: after?.id });
  const stored = JSON.stringify([
    await app.db().selectFrom('api_tokens').selectAll().execute(),
    await app.db().selectFrom('audit_entries').selectAll().execute(),
  ]);
  assert.not.ok(stored.includes(old) || stored.includes(token));
  assert.not.ok(Buffer.from(before?.replacement ?? token).includes(token));
});

tokens.run();
refreshing.run();
