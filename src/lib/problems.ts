/**
 * Every failure a caller can act on, in one table: code → HTTP status, and the sentence a human reads.
 * Whatever is not here is a bug and answers a bare 500.
 */
const PROBLEMS = {
  'invalid-input': [400, 'Some of the input is not valid.'],
  'malformed-request': [400, 'The request is not valid HTTP.'],
  'malformed-body': [400, 'The body cannot be read.'],
  'malformed-path': [400, 'The path is not correctly percent-encoded.'],
  'invalid-credentials': [400, 'Unable to log in with provided credentials.'],
  'user-exists': [400, 'A user with this email address already exists.'],
  'invalid-package': [400, 'The package cannot be accepted.'],
  unauthenticated: [401, 'A valid token is required.'],
  forbidden: [403, 'Your role does not allow this.'],
  'csrf-failed': [403, 'The X-CSRFToken header does not match the csrftoken cookie of this login.'],
  'cross-site': [403, 'The request was sent by a page of another site.'],
  // Spelt as callers have been told to expect it.
  password_expired: [403, 'The password has expired. Change it, or have it reset by mail.'],
  'account-inactive': [403, 'This account has been deactivated.'],
  'reauthentication-required': [
    403,
    'You entered your password too long ago for this. POST it to /api/v1/session/confirm/, then send this request again.',
  ],
  'login-required': [403, 'This address has an account: log in with it to accept.'],
  'client-admin-locked': [403, 'Client admins cannot be changed here.'],
  'self-modification': [403, 'You cannot take away your own access.'],
  'last-superuser': [403, 'The last active superuser must stay.'],
  'not-found': [404, 'There is no such thing here.'],
  'invalid-link': [404, 'This link is not valid, or has been used or replaced, or has expired.'],
  'method-not-allowed': [405, 'This path does not take that method.'],
  'not-acceptable': [406, 'No form that the Accept header asks for can be served.'],
  'request-timeout': [408, 'The request took too long to arrive.'],
  'invitation-closed': [409, 'This invitation is no longer open.'],
  'ambiguous-invitation': [409, 'Several pending invitations match: name one with ?client=.'],
  'idempotency-key-reused': [409, 'This Idempotency-Key came with another request before.'],
  'precondition-failed': [412, 'It has changed since you read it: read it again.'],
  'body-too-large': [413, 'The body is larger than this path takes.'],
  'path-too-long': [414, 'The path is too long.'],
  'unsupported-media-type': [415, 'The body must be application/json.'],
  'headers-too-large': [431, 'The headers are larger than the service takes.'],
  throttled: [429, 'Too many failed tries. Try again later.'],
  'rate-limited': [429, 'Too many requests within a minute. Try again later.'],
  'internal-error': [500, 'The request failed. Quote the request id when asking for help.'],
  'database-unavailable': [503, 'The database cannot be reached at the moment. Try again shortly.'],
  'package-store-unavailable': [503, 'The package store cannot be reached at the moment. Try again shortly.'],
  stopping: [503, 'The service is being stopped.'],
  overloaded: [503, 'Too much is going on at the moment. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, detail: string]>;

export type ProblemCode = keyof typeof PROBLEMS;

const TITLES: Partial<Record<ProblemCode, string>> = {
  'reauthentication-required': 'Password required again',
};

/** A few words for people: by default those of the code. */
export const titleOf = (code: ProblemCode): string => {
  const words = code.replaceAll('-', ' ');
  return TITLES[code] ?? words.charAt(0).toUpperCase() + words.slice(1);
};

/** Dotted input path (`email`, `items.3.apps.0`) → what is wrong with it. */
export type FieldErrors = Record<string, string[]>;

export type ProblemExtras = {
  /** Replaces the table's sentence where a more exact one can be told. */
  detail?: string;
  fields?: FieldErrors;
  retryAfterSeconds?: number;
  cause?: unknown;
};

/** An expected failure: thrown by services, told to the caller as it is. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly fields: FieldErrors | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    const [status, sentence] = PROBLEMS[code];
    super(extras.detail ?? sentence, { cause: extras.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = status;
    this.fields = extras.fields;
    this.retryAfterSeconds = extras.retryAfterSeconds ?? (status === 503 ? 2 : undefined);
  }
}

/** Input that is well-formed but breaks a rule; names each field. */
export const invalid = (fields: FieldErrors, cause?: unknown): Problem =>
  new Problem('invalid-input', { fields, cause });

export const USER_EXISTS: FieldErrors = { email: [PROBLEMS['user-exists'][1]] };

/** The address of a new user is somebody's; `others` names whatever else is wrong. */
export const userExists = (others: FieldErrors, cause?: unknown): Problem =>
  new Problem('user-exists', { fields: { ...others, ...USER_EXISTS }, cause });

/** @param role what the caller lacks, as it ends the sentence: `staff or superuser` */
export const roleRequired = (role: string): Problem =>
  new Problem('forbidden', { detail: `This needs the role ${role}.` });

export const NO_DISK_SPACE = 'The database has no disk space left.';

/** The same answer for what is missing and for what the caller may not see. */
export const notFound = (what: string): Problem =>
  new Problem('not-found', { detail: `There is no such ${what}.` });
