import type { TRPCClientError } from '@trpc/client';
import type { FieldErrors, ProblemCode } from '../lib/problems.ts';
import { ForeignAnswer, Unreachable } from './answers.ts';
import type { AppRouter } from './app-router.ts';

/** What a call fails with when Steward has refused it. `error.message` is a sentence for people. */
export type ProblemError<Code extends ProblemCode = ProblemCode> = TRPCClientError<AppRouter> & {
  data: {
    httpStatus: number;
    problem: { code: Code; fields?: FieldErrors | undefined; retryAfterSeconds?: number | undefined };
  };
};

/** Whether Steward has refused a call; with codes, whether for one of these reasons. */
export const isProblem = <const Code extends ProblemCode = ProblemCode>(
  error: unknown,
  ...codes: Code[]
): error is ProblemError<Code> => {
  const code = codeIn(error);
  return code !== undefined && (codes.length === 0 || codes.some((wanted) => wanted === code));
};

/** By form, not by class: a bundle may have two copies of `@trpc/client`. */
const codeIn = (error: unknown): string | undefined => {
  const { data } = Object(error) as { data?: { problem?: { code?: unknown } | null } | null }; // each step is asked for
  const code = data?.problem?.code;
  return typeof code === 'string' ? code : undefined;
};

/** What is wrong with which field, by dotted path of the input (`items.3.email`); empty for all other failures. */
export const fieldErrors = (error: unknown): FieldErrors =>
  isProblem(error) ? (error.data.problem.fields ?? {}) : {};

/** How long to wait before trying again, where Steward has said so. */
export const retryAfterSeconds = (error: unknown): number | undefined =>
  isProblem(error) ? error.data.problem.retryAfterSeconds : undefined;

/** Whether nothing has answered: the call may or may not have been carried out. */
export const isUnreachable = (error: unknown): boolean =>
  causes(error).some((at) => at instanceof Unreachable);

/** Whether something has answered that is not Steward, such as a proxy in front of it. */
export const isForeignAnswer = (error: unknown): boolean => {
  const [call, cause] = causes(error);
  if (call?.name !== 'TRPCClientError' || cause === undefined || isUnreachable(error)) return false;
  return cause instanceof ForeignAnswer || isUnreadable(cause);
};

/** How tRPC fails over JSON that is none of its answers. Whatever happens to a request has been dealt with by then. */
const isUnreadable = (cause: Error): boolean =>
  cause instanceof SyntaxError ||
  cause instanceof TypeError ||
  cause.message === 'Unable to transform response from server' ||
  cause.message === 'Stream closed before head was received';

const causes = (error: unknown): Error[] => (error instanceof Error ? [error, ...causes(error.cause)] : []);
