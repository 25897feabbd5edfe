import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { notFound } from '../../src/lib/problems.ts';
import { rejectsWith } from './rejects.ts';

const outcomeOf = async (promise: Promise<unknown>): Promise<string> => {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome.status === 'fulfilled' ? 'fulfilled' : outcome.reason.message;
};

const rejecting = suite('rejectsWith');

rejecting('fails on another problem', async () => {
  const checked = rejectsWith(Promise.reject(notFound('user')), 'forbidden');

  assert.match(await outcomeOf(checked), 'Expected values to be strictly equal');
});

rejecting('fails on success', async () => {
  const checked = rejectsWith(Promise.resolve(1), 'not-found');

  assert.match(await outcomeOf(checked), 'it succeeded');
});

rejecting.run();
