import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginConcurrency } from '../../../src/services/auth/login-concurrency.ts';
import { rejectsWith } from '../../support/rejects-with.ts';

const crowd = suite('crowd of logins');

/** Work that ends when it is told to, and how much of it has begun. */
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
/** Lets everything go on that needs no more than that. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

crowd('lets one account have four verified at a time, and the others not wait for it', async () => {
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

crowd('lets one network have sixteen, whosever accounts they are', async () => {
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

crowd('refuses those for whom there is no room to wait, and takes them again later', async () => {
  const { run: within } = createLoginConcurrency();
  const { work, end } = createWork();
  const waiting = Array.from({ length: 204 }, (_, n) => within('ada', `10.0.0.${n}`, work));

  const { retryAfterSeconds } = await rejectsWith(within('ada', '10.0.1.1', work), 'throttled');
  end();
  await Promise.all(waiting);
  await within('ada', '10.0.1.1', work);

  assert.is(retryAfterSeconds, 1);
});

crowd('makes room again for work that fails', async () => {
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

crowd.run();
