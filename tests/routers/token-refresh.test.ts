import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
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
  ROOT,
  type TestApp,
} from '../support/test-app.ts';

const tokens = appSuite('tokens.refresh and tokens.verify');

const login = async (app: TestApp, username: string): Promise<string> =>
  (await app.as(null).tokens.create({ username, password: DEMO_PASSWORD })).token;
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

tokens('exchanges a token for a new one, and ends the old one a minute later', async ({ app }) => {
  const old = await login(app, ADA);
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

tokens('verifies valid tokens without using them', async ({ app }) => {
  const token = await login(app, GRACE);
  const before = await rowOf(app, token);
  app.clock.advance(DAY_MS);

  assert.equal(await app.as(null).tokens.verify({ token }), { token });
  assert.equal(await rowOf(app, token), before);
});

tokens('returns the same new token to concurrent refreshes, on all instances', async ({ app }) => {
  const old = await login(app, GRACE);
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

tokens(
  'returns the same new token again within the minute, unless that one is no longer valid',
  async ({ app }) => {
    const first = await login(app, ADA);
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

tokens(
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
    const revoked = await login(app, ADA);
    await app.as(ADA).tokens.revoke({ id: (await rowOf(app, revoked))?.id ?? 0 });
    await refuse(app, revoked, 'revoked');

    const idle = await login(app, ADA);
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

tokens('issues none that outlives a concurrent deactivation', async ({ app }) => {
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

tokens(
  'refreshes a token that is revoked at the same time either before its revocation or not at all',
  async ({ app }) => {
    for (let round = 0; round < 6; round += 1) {
      const token = await login(app, EDSGER);
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

tokens('keeps the name of a token, and ends no other login', async ({ app }) => {
  const { token, id } = await app.as(GRACE).tokens.createNamed({ name: 'Nightly export' });
  const others = await Promise.all(Array.from({ length: 3 }, () => login(app, GRACE)));
  let current = token;
  for (let count = 0; count < 60; count += 1) current = await refresh(app, current);

  const listed = await app.as(GRACE).tokens.list({ limit: 200 });
  const named = listed.filter(({ name }) => name === 'Nightly export');
  assert.is(named.length, 1);
  assert.is(named[0]?.id, (await rowOf(app, current))?.id);
  assert.ok(named[0]?.id !== id);
  for (const other of others) assert.is(await isAccepted(app, other), true);

  const before = others[0] ?? '';
  let unnamed = before;
  for (let count = 0; count < 60; count += 1) unnamed = await refresh(app, unnamed);
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

tokens('is recorded in the audit trail, and stores no token', async ({ app }) => {
  const old = await login(app, ADA);
  const token = await refresh(app, old);
  const [entry] = await app.as(ACME).audit.list({ action: 'token.refresh', target: ADA });

  const [before, after] = [await rowOf(app, old), await rowOf(app, token)];
  assert.equal([entry?.actor, entry?.clients], [ADA, [1]]);
  assert.equal(entry?.details, { id: before?.id, name: '', new_id: after?.id });
  const stored = JSON.stringify([
    await app.db().selectFrom('api_tokens').selectAll().execute(),
    await app.db().selectFrom('audit_entries').selectAll().execute(),
  ]);
  assert.not.ok(stored.includes(old) || stored.includes(token));
  assert.not.ok(Buffer.from(before?.replacement ?? token).includes(token));
});

tokens.run();
