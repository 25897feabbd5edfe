import * as assert from 'uvu/assert';
import { Problem, type ProblemCode } from '../../src/lib/problems.ts';

/** The Problem itself, or the one that a TRPCError carries as its cause. */
const problemIn = (error: unknown): Problem | undefined => {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof Problem) return at;
  return undefined;
};

/** Asserts that the promise fails with the problem `code`, and returns the problem. */
export const rejectsWith = async (promise: Promise<unknown>, code: ProblemCode): Promise<Problem> => {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'fulfilled') assert.unreachable(`expected the problem ${code}, but it succeeded`);
  const error: unknown = outcome.status === 'rejected' ? outcome.reason : undefined;

  const problem = problemIn(error);
  if (!problem) throw error;
  assert.is(problem.code, code);
  return problem;
};
