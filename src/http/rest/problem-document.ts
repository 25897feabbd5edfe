import type { FastifyReply } from 'fastify';
import { problemOf } from '../../../routers/middleware/errors.ts';
import { type FieldErrors, Problem, type ProblemCode, titleOf } from '../../lib/problems.ts';
import { logFault } from '../middleware/request-logger.ts';

/** `{field: […]}`, or for an array body `{index: {field: […]}}`. */
export type ErrorsMember = Record<string, string[] | Record<string, string[]>>;

export const PROBLEM_TYPE = 'application/problem+json';

export const problemUrn = (code: ProblemCode): string => `urn:steward:problem:${code}`;

/** Fastify's error codes → problems. */
const FASTIFY_PROBLEMS: Record<string, ProblemCode> = {
  FST_ERR_BAD_URL: 'malformed-path',
  FST_ERR_MAX_PARAM_LENGTH: 'path-too-long',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
};

/**
 * Sends a failure as RFC 9457 `application/problem+json`.
 * @param errors replaces the errors of the problem, arranged like the body
 */
export const sendProblem = (reply: FastifyReply, error: unknown, errors?: ErrorsMember): FastifyReply => {
  const problem = prepareProblem(reply, error);
  return reply.type(PROBLEM_TYPE).send(problemDocument(problem, reply.request.id, errors));
};

/** Turns a failure into a problem, sets its status and headers, and logs it if it is a server error. */
export const prepareProblem = (reply: FastifyReply, error: unknown): Problem => {
  const problem = problemOfHttpError(error);
  logFault(reply.request, problem);
  const challenge = challengeOf(problem);
  if (challenge !== null) reply.header('www-authenticate', challenge);
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', problem.retryAfterSeconds);
  reply.code(problem.status);
  return problem;
};

/** `WWW-Authenticate` (RFC 6750 §3.1); null if other credentials would not help. */
export const challengeOf = ({ status, scope }: Problem): string | null => {
  if (scope !== undefined) return `Token error="insufficient_scope", scope="${scope}"`;
  return status === 401 ? 'Token' : null;
};

const NON_FIELD_CODES: readonly ProblemCode[] = [
  'invalid-credentials',
  'invalid-otp',
  'invalid-passkey',
  'invalid-token',
  'otp-required',
  'second-factor-required',
];

export const problemDocument = (problem: Problem, requestId: string, errors?: ErrorsMember): string => {
  const members = errors ?? (problem.fields && errorsByField(problem.fields));
  // Problems with other codes have their own messages.
  const detail = members && problem.code === 'invalid-input' ? describeErrors(members) : problem.message;
  return JSON.stringify({
    type: problemUrn(problem.code),
    title: titleOf(problem.code),
    status: problem.status,
    detail,
    instance: requestId,
    ...(members && { errors: members }),
    // Clients of Django REST framework read this member.
    ...(NON_FIELD_CODES.includes(problem.code) && { non_field_errors: [problem.message] }),
  });
};

/** Bounds the parts of the input, such as keys, that a message repeats. */
const MAX_DETAIL_LENGTH = 500;

/**
 * The first error, and the number of further ones, because many callers print only `detail`: `Element 3, email: Must be an email address.`
 */
const describeErrors = (members: ErrorsMember): string => {
  const messages = Object.entries(members).flatMap(([key, errors]) =>
    Array.isArray(errors)
      ? namedMessages(key, errors)
      : Object.entries(errors)
          .flatMap(([field, list]) => namedMessages(field, list))
          .map((message) => `Element ${key}, ${message}`),
  );
  const [first = titleOf('invalid-input'), ...others] = messages;
  const more =
    others.length === 0 ? '' : ` (and ${others.length} more ${others.length === 1 ? 'error' : 'errors'})`;
  return `${first.slice(0, MAX_DETAIL_LENGTH)}${more}`;
};

/** Messages of nested errors already contain their path. */
const namedMessages = (field: string, messages: string[]): string[] =>
  messages.map((message) => (message.startsWith(`${field}.`) ? message : `${field}: ${message}`));

/** A failure as a problem. Fastify's own errors have a status. */
export const problemOfHttpError = (error: unknown): Problem => {
  // Fastify also sets a status on errors that end the reading of a body.
  if (error instanceof Problem) return error;
  if (error instanceof Error && 'statusCode' in error && Number(error.statusCode) < 500) {
    const code = 'code' in error ? FASTIFY_PROBLEMS[String(error.code)] : undefined;
    return new Problem(code ?? 'malformed-body', { cause: error });
  }
  return problemOf(error);
};

/** One entry per field. The message of a nested error (`apps.1`) starts with its path. */
export const errorsByField = (fields: FieldErrors): Record<string, string[]> => {
  const errors: Record<string, string[]> = Object.create(null); // a field may be called `constructor`
  for (const [path, messages] of Object.entries(fields)) {
    const [field = '', ...nested] = path.split('.');
    const prefix = nested.length > 0 ? `${path}: ` : '';
    errors[field] ??= [];
    for (const message of messages) errors[field].push(prefix + message);
  }
  return errors;
};
