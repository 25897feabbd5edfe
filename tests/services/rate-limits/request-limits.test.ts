import type { Pool } from 'pg';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { type Caller, createRequestLimits } from '../../../src/services/rate-limits/request-limits.ts';
import { suite } from '../../support/suite.ts';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../support/test-database.ts';

type Context = { database: TestDatabase; pool: Pool };

const limits = suite<Context>('request limits');

limits.before(async (context) => {
  context.database = await createTestDatabase();
  context.pool = createTestPool(context.database.connection);
});
limits.after(async ({ pool, database }) => {
  await pool.end();
  await database.drop();
});

const logger = createLogger('silent');
const token = (id: number): Caller => ({ credential: { kind: 'token', id }, address: '127.0.0.1' });
const at = (address: string): Caller => ({ credential: null, address });

/** Counts how many of these concurrent requests are granted. */
const countGranted = async (
  instances: ReturnType<typeof createRequestLimits>[],
  caller: Caller,
  tries: number,
) => {
  const allowances = await Promise.all(
    Array.from({ length: tries }, (_, n) => instances[n % instances.length]?.consume(caller, 1)),
  );
  return allowances.filter((allowance) => allowance?.isGranted).length;
};

limits('grant exactly the limit, and report what remains', async ({ pool }) => {
  const one = createRequestLimits({ pool, limit: 3, logger });
  const allowances = [];
  for (let n = 0; n < 5; n += 1) allowances.push(await one.consume(token(1), 1));

  assert.equal(
    allowances.map(({ isGranted, remaining }) => [isGranted, remaining]),
    [
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ],
  );
  for (const { resetSeconds } of allowances) assert.ok(resetSeconds >= 1 && resetSeconds <= 60);
});

limits('never grant more than the limit to concurrent requests on several instances', async ({ pool }) => {
  for (const limit of [1, 7, 20, 100, 1_000]) {
    const instances = [1, 2, 3].map(() => createRequestLimits({ pool, limit, logger }));
    const granted = await countGranted(instances, token(limit * 10), limit * 3);

    // Each instance may keep all but one request of its last reservation.
    const lost = instances.length * (Math.max(1, Math.floor(limit / 20)) - 1);
    assert.ok(granted <= limit, `${granted} of ${limit}`);
    assert.ok(granted >= limit - lost, `${granted} of ${limit}`);
  }
});

limits(
  'are counted per token, per session and per address, or per /48 network for IPv6',
  async ({ pool }) => {
    const one = createRequestLimits({ pool, limit: 1, logger });
    const isGranted = async (caller: Caller) => (await one.consume(caller, 1)).isGranted;

    assert.equal(
      [await isGranted(token(2)), await isGranted(token(3)), await isGranted(token(2))],
      [true, true, false],
    );
    assert.is(await isGranted({ credential: { kind: 'session', id: 2 }, address: '127.0.0.1' }), true);
    assert.equal([await isGranted(at('10.0.0.1')), await isGranted(at('10.0.0.2'))], [true, true]);
    assert.equal([await isGranted(at('2001:db8::1')), await isGranted(at('2001:db8:0:2::2'))], [true, false]);
  },
);

limits('grant all requests of a batch, or none', async ({ pool }) => {
  const one = createRequestLimits({ pool, limit: 10, logger });
  const take = async (requests: number) => {
    const { isGranted, remaining } = await one.consume(token(4), requests);
    return [isGranted, remaining];
  };

  assert.equal(await take(7), [true, 3]);
  assert.equal(await take(4), [false, 3]);
  assert.equal(await take(3), [true, 0]);
  assert.is((await one.consume(token(5), 11)).isGranted, false);
});

limits('reset with the next window on all instances', async ({ pool }) => {
  let nowMs = 0;
  const endWindow = async (): Promise<void> => {
    await pool.query(`update rate_limits set expire = 0 where key = 'requests:token:6'`);
    nowMs += MINUTE_MS;
  };
  const instances = [1, 2].map(() => createRequestLimits({ pool, limit: 100, logger, nowMs: () => nowMs }));
  for (let round = 0; round < 2; round += 1) {
    // Leaves each instance part of its reservation, which must not count in the next window.
    assert.is(await countGranted(instances, token(6), 2), 2);
    await endWindow();
    const granted = await countGranted(instances, token(6), 150);
    assert.ok(granted > 90 && granted <= 100, String(granted));
    await endWindow();
    assert.is((await instances[0]?.consume(token(6), 1))?.isGranted, true);
  }
});

limits('reserve many requests with one query', async ({ pool }) => {
  const one = createRequestLimits({ pool, limit: 2_000, logger });
  await countGranted([one], token(7), 250);

  const { rows } = await pool.query(`select points from rate_limits where key = 'requests:token:7'`);
  assert.is(rows[0].points, 300);
});

limits('are applied by each instance on its own while the database is unavailable', async ({ database }) => {
  const gone = createTestPool(database.connection);
  const one = createRequestLimits({ pool: gone, limit: 40, logger });
  assert.is(await countGranted([one], token(8), 10), 10);
  await gone.end();

  assert.is(await countGranted([one], token(8), 100), 30);
  assert.is(await countGranted([one], token(9), 100), 40);
});

limits.run();
