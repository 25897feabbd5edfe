import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Problem } from '../../src/lib/problems.ts';
import { createTimeLimit } from '../../src/lib/time-limit.ts';
import { rejectsWith } from '../support/rejects.ts';

const NEVER = () => new Promise<never>(() => {});

const limit = suite('time limit');

limit('returns what work resolves to, and rejects with what it fails with', async () => {
  const failure = new Error('from the work');

  assert.is(await createTimeLimit(60_000).run(async () => 'done'), 'done');
  const rejected = createTimeLimit(60_000).run(() => Promise.reject(failure));
  assert.is(await rejected.catch((error) => error), failure);
});

limit('fails with `overloaded` when the time has passed, and lets the work commit no more', async () => {
  const timeLimit = createTimeLimit(1);
  timeLimit.requireTime();

  await rejectsWith(timeLimit.run(NEVER), 'overloaded');

  assert.throws(timeLimit.requireTime, (error: unknown) => error instanceof Problem && error.status === 503);
});

limit('ignores a failure of the work after the time has passed', async () => {
  const timeLimit = createTimeLimit(1);
  const late = Promise.withResolvers<never>();

  await rejectsWith(
    timeLimit.run(() => late.promise),
    'overloaded',
  );
  late.reject(new Error('nobody waits for this'));
});

limit('is lifted for more than 100 elements only', async () => {
  for (const [elements, expected] of [
    [100, 'overloaded'],
    [101, 'done'],
  ] as const) {
    const timeLimit = createTimeLimit(1);
    const slow = Promise.withResolvers<string>();
    const outcome = timeLimit.run(() => {
      timeLimit.liftForBulk(elements);
      return slow.promise;
    });
    setTimeout(() => slow.resolve('done'), 20);
    assert.is(await outcome.catch((error) => error.code), expected);
  }
});

limit.run();
