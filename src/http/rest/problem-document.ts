import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { type FieldErrors, Problem, type ProblemCode, titleOf } from '../../lib/problems.ts';

/** `{field: […]}`, or for an array body `{index: {field: […]}}`. */
export type ErrorsMember = Record<string, string[] | Record<string, string[]>>;

/** Faults that Fastify finds before a route is reached, by its codes. */
const FASTIFY_PROBLEMS: Record<string, ProblemCode> = {
  FST_ERR_BAD_URL: 'malformed-path',
  FST_ERR_MAX_PARAM_LENGTH: 'path-too-long',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
};

/** Answers a failure as RFC 9457 `application/problem+json`. `errors` may have been arranged for the body's form. */
export const sendProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  errors?: ErrorsMember,
): FastifyReply => {
  const problem = prepareProblem(request, reply, error);
  return reply.type('application/problem+json').send(problemDocument(problem, request.id, errors));
};

/** The problem that a failure is, with the status and the headers that go with it, and a line of the log if it is ours. */
export const prepareProblem = (request: FastifyRequest, reply: FastifyReply, error: unknown): Problem => {
  const problem = problemOfHttpError(error);
  if (problem.status >= 500) request.log.error({ err: problem }, problem.code);
  if (problem.status === 401) reply.header('www-authenticate', 'Token');
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  reply.code(problem.status);
  return problem;
};

export const problemDocument = (problem: Problem, requestId: string, errors?: ErrorsMember): string => {
  const members = errors ?? (problem.fields && errorsByField(problem.fields));
  return JSON.stringify({
    type: `urn:steward:problem:${problem.code}`,
    title: titleOf(problem.code),
    status: problem.status,
    detail: problem.message,
    instance: requestId,
    ...(members && { errors: members }),
    // Where callers of Django REST framework look for it.
    ...(problem.code === 'invalid-credentials' && { non_field_errors: [problem.message] }),
  });
};

const problemOfHttpError = (error: unknown): Problem => {
  if (error instanceof Error && 'statusCode' in error && Number(error.statusCode) < 500) {
    const code = 'code' in error ? FASTIFY_PROBLEMS[String(error.code)] : undefined;
    return new Problem(code ?? 'malformed-body', { cause: error });
  }
  return problemOf(error);
};

/** One entry a field; a fault deeper inside (`apps.1`) names its place in the message. */
export const errorsByField = (fields: FieldErrors): Record<string, string[]> => {
  const errors: Record<string, string[]> = {};
  for (const [path, messages] of Object.entries(fields)) {
    const [field = '', ...inside] = path.split('.');
    const place = inside.length > 0 ? `${field}.${inside.join('.')}: ` : '';
    errors[field] ??= [];
    for (const message of messages) errors[field].push(place + message);
  }
  return errors;
};
