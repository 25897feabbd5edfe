import type { Pool } from 'pg';
import * as assert from 'uvu/assert';
import { createGuessLimits, type Guess, sourceOf } from '../../../src/services/auth/login-limits.ts';
import { suiteWith } from '../../support/suite.ts';
import { createTestDatabase, createTestPool } from '../../support/test-database.ts';

const guesses = suiteWith('limits of guesses', async (started) => {
  const { connection, drop } = await createTestDatabase();
  started.defer(drop);
  const pool = createTestPool(connection);
  started.defer(() => pool.end());
  return { pool };
});
guesses.before.each(async ({ pool }) => {
  await pool.query('delete from rate_limits');
});

const from = (n: number) => `192.0.2.${n}`;

/** Sends guesses of an account from an unknown network, unless said otherwise, and returns how many were checked. */
const guess = async (pool: Pool, count: number, guess: Partial<Guess> = {}): Promise<number> => {
  const { take } = createGuessLimits(pool);
  const sent = { kind: 'password', account: 'ada@acme.test', address: from(1), source: 'unknown' } as const;
  const taken = await Promise.allSettled(Array.from({ length: count }, () => take({ ...sent, ...guess })));
  return taken.filter(({ status }) => status === 'fulfilled').length;
};

guesses('check ten of an account from a network, also of a burst', async ({ pool }) => {
  for (const kind of ['password', 'code'] as const) {
    assert.is(await guess(pool, 40, { kind }), 10);
    assert.is(await guess(pool, 1, { kind }), 0);
    assert.is(await guess(pool, 1, { kind, address: from(2) }), 1);
    assert.is(await guess(pool, 1, { kind, account: 'grace@acme.test' }), 1);
  }
});

guesses('do not count once they are given back', async ({ pool }) => {
  const { take } = createGuessLimits(pool);
  const right = { kind: 'password', account: 'ada@acme.test', address: from(1), source: 'unknown' } as const;
  for (let n = 0; n < 120; n += 1) await (await take(right)).giveBack();

  assert.is(await guess(pool, 40), 10);
});

guesses('of many networks are limited for an account, apart from known networks', async ({ pool }) => {
  for (const [kind, limit] of [
    ['password', 100],
    ['code', 20],
  ] as const) {
    for (const source of ['unknown', 'known'] as const) {
      const networks = source === 'known' ? 100 : 0;
      let checked = 0;
      for (let n = 0; n < 12; n += 1)
        checked += await guess(pool, 10, { kind, source, address: from(networks + n) });
      assert.is(checked, limit, `${kind}, ${source}`);
    }
    assert.is(await guess(pool, 20, { kind, source: 'live' }), 10);
  }
});

guesses('of a network are limited for all accounts to which it is unknown', async ({ pool }) => {
  let checked = 0;
  for (let n = 0; n < 30; n += 1) checked += await guess(pool, 5, { account: `n${n}@acme.test` });

  assert.is(checked, 100);
  assert.is(await guess(pool, 1, { source: 'known' }), 1);
  assert.is(await guess(pool, 1, { source: 'live' }), 1);
});

guesses('that are refused in one network count nowhere else', async ({ pool }) => {
  await guess(pool, 200);

  for (let n = 2; n < 11; n += 1) assert.is(await guess(pool, 10, { address: from(n) }), 10);
  assert.is(await guess(pool, 5, { account: 'grace@acme.test' }), 5);
});

guesses('say which one is the tenth of the account', async ({ pool }) => {
  const { take } = createGuessLimits(pool);
  const isTenth: boolean[] = [];
  for (let n = 0; n < 12; n += 1) {
    const sent = { kind: 'password', account: 'ada@acme.test', source: 'unknown' } as const;
    isTenth.push((await take({ ...sent, address: from(n) })).isTenth);
  }

  assert.equal(isTenth, [...Array(9).fill(false), true, false, false]);
});

guesses('of passwords are forgotten after a reset, those of codes are not', async ({ pool }) => {
  for (const kind of ['password', 'code'] as const) await guess(pool, 10, { kind });
  await createGuessLimits(pool).clearPasswords('ada@acme.test');

  assert.is(await guess(pool, 10), 10);
  assert.is(await guess(pool, 1, { kind: 'code' }), 0);
});

guesses('come from a known network if a session or token was last used there', () => {
  assert.is(sourceOf('192.0.2.1', ['', '192.0.2.2', '192.0.2.1']), 'known');
  assert.is(sourceOf('192.0.2.1', ['', '192.0.2.2']), 'unknown');
  assert.is(sourceOf('2001:db8:1:2::3', ['2001:db8:1::4']), 'known');
  assert.is(sourceOf('', ['']), 'unknown');
});

guesses.run();
