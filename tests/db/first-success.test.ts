import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { firstSuccess } from '../../src/db/client.ts';

const NEVER = 1_000_000;

const race = suite('firstSuccess');

race('starts no attempt after a success', async () => {
  const started: string[] = [];
  const result = await firstSuccess(
    ['a', 'b', 'c'],
    async (item) => {
      started.push(item);
      if (item === 'a') throw new Error('a fails');
      return item;
    },
    { staggerMs: NEVER },
  );

  assert.is(result, 'b');
  assert.equal(started, ['a', 'b']);
});

race('does not wait for a hanging attempt, and aborts it', async () => {
  const signals: AbortSignal[] = [];
  const attempt = async (item: string, signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return item === 'b' ? item : new Promise<never>(() => {});
  };
  const result = await firstSuccess(['a', 'b'], attempt, { staggerMs: 1 });

  assert.is(result, 'b');
  assert.ok(signals[0]?.aborted);
});

race('returns a slow success if later attempts fail', async () => {
  const haveFailed = Promise.withResolvers<void>();
  const attempt = async (item: string): Promise<string> => {
    if (item === 'c') haveFailed.resolve();
    if (item !== 'a') throw new Error(`${item} fails`);
    await haveFailed.promise;
    return item;
  };

  assert.is(await firstSuccess(['a', 'b', 'c'], attempt, { staggerMs: 1 }), 'a');
});

race('reports the errors of all attempts', async () => {
  const attempt = async (item: string): Promise<never> => {
    throw new Error(item);
  };
  const [outcome] = await Promise.allSettled([firstSuccess(['a', 'b', 'c'], attempt, { staggerMs: NEVER })]);

  assert.is(outcome.status, 'rejected');
  if (outcome.status !== 'rejected') return;
  assert.equal(
    outcome.reason.errors.map((error: Error) => error.message),
    ['a', 'b', 'c'],
  );
});

race.run();
