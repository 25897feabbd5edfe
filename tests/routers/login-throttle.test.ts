import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createLoginThrottle, paceOf } from '../../src/services/auth/login-limits.ts';
import { createWindowCounter, hashKey } from '../../src/services/rate-limits/counters.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, STAFF, type TestApp } from '../support/test-app.ts';

const throttle = appSuite('login throttle');

const send = (app: Pick<TestApp, 'server'>, username: string, password: string, remoteAddress: string) =>
  app.server.inject({
    method: 'POST',
    url: '/api/v1/api-token-auth/',
    payload: { username, password },
    remoteAddress,
  });

/** A throttle that does not wait, and records how long it would have waited. */
const pacedThrottle = (app: TestApp) => {
  const waits: number[] = [];
  const logins = createLoginThrottle(app.orm.pool, async (ms) => waits.push(ms));
  const admit = (address: string, n = 0) =>
    logins.admit({ username: `paced-${n}@acme.test`, address, source: { kind: 'unknown' } });
  return { ...logins, waits, admit };
};

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
  const [here, there] = [pacedThrottle(app), pacedThrottle(app)];

  for (let n = 0; n < 5; n += 1)
    for (const { admit, recordFailure } of [here, there]) await recordFailure(await admit('10.0.4.0', 400));

  for (const { admit } of [here, there]) await rejectsWith(admit('10.0.4.9', 400), 'throttled');
});

throttle('unlocks an account in time after the database clock was set back by days', async ({ app }) => {
  const username = 'set-back@acme.test';
  for (let n = 0; n < 10; n += 1) await send(app, username, 'wrong', '10.0.4.1');
  await app
    .db()
    .updateTable('rate_limits')
    .set({ expire: sql`expire + ${2 * DAY_MS}::bigint` })
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
  const { admit, recordFailure, recordSuccess } = pacedThrottle(app);
  const guesses = await Promise.all(Array.from({ length: 40 }, (_, n) => admit(`10.0.1.${n}`, 100)));
  const right = await admit('10.0.1.40', 100);

  const failures = await Promise.all(guesses.map(recordFailure));

  assert.is(failures.filter(({ refusal }) => refusal === null).length, 10);
  await rejectsWith(recordSuccess(right), 'throttled');
});

/** Adds failures of a network to its present window. */
const addFailures = (app: TestApp, address: string, points: number) =>
  createWindowCounter(app.orm.pool, 15 * MINUTE_MS).add(`login-network:${hashKey(address)}`, points);

throttle('lets a network log in after a hundred failures of any accounts', async ({ app }) => {
  const address = '10.0.2.1';
  await addFailures(app, address, 100);

  assert.is((await send(app, STAFF, DEMO_PASSWORD, address)).statusCode, 200);
  const next = await send(app, STAFF, DEMO_PASSWORD, address);
  const elsewhere = await send(app, STAFF, DEMO_PASSWORD, '10.0.2.2');

  assert.equal([next.statusCode, elsewhere.statusCode], [429, 200]);
  assert.match(next.json().detail, 'Many logins of this network have failed');
  const retryAfter = Number(next.headers['retry-after']);
  assert.ok(retryAfter > 0 && retryAfter <= 20, `${retryAfter} s`);
});

throttle('delays the logins of a network more with each failure, and by 5 s at most', async ({ app }) => {
  for (const [failures, paceSeconds] of [
    [40, 1],
    [41, 2],
    [44, 5],
    [100, 20],
  ] as const) {
    const address = `10.0.5.${failures}`;
    await addFailures(app, address, failures);
    const { waits, admit } = pacedThrottle(app);
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => admit(address, n)));
    const admitted = outcomes.filter(({ status }) => status === 'fulfilled').length;

    assert.is(paceOf(failures), paceSeconds * 1000);
    assert.ok(admitted >= Math.floor(5 / paceSeconds) + 1, `${failures}: ${admitted}`);
    assert.ok(
      waits.every((ms) => ms <= 5_000),
      waits.join(),
    );
  }
});

throttle('does not delay the logins of a network before its 40th failure', async ({ app }) => {
  await addFailures(app, '10.0.5.1', 39);
  const { waits, admit } = pacedThrottle(app);
  await Promise.all(Array.from({ length: 30 }, (_, n) => admit('10.0.5.1', n)));

  assert.equal(waits, []);
});

throttle('refuses most of a burst of guesses for many accounts, right or wrong', async ({ app }) => {
  const { admit, recordFailure, recordSuccess } = pacedThrottle(app);
  const [last, ...guesses] = await Promise.all(
    Array.from({ length: 101 }, (_, n) => admit('10.0.2.3', 500 + n)),
  );
  if (!last) throw new Error('none was admitted');

  const failures = await Promise.all(guesses.map(recordFailure));
  assert.is(failures.filter(({ refusal }) => refusal === null).length, 40);
  assert.is((await rejectsWith(recordSuccess(last), 'throttled')).retryAfterSeconds, 1);
});

throttle('paces a network for all instances together', async ({ app }) => {
  await addFailures(app, '10.0.6.1', 60);
  const [here, there] = [pacedThrottle(app), pacedThrottle(app)];

  await here.admit('10.0.6.1');
  const { retryAfterSeconds } = await rejectsWith(there.admit('10.0.6.1'), 'throttled');

  assert.is(retryAfterSeconds, 20);
});

throttle('paces a network in time after the database clock was set back', async ({ app }) => {
  await addFailures(app, '10.0.6.2', 60);
  const key = `login-pace-network:${hashKey('10.0.6.2')}`;
  await createWindowCounter(app.orm.pool, DAY_MS).add(key, 0);

  assert.is((await pacedThrottle(app).admit('10.0.6.2')).isPaced, true);
});

throttle('allows fewer than a hundred guesses of a network in each 15 minutes', () => {
  let guesses = 0;
  for (let elapsedMs = 0; elapsedMs < 15 * MINUTE_MS; elapsedMs += paceOf(guesses)) guesses += 1;

  assert.is(guesses, 94);
});

throttle('counts an IPv6 /64 network as one address', async ({ app }) => {
  const { admit, recordFailure } = pacedThrottle(app);
  for (let n = 0; n < 40; n += 1) await recordFailure(await admit(`2001:db8::${n.toString(16)}:1`, 200 + n));

  assert.is((await admit('2001:db8:0:0:fffe::1', 300)).isPaced, true);
  assert.is((await admit('2001:db8:0:1::1', 301)).isPaced, false);
});

throttle.run();
