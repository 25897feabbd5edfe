import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { problemOfDatabaseError } from '../../src/db/database-errors.ts';
import { type FieldErrors, invalid, Problem, type ProblemCode } from '../../src/lib/problems.ts';

const CODES: Record<number, TRPCError['code']> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  408: 'TIMEOUT',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  503: 'SERVICE_UNAVAILABLE',
};

/** Errors of tRPC itself. */
const PROTOCOL_ERRORS: Partial<Record<TRPCError['code'], ProblemCode>> = {
  BAD_REQUEST: 'malformed-body',
  PARSE_ERROR: 'malformed-body',
  NOT_FOUND: 'not-found',
  METHOD_NOT_SUPPORTED: 'method-not-allowed',
  PAYLOAD_TOO_LARGE: 'body-too-large',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported-media-type',
};

/** tRPC uses the same code for a request body of an unsupported type. */
const STREAMED = 'This response is streamed. Call it with httpBatchStreamLink, or page by page.';

/** Converts the error of a procedure into a problem. Unexpected errors become `internal-error`. */
export const problemOf = (error: unknown): Problem => {
  const cause = error instanceof TRPCError ? (error.cause ?? error) : error;
  if (cause instanceof Problem) return cause;
  const code = error instanceof TRPCError ? PROTOCOL_ERRORS[error.code] : undefined;
  if (cause instanceof ZodError && code === 'malformed-body') return invalid(fieldErrors(cause), cause);
  if (code === 'unsupported-media-type' && cause instanceof TRPCError && /stream/.test(cause.message)) {
    return new Problem(code, { detail: STREAMED, cause });
  }
  if (code) return new Problem(code, { cause });
  return problemOfDatabaseError(cause) ?? new Problem('internal-error', { cause });
};

export const trpcErrorOf = (problem: Problem): TRPCError =>
  new TRPCError({
    // tRPC has no codes for 406, 414 and 431.
    code: CODES[problem.status] ?? (problem.status < 500 ? 'BAD_REQUEST' : 'INTERNAL_SERVER_ERROR'),
    message: problem.message,
    cause: problem,
  });

/** Bounds the size of the response to a hostile body. */
const MAX_ISSUES = 1_000;

/** Messages by dotted path; messages about the whole input have the key `body`. */
export const fieldErrors = ({ issues }: Pick<ZodError, 'issues'>): FieldErrors => {
  const fields: FieldErrors = {};
  for (const issue of issues.slice(0, MAX_ISSUES)) {
    const path = issue.path.map(String).join('.') || 'body';
    fields[path] ??= [];
    fields[path].push(issue.message);
  }
  return fields;
};
