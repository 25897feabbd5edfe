import { TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { type FieldErrors, invalid, Problem } from '../src/core/problems.ts';
import { problemOfDatabaseError } from '../src/services/database-errors.ts';

const CODES: Record<number, TRPCError['code']> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  503: 'SERVICE_UNAVAILABLE',
};

/** What a failed procedure means to its caller. Whatever nobody foresaw is an `internal-error`. */
export const problemOf = (error: unknown): Problem => {
  const cause = error instanceof TRPCError ? (error.cause ?? error) : error;
  if (cause instanceof Problem) return cause;
  if (error instanceof TRPCError && error.code === 'BAD_REQUEST') return badInput(cause);
  if (error instanceof TRPCError && error.code === 'NOT_FOUND')
    return new Problem('not-found', { cause: error });
  return problemOfDatabaseError(cause) ?? new Problem('internal-error', { cause });
};

export const trpcErrorOf = (problem: Problem): TRPCError =>
  new TRPCError({
    code: CODES[problem.status] ?? 'INTERNAL_SERVER_ERROR',
    message: problem.message,
    cause: problem,
  });

const badInput = (cause: unknown): Problem =>
  cause instanceof ZodError ? invalid(fieldErrors(cause), cause) : new Problem('malformed-body', { cause });

const fieldErrors = (error: ZodError): FieldErrors => {
  const fields: FieldErrors = {};
  for (const issue of error.issues) {
    const path = issue.path.map(String).join('.');
    fields[path] = [...(fields[path] ?? []), issue.message];
  }
  return fields;
};
