import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginConcurrency } from '../../../src/services/auth/login-limits.ts';
import { rejectsWith } from '../../support/rejects.ts';

const concurrency = suite('login concurrency');

/** Work that ends when the test says so, and counts its starts. */
const createWork = () => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  return {
    begun: () => begun,
    end: gate.resolve,
    work: async () => {
      begun += 1;
      await gate.promise;
    },
  };
};
/** Lets pending promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

concurrency('verifies four logins of one account at a time, without delaying other accounts', async () => {
  const { run: within } = createLoginConcurrency();
  const [own, other] = [createWork(), createWork()];
  const all = Array.from({ length: 50 }, (_, n) => within('ada', `10.0.0.${n}`, own.work));
  const grace = within('grace', '10.0.1.1', other.work);
  await settle();

  assert.equal([own.begun(), other.begun()], [4, 1]);
  own.end();
  other.end();
  await Promise.all([...all, grace]);
  assert.is(own.begun(), 50);
});

concurrency('verifies sixteen logins of one network at a time, for any accounts', async () => {
  const { run: within } = createLoginConcurrency();
  const [own, other] = [createWork(), createWork()];
  const all = Array.from({ length: 50 }, (_, n) => within(`n${n}`, '10.0.0.1', own.work));
  const elsewhere = within('n0', '10.0.0.2', other.work);
  await settle();

  assert.equal([own.begun(), other.begun()], [16, 1]);
  own.end();
  other.end();
  await Promise.all([...all, elsewhere]);
});

concurrency('refuses logins while the queue is full, and accepts them later', async () => {
  const { run: within } = createLoginConcurrency();
  const { work, end } = createWork();
  const waiting = Array.from({ length: 204 }, (_, n) => within('ada', `10.0.0.${n}`, work));

  const { retryAfterSeconds } = await rejectsWith(within('ada', '10.0.1.1', work), 'throttled');
  end();
  await Promise.all(waiting);
  await within('ada', '10.0.1.1', work);

  assert.is(retryAfterSeconds, 1);
});

concurrency('frees a slot after failed work', async () => {
  const { run: within } = createLoginConcurrency();
  const fail = async () => {
    throw new Error('wrong');
  };
  for (let n = 0; n < 300; n += 1) {
    const [outcome] = await Promise.allSettled([within('ada', '10.0.0.1', fail)]);
    assert.is(outcome.status, 'rejected');
  }

  assert.is(await within('ada', '10.0.0.1', async () => 'in'), 'in');
});

concurrency.run();
