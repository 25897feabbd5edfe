import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { firstSuccess } from '../../src/db/client.ts';

const NEVER = 1_000_000;

const race = suite('firstSuccess');

/** Rejects when the signal aborts the attempt. */
const hang = (signal: AbortSignal): Promise<never> =>
  sleep(NEVER, undefined, { signal }).then(() => assert.unreachable() as never);

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
  let isAborted = false;
  const attempt = async (item: string, signal: AbortSignal): Promise<string> => {
    if (item === 'b') return item;
    return hang(signal).finally(() => {
      isAborted = signal.aborted;
    });
  };
  const result = await firstSuccess(['a', 'b'], attempt, { staggerMs: 1 });
  await sleep(0);

  assert.is(result, 'b');
  assert.ok(isAborted);
});

race('returns a slow success if later attempts fail', async () => {
  const attempt = async (item: string): Promise<string> => {
    if (item !== 'a') throw new Error(`${item} fails`);
    await sleep(20);
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
