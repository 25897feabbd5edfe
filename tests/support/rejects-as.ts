import { isProblem, type ProblemCode, type ProblemError } from '../../src/client.ts';

/** The error that the promise is rejected with. */
export const failureOf = async (promise: Promise<unknown>): Promise<Error> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'fulfilled') throw new Error('it should have failed');
  if (outcome.reason instanceof Error) return outcome.reason;
  throw outcome.reason;
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
