import type { TRPCClientError } from '@trpc/client';
import type { FieldErrors, ProblemCode } from '../lib/problems.ts';
import type { AppRouter } from './app-router.ts';
import { ForeignAnswer, type StewardResponse, Unreachable } from './responses.ts';

/** Why Steward has refused a call: `error.data.problem`. */
export type Problem<Code extends ProblemCode = ProblemCode> = {
  code: Code;
  fields?: FieldErrors | undefined;
  retryAfterSeconds?: number | undefined;
};

/** The error of a call that Steward has refused. `error.message` is written for users. */
export type ProblemError<Code extends ProblemCode = ProblemCode> = TRPCClientError<AppRouter> & {
  data: { httpStatus: number; problem: Problem<Code> };
};

/** Whether Steward has refused the call; with `codes`, whether it did so with one of them. */
export const isProblem = <const Code extends ProblemCode = ProblemCode>(
  error: unknown,
  ...codes: Code[]
): error is ProblemError<Code> => {
  const code = problemCodeOf(error);
  return code !== undefined && (codes.length === 0 || codes.some((expected) => expected === code));
};

/** Does not use `instanceof`: a bundle may have two copies of `@trpc/client`. */
const problemCodeOf = (error: unknown): string | undefined => {
  const { data } = Object(error) as { data?: { problem?: { code?: unknown } | null } | null }; // every step may be missing
  const code = data?.problem?.code;
  return typeof code === 'string' ? code : undefined;
};

/** Messages by dotted path of the input (`items.3.email`); empty for other errors. */
export const fieldErrors = (error: unknown): FieldErrors =>
  isProblem(error) ? (error.data.problem.fields ?? {}) : {};

/** How long to wait before a retry. Undefined if Steward sent no `Retry-After`. */
export const retryAfterSeconds = (error: unknown): number | undefined =>
  isProblem(error) ? error.data.problem.retryAfterSeconds : undefined;

/** The ID of the failed request, as in the log of the service. Undefined if there was no response. */
export const requestId = (error: unknown): string | undefined => {
  // tRPC adds the response to the errors of its links, but not to their type.
  const { meta } = Object(error) as { meta?: { response?: StewardResponse } };
  return meta?.response?.headers.get('x-request-id') ?? undefined;
};

/** Whether there was no response. The call may or may not have been executed. */
export const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof Unreachable);

/** Whether another server responded, such as a proxy in front of Steward. */
export const isForeignAnswer = (error: unknown): boolean => {
  const [call, cause] = causesOf(error);
  if (call?.name !== 'TRPCClientError' || cause === undefined || isUnreachable(error)) return false;
  return cause instanceof ForeignAnswer || isParseError(cause);
};

/** The errors with which tRPC fails to parse the response of another service. Network errors are handled before. */
const isParseError = (cause: Error): boolean =>
  cause instanceof SyntaxError ||
  cause instanceof TypeError ||
  cause.message === 'Unable to transform response from server' ||
  cause.message === 'Stream closed before head was received';

const causesOf = (error: unknown): Error[] =>
  error instanceof Error ? [error, ...causesOf(error.cause)] : [];
