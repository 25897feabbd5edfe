import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';

const named = appSuite('tokens by name');

const sites = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', {
    headers: { authorization: `Token ${token}`, 'x-forwarded-for': '10.1.2.3' },
  });

named('are shown once, authenticate, and record their last use', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'nightly export' });
  app.clock.advance(2 * MINUTE_MS);
  assert.is((await sites(app, token)).statusCode, 200);

  const listed = (await app.as(ADA).tokens.list({})).find((row) => row.id === id);

  assert.match(token, /^[0-9a-f]{40}$/);
  assert.is(listed?.name, 'nightly export');
  assert.is(listed?.last_used.getTime(), app.clock.now().getTime());
  assert.is(listed?.last_address, '127.0.0.1');
  assert.not.ok(JSON.stringify(listed).includes(token));
});

named('have unique names, and are limited to 50', async ({ app }) => {
  await app.as(GRACE).tokens.createNamed({ name: 'a' });
  const twin = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'a' }), 'invalid-input');
  for (let n = 1; n < 50; n += 1) await app.as(GRACE).tokens.createNamed({ name: `n${n}` });
  const many = await rejectsWith(app.as(GRACE).tokens.createNamed({ name: 'b' }), 'invalid-input');
  const blank = await rejectsWith(app.as(ADA).tokens.createNamed({ name: '  ' }), 'invalid-input');

  for (const { fields } of [twin, many, blank]) assert.equal(Object.keys(fields ?? {}), ['name']);
});

named('are not deleted by logins', async ({ app }) => {
  const { token } = await app.as(EDSGER).tokens.createNamed({ name: 'kept' });
  const { id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', EDSGER)
    .executeTakeFirstOrThrow();
  const later = new Date(app.clock.now().getTime() + 1);
  const logins = Array.from({ length: 60 }, (_, n) => ({
    user_id: id,
    digest: `${n}`.padStart(64, '0'),
    created_at: later,
    last_used: later,
  }));
  await app.db().insertInto('api_tokens').values(logins).execute();

  await app.as(null).tokens.create({ username: EDSGER, password: DEMO_PASSWORD });

  assert.is((await sites(app, token)).statusCode, 200);
});

named('do not count as used when another token is used', async ({ app }) => {
  const used = await app.as(ADA).tokens.createNamed({ name: 'used' });
  const { id } = await app.as(ADA).tokens.createNamed({ name: 'unused' });
  const before = app.clock.now().getTime();
  app.clock.advance(5 * 60_000);

  await sites(app, used.token);

  const row = await app
    .db()
    .selectFrom('api_tokens')
    .select('last_used')
    .where('id', '=', id)
    .executeTakeFirst();
  assert.is(row?.last_used.getTime(), before);
});

named('can be revoked only by their owner', async ({ app }) => {
  const { token, id } = await app.as(ADA).tokens.createNamed({ name: 'revoked' });

  await rejectsWith(app.as(GRACE).tokens.revoke({ id }), 'not-found');
  await app.as(ADA).tokens.revoke({ id });

  assert.is((await sites(app, token)).statusCode, 401);
  await rejectsWith(app.as(ADA).tokens.revoke({ id }), 'not-found');
});

named('are not created if the credential is revoked concurrently', async ({ app }) => {
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

named('free their name when they expire', async ({ app }) => {
  await app.as(ACME).tokens.createNamed({ name: 'ci' });
  app.clock.advance(91 * DAY_MS);
  const { token } = await app.as(null).tokens.create({ username: ACME, password: DEMO_PASSWORD });

  const made = await app.send('POST /jb/tokens/', {
    payload: { name: 'ci' },
    headers: { authorization: `Token ${token}` },
  });

  assert.is(made.statusCode, 201, made.body);
});

named.run();
