import * as assert from 'uvu/assert';
import { COST, makeArgon2Hash } from '../../src/adapters/hashing/password-hashes.ts';
import { createApp } from '../../src/app.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createLoginThrottle, paceOf } from '../../src/services/auth/login-limits.ts';
import { hashKey } from '../../src/services/rate-limits/counters.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, STAFF, type TestApp } from '../support/test-app.ts';
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

/** Sets the failures of a network in its current window. */
const setFailures = async (app: TestApp, address: string, points: number): Promise<void> => {
  const key = `login-network:${hashKey(address)}`;
  const row = { key, points, expire: Date.now() + 15 * MINUTE_MS };
  await app
    .db()
    .insertInto('rate_limits')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ points }))
    .execute();
};

throttle('lets a network log in after a hundred failures of any accounts', async ({ app }) => {
  const address = '10.0.2.1';
  await setFailures(app, address, 100);

  assert.is((await send(app, STAFF, DEMO_PASSWORD, address)).statusCode, 200);
  const next = await send(app, STAFF, DEMO_PASSWORD, address);
  const elsewhere = await send(app, STAFF, DEMO_PASSWORD, '10.0.2.2');

  assert.equal([next.statusCode, elsewhere.statusCode], [429, 200]);
  assert.match(next.json().detail, 'Many logins of this network have failed');
  const retryAfter = Number(next.headers['retry-after']);
  assert.ok(retryAfter > 0 && retryAfter <= 20, `${retryAfter} s`);
});

/** A throttle that does not wait, and records how long it would have waited. */
const pacedThrottle = (app: TestApp) => {
  const waits: number[] = [];
  const logins = createLoginThrottle(app.orm.pool, async (ms) => waits.push(ms));
  const admit = (address: string, n = 0) =>
    logins.admit({ username: `paced-${n}@acme.test`, address, source: { kind: 'unknown' } });
  return { ...logins, waits, admit };
};

throttle('delays the logins of a network more with each failure, and by 5 s at most', async ({ app }) => {
  for (const [failures, paceSeconds] of [
    [40, 1],
    [41, 2],
    [44, 5],
    [100, 20],
  ] as const) {
    const address = `10.0.5.${failures}`;
    await setFailures(app, address, failures);
    const { waits, admit } = pacedThrottle(app);
    const startedAt = performance.now();
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => admit(address, n)));
    const elapsedSeconds = (performance.now() - startedAt) / 1000;
    const admitted = outcomes.filter(({ status }) => status === 'fulfilled').length;

    assert.ok(admitted >= Math.floor(5 / paceSeconds) + 1, `${failures}: ${admitted}`);
    assert.ok(admitted <= Math.floor((5 + elapsedSeconds) / paceSeconds) + 1, `${failures}: ${admitted}`);
    assert.ok(
      waits.every((ms) => ms <= 5_000),
      waits.join(),
    );
  }
});

throttle('does not delay the logins of a network before its 40th failure', async ({ app }) => {
  await setFailures(app, '10.0.5.1', 39);
  const { waits, admit } = pacedThrottle(app);
  await Promise.all(Array.from({ length: 30 }, (_, n) => admit('10.0.5.1', n)));

  assert.equal(waits, []);
});

throttle('refuses most of a burst of guesses for many accounts, right or wrong', async ({ app }) => {
  const { admit, recordFailure, recordSuccess } = pacedThrottle(app);
  const [last, ...guesses] = await Promise.all(Array.from({ length: 101 }, (_, n) => admit('10.0.2.3', n)));
  if (!last) throw new Error('none was admitted');

  const failures = await Promise.all(guesses.map(recordFailure));
  assert.is(failures.filter(({ refusal }) => refusal === null).length, 40);
  assert.is((await rejectsWith(recordSuccess(last), 'throttled')).retryAfterSeconds, 1);
});

throttle('paces a network for all instances together', async ({ app }) => {
  await setFailures(app, '10.0.6.1', 60);
  const [here, there] = [pacedThrottle(app), pacedThrottle(app)];

  await here.admit('10.0.6.1');
  const { retryAfterSeconds } = await rejectsWith(there.admit('10.0.6.1'), 'throttled');

  assert.is(retryAfterSeconds, 20);
});

throttle('paces a network in time after the database clock was set back', async ({ app }) => {
  await setFailures(app, '10.0.6.2', 60);
  const expire = Date.now() + DAY_MS;
  await app
    .db()
    .insertInto('rate_limits')
    .values({ key: `login-pace-network:${hashKey('10.0.6.2')}`, points: 0, expire })
    .execute();

  assert.is((await pacedThrottle(app).admit('10.0.6.2')).isPaced, true);
});

throttle('allows fewer than a hundred guesses of a network in each 15 minutes', () => {
  let guesses = 0;
  for (let elapsedMs = 0; elapsedMs < 15 * MINUTE_MS; elapsedMs += paceOf(guesses)) guesses += 1;

  assert.is(guesses, 94);
});

throttle('counts an IPv6 /64 network as one address', async ({ app }) => {
  const { config, connection } = app;
  const settings = {
    config: { ...config, trustedProxies: 1 },
    connection,
    clock: app.clock,
    hashCost: CHEAP_HASH,
    timeLimitMs: 60_000,
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
  // Beyond 40 failures, the network gets one turn after the other.
  await app
    .db()
    .updateTable('rate_limits')
    .set({ points: 100 })
    .where('key', 'like', 'login-network:%')
    .execute();
  const turn = await fail(100, '10.9.8.1, 2001:db8:0:0:fffe::1');
  const same = await fail(100, '10.9.8.1, 2001:db8:0:0:ffff::1');
  const other = await fail(101, '10.9.8.1, 2001:db8:0:1::1');
  const long = await fail(102, `${'a'.repeat(5000)}`);
  await proxied.close();

  assert.equal([turn.statusCode, same.statusCode, other.statusCode, long.statusCode], [400, 429, 400, 400]);
});

throttle.run();
