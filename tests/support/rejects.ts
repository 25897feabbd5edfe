import * as assert from 'uvu/assert';
import { isProblem, type ProblemError } from '../../src/client.ts';
import { InvalidSettings, readConfig } from '../../src/config/config.ts';
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

/** The lines about invalid settings. */
export const settingsFaults = (env: Record<string, string>): string[] => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof InvalidSettings) return error.lines;
    throw error;
  }
};
