import argon2 from 'argon2';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';

const tokens = appSuite('tokens');

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

tokens.run();
