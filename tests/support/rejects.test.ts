import { TRPCError } from '@trpc/server';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { notFound, Problem } from '../../src/lib/problems.ts';
import { rejectsWith } from './rejects.ts';

const outcomeOf = async (promise: Promise<unknown>): Promise<string> => {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome.status === 'fulfilled' ? 'fulfilled' : outcome.reason.message;
};

const test = suite('rejectsWith');

test('returns the problem', async () => {
  const problem = notFound('user');

  assert.is(await rejectsWith(Promise.reject(problem), 'not-found'), problem);
});

test('finds the problem that caused a TRPCError', async () => {
  const cause = new Problem('forbidden');

  assert.is(
    await rejectsWith(Promise.reject(new TRPCError({ code: 'FORBIDDEN', cause })), 'forbidden'),
    cause,
  );
});

test('fails on another problem', async () => {
  const checked = rejectsWith(Promise.reject(notFound('user')), 'forbidden');

  assert.match(await outcomeOf(checked), 'Expected values to be strictly equal');
});

test('fails on success', async () => {
  const checked = rejectsWith(Promise.resolve(1), 'not-found');

  assert.match(await outcomeOf(checked), 'it succeeded');
});

test('rethrows any other error', async () => {
  const checked = rejectsWith(Promise.reject(new Error('a bug')), 'not-found');

  assert.is(await outcomeOf(checked), 'a bug');
});

test.run();
