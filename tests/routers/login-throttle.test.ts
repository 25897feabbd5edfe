import * as assert from 'uvu/assert';
import { COST, makeArgon2Hash } from '../../src/adapters/hashing/argon2-hash.ts';
import { createApp } from '../../src/app.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { hashKey } from '../../src/services/rate-limits/window-counter.ts';
import { appSuite } from '../support/app-suite.ts';
import { rejectsWith } from '../support/rejects-with.ts';
import { ADA, DEMO_PASSWORD, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';
import { CHEAP_HASH } from '../support/test-server.ts';

const throttle = appSuite('login throttle');

const send = (app: Pick<TestApp, 'server'>, username: string, password: string, remoteAddress: string) =>
  app.server.inject({
    method: 'POST',
    url: '/api/v1/api-token-auth/',
    payload: { username, password },
    remoteAddress,
  });

throttle(
  'refuses the 11th login after ten failures, even with the right password, with Retry-After',
  async ({ app }) => {
    for (let n = 0; n < 10; n += 1) {
      assert.is((await send(app, ADA, 'wrong', '10.0.0.1')).statusCode, 400);
    }
    const refused = await send(app, ADA.toUpperCase(), DEMO_PASSWORD, '10.0.0.2');

    assert.is(refused.statusCode, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.ok(Number(refused.headers['retry-after']) <= 15 * 60);
  },
);

throttle('is cleared by a success', async ({ app }) => {
  for (let round = 0; round < 2; round += 1) {
    for (let n = 0; n < 9; n += 1) await send(app, GRACE, 'wrong', '10.0.0.3');
    assert.is((await send(app, GRACE, DEMO_PASSWORD, '10.0.0.3')).statusCode, 200);
  }
});

throttle('is shared by all instances on one database', async ({ app }) => {
  const other = await app.startTwin();

  for (let n = 0; n < 5; n += 1) {
    await send(app, EDSGER, 'wrong', '10.0.0.4');
    await send(other, EDSGER, 'wrong', '10.0.0.5');
  }
  const here = await send(app, EDSGER, DEMO_PASSWORD, '10.0.0.6');
  const there = await send(other, EDSGER, DEMO_PASSWORD, '10.0.0.6');
  await other.close();

  assert.is(here.statusCode, 429);
  assert.is(there.statusCode, 429);
});

throttle('uses the database clock, even on an instance whose clock is a day ahead', async ({ app }) => {
  const username = 'ahead@acme.test';
  await app.as('admin@acme.test').users.create({ email: username });
  const now = Date.now;
  const dayAhead = () => now() + DAY_MS;
  try {
    Date.now = dayAhead;
    for (let n = 0; n < 10; n += 1) await send(app, username, 'wrong', '10.0.3.1');
    Date.now = now;
    const here = await send(app, username, 'wrong', '10.0.3.2');
    Date.now = dayAhead;
    const ahead = await send(app, username, 'wrong', '10.0.3.2');

    assert.equal([here.statusCode, ahead.statusCode], [429, 429]);
    assert.ok(Number(here.headers['retry-after']) <= 15 * 60, `${here.headers['retry-after']} s`);
    assert.ok(Number(ahead.headers['retry-after']) <= 15 * 60, `${ahead.headers['retry-after']} s`);
  } finally {
    Date.now = now;
  }
});

throttle('unlocks an account in time after the database clock was set back by days', async ({ app }) => {
  const username = 'set-back@acme.test';
  for (let n = 0; n < 10; n += 1) await send(app, username, 'wrong', '10.0.4.1');
  await app
    .db()
    .updateTable('rate_limits')
    .set({ expire: Date.now() + 2 * DAY_MS })
    .where('key', '=', `login-account:${hashKey(username)}`)
    .execute();
  const refused = await send(app, username, 'wrong', '10.0.4.2');

  assert.is(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) <= 15 * 60, `${refused.headers['retry-after']} s`);
});

throttle('counts each login of a batch', async ({ app }) => {
  const caller = app.as(null);
  const tries = Array.from({ length: 40 }, () =>
    caller.tokens.create({ username: 'guess@acme.test', password: 'wrong' }).catch((error: unknown) => error),
  );
  await Promise.all(tries);

  await rejectsWith(caller.tokens.create({ username: 'guess@acme.test', password: 'again' }), 'throttled');
});

throttle('responds to a burst of guesses without revealing the right one', async ({ app }) => {
  const username = 'burst@acme.test';
  await app.as('admin@acme.test').users.create({ email: username });
  const hash = await makeArgon2Hash(DEMO_PASSWORD, COST);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', username).execute();
  const passwords = [...Array.from({ length: 40 }, (_, n) => `guess ${n}`), DEMO_PASSWORD];

  // Hashing is so slow that all guesses pass the first check.
  const instance = await app.startTwin(COST);
  const answers = await Promise.all(
    passwords.map((password, n) => send(instance, username, password, `10.0.1.${n}`)),
  ).finally(instance.close);
  const statuses = answers.map((answer) => answer.statusCode);

  assert.is(statuses.at(-1), 429);
  assert.is(statuses.filter((status) => status === 400).length, 10);
  assert.is(statuses.filter((status) => status === 429).length, 31);
});

throttle('refuses an address after a hundred failures for any accounts', async ({ app }) => {
  const address = '10.0.2.1';
  const tries = Array.from({ length: 100 }, (_, n) => send(app, `u${n}@acme.test`, 'wrong', address));
  await Promise.all(tries);

  assert.is((await send(app, 'fresh@acme.test', 'wrong', address)).statusCode, 429);
  assert.is((await send(app, 'fresh@acme.test', 'wrong', '10.0.2.2')).statusCode, 400);
});

throttle('counts an IPv6 /64 network as one address', async ({ app }) => {
  const { config, connection } = app;
  const settings = {
    config: { ...config, trustedProxies: 1 },
    connection,
    clock: app.clock,
    hashCost: CHEAP_HASH,
    requestDeadlineMs: 60_000,
  };
  const proxied = await createApp({ ...settings, secretKey: 'x'.repeat(32), logger: createLogger('silent') });
  const fail = (n: number, forwarded: string) =>
    proxied.server.inject({
      method: 'POST',
      url: '/api/v1/api-token-auth/',
      payload: { username: `v6-${n}@acme.test`, password: 'wrong' },
      headers: { 'x-forwarded-for': forwarded },
    });

  const tries = Array.from({ length: 100 }, (_, n) => fail(n, `10.9.9.${n}, 2001:db8::${n.toString(16)}:1`));
  await Promise.all(tries);
  const same = await fail(100, '10.9.8.1, 2001:db8:0:0:ffff::1');
  const other = await fail(101, '10.9.8.1, 2001:db8:0:1::1');
  const long = await fail(102, `${'a'.repeat(5000)}`);
  await proxied.close();

  assert.equal([same.statusCode, other.statusCode, long.statusCode], [429, 400, 400]);
});

throttle.run();
