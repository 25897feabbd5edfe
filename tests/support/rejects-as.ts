import * as assert from 'uvu/assert';
import { isProblem, type ProblemCode, type ProblemError } from '../../src/client.ts';

/** The error that the promise is rejected with. */
export const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const [outcome] = await Promise.allSettled([promise]);
  return outcome.status === 'rejected' ? outcome.reason : assert.unreachable('it should have failed');
};

/** Asserts that a call of the client fails with the problem `code`, and returns its error. */
export const rejectsAs = async <Code extends ProblemCode>(
  promise: Promise<unknown>,
  code: Code,
): Promise<ProblemError<Code>> => {
  const error = await failureOf(promise);
  if (isProblem(error, code)) return error;
  throw error;
};
