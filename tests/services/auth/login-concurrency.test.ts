import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginConcurrency, type GuessSource } from '../../../src/services/auth/login-limits.ts';
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

const login = (email: string, address: string, source: GuessSource = 'unknown') => ({
  email,
  address,
  source,
});

concurrency('verifies two logins of an account from a network at a time', async () => {
  const { run: within } = createLoginConcurrency();
  const [own, other] = [createWork(), createWork()];
  const all = Array.from({ length: 50 }, () => within(login('ada', '10.0.0.1'), own.work));
  const others = [login('grace', '10.0.0.1'), login('ada', '10.0.0.2'), login('ada', '10.0.0.1', 'live')];
  const elsewhere = others.map((each) => within(each, other.work));
  await settle();

  assert.equal([own.begun(), other.begun()], [2, 3]);
  own.end();
  other.end();
  await Promise.all([...all, ...elsewhere]);
  assert.is(own.begun(), 50);
});

concurrency('verifies sixteen logins of an unknown network at a time', async () => {
  const { run: within } = createLoginConcurrency();
  const [own, other] = [createWork(), createWork()];
  const all = Array.from({ length: 50 }, (_, n) => within(login(`n${n}`, '10.0.0.1'), own.work));
  const known = within(login('ada', '10.0.0.1', 'known'), other.work);
  await settle();

  assert.equal([own.begun(), other.begun()], [16, 1]);
  own.end();
  other.end();
  await Promise.all([...all, known]);
});

concurrency('refuses logins while the queue is full, and accepts them later', async () => {
  const { run: within } = createLoginConcurrency();
  const { work, end } = createWork();
  const waiting = Array.from({ length: 202 }, () => within(login('ada', '10.0.0.1'), work));

  const { retryAfterSeconds } = await rejectsWith(within(login('ada', '10.0.0.1'), work), 'throttled');
  end();
  await Promise.all(waiting);
  await within(login('ada', '10.0.0.1'), work);

  assert.is(retryAfterSeconds, 1);
});

concurrency.run();
