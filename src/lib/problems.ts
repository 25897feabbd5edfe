/**
 * Every failure that a caller can act on: code → HTTP status, title, and default detail. Any other failure is a bug, and answered with 500
 * without details.
 */
const PROBLEMS = {
  'invalid-input': [400, 'Invalid input', 'Some of the input is invalid.'],
  'malformed-request': [400, 'Malformed request', 'The request is not valid HTTP.'],
  'malformed-body': [400, 'Malformed request body', 'The request body cannot be parsed.'],
  'malformed-path': [400, 'Malformed path', 'The path contains invalid percent-encoding.'],
  'invalid-credentials': [400, 'Invalid credentials', 'Unable to log in with provided credentials.'],
  'invalid-launch-code': [
    400,
    'Invalid launch code',
    'This code is unknown, was already used, or is older than a minute. Open the app again.',
  ],
  'invalid-token': [400, 'Invalid token', 'The token is invalid or expired.'],
  'otp-required': [
    400,
    'Second factor required',
    'This account has a second factor. Send a code of the authenticator app, or a recovery code.',
  ],
  'invalid-otp': [400, 'Invalid code', 'This code is wrong, has expired or was already used.'],
  'invalid-challenge': [
    400,
    'Invalid or expired login',
    'No login waits for a code: it has expired, was already completed, or had too many wrong codes. Log in with the password again.',
  ],
  'invalid-passkey': [
    400,
    'Passkey not accepted',
    'This passkey was not accepted: it is unknown here, or the request for it has expired or was already answered. Try again.',
  ],
  'user-exists': [400, 'Duplicate user', 'A user with this email address already exists.'],
  'invalid-package': [400, 'Invalid package', 'The package is invalid.'],
  'view-as-unsupported': [
    400,
    'View as someone not supported',
    'This app does not declare `view_as` in its package: it would let you make changes as this person.',
  ],
  unauthenticated: [401, 'Unauthenticated', 'No credentials were sent, or they are invalid or expired.'],
  forbidden: [403, 'Forbidden', 'Your role does not allow this.'],
  'confined-session': [
    403,
    'Confined session',
    'You have logged in with the identity provider of a client, and this concerns your whole account. Log in with your password.',
  ],
  'insufficient-scope': [403, 'Insufficient scope', 'The scopes of this token do not allow this.'],
  'role-lost': [
    403,
    'Role lost',
    'You have lost a role while this request was under way. Nothing was changed.',
  ],
  'csrf-failed': [
    403,
    'CSRF check failed',
    'The X-CSRFToken header does not match the csrftoken cookie. Get a new token with GET /api/v1/csrf/.',
  ],
  'cross-site': [403, 'Cross-site request', 'The request was sent by a page of another site.'],
  // The code is part of the documented interface, underscore included.
  password_expired: [
    403,
    'Expired password',
    'The password has expired. Change it, or request a reset by email.',
  ],
  'sso-required': [
    403,
    'Single sign-on required',
    'Your organization requires single sign-on. Log in with your identity provider instead of a password.',
  ],
  'sso-failed': [403, 'Single sign-on failed', 'The identity provider could not log you in.'],
  'account-inactive': [403, 'Inactive account', 'This account has been deactivated.'],
  'reauthentication-required': [
    403,
    'Password confirmation required',
    'Confirm your password with POST /api/v1/session/confirm/, then send this request again.',
  ],
  'second-factor-required': [403, 'Second factor required', 'This needs a login with a second factor.'],
  'login-required': [
    403,
    'Login required',
    'An account with this email address exists. Log in to accept the invitation.',
  ],
  'attributes-invalid': [
    403,
    'Invalid data permissions',
    'The data permissions of this person do not fit the app. An admin of the client can correct them.',
  ],
  'client-closed': [403, 'Closed client', 'The client of this app is closed.'],
  'client-admin-locked': [
    403,
    'Cannot modify a client admin',
    'Client admins cannot be updated through this endpoint.',
  ],
  'shared-user': [
    403,
    'User of other clients',
    'This user belongs, or has belonged, to several clients. Change what counts in your clients; only the person and superusers change the account.',
  ],
  'self-modification': [403, 'Cannot modify yourself', 'You cannot remove your own access.'],
  'last-client-admin': [403, 'Last client admin', 'At least one active admin must remain in the client.'],
  'last-superuser': [403, 'Last superuser', 'At least one active superuser must remain.'],
  'not-found': [404, 'Not found', 'Not found.'],
  'invalid-link': [
    404,
    'Invalid or expired link',
    'This link is invalid or expired, or was already used. Request a new one.',
  ],
  'method-not-allowed': [405, 'Method not allowed', 'This path does not support this method.'],
  'not-acceptable': [406, 'Not acceptable', 'None of the requested formats is available.'],
  'request-timeout': [408, 'Request timeout', 'The request took too long to arrive.'],
  'invitation-closed': [409, 'Closed invitation', 'This invitation is no longer open.'],
  'ambiguous-invitation': [
    409,
    'Ambiguous invitation',
    'Several pending invitations match. Choose one with ?client=.',
  ],
  'passkeys-unavailable': [
    409,
    'Passkeys unavailable',
    'This service has no address for which browsers have passkeys.',
  ],
  'not-unique': [409, 'Not unique', 'Another one has this name.'],
  'request-decided': [409, 'Decided request', 'This request is no longer pending.'],
  'idempotency-key-reused': [
    409,
    'Reused idempotency key',
    'This key was already used for a different request.',
  ],
  'not-closed': [409, 'Not closed', 'Only what is closed can be removed.'],
  'undo-expired': [409, 'Expired undo', 'The time to continue or undo this operation has passed.'],
  'precondition-failed': [
    412,
    'Precondition failed',
    'The resource has changed since you read it. Read it again, then repeat the change.',
  ],
  'body-too-large': [413, 'Request body too large', 'The request body exceeds the limit of this path.'],
  'path-too-long': [414, 'Path too long', 'The path is too long.'],
  'unsupported-media-type': [
    415,
    'Unsupported media type',
    'The request body must be JSON (Content-Type: application/json).',
  ],
  'headers-too-large': [431, 'Request headers too large', 'The request headers are too large.'],
  throttled: [429, 'Too many attempts', 'Too many failed attempts. Try again later.'],
  'held-for-approval': [
    429,
    'Held for approval',
    'This was held for approval: an admin of the client must approve it in Steward first.',
  ],
  'rate-limited': [429, 'Too many requests', 'Too many requests in one minute. Try again later.'],
  'internal-error': [
    500,
    'Internal error',
    'The request failed. Quote the request id when you contact support.',
  ],
  'database-unavailable': [
    503,
    'Database unavailable',
    'The database is temporarily unavailable. Try again shortly.',
  ],
  'package-store-unavailable': [
    503,
    'Package store unavailable',
    'The package store is temporarily unavailable. Try again shortly.',
  ],
  'provider-unavailable': [
    503,
    'Identity provider unavailable',
    'The identity provider does not answer. Try again shortly.',
  ],
  'dns-unavailable': [503, 'Name server unavailable', 'No name server answered. Try again shortly.'],
  'app-in-maintenance': [503, 'App in maintenance', 'This app is in maintenance. Try again later.'],
  stopping: [503, 'Service stopping', 'The service is shutting down. Try again shortly.'],
  overloaded: [503, 'Service overloaded', 'The service is overloaded. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, title: string, detail: string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export const titleOf = (code: ProblemCode): string => PROBLEMS[code][1];

/** Dotted input path (`email`, `items.3.apps.0`) → messages about it. */
export type FieldErrors = Record<string, string[]>;

type ProblemExtras = {
  /** Replaces the default detail of the code. */
  detail?: string;
  fields?: FieldErrors;
  retryAfterSeconds?: number;
  /** Replaces the status of the code where clients of an endpoint expect another one. */
  status?: 400;
  /** The step that a session still needs: see `nextAppStep`. */
  loginStep?: 'code' | 'enrol' | 'passkey';
  /** The scope that the token lacks. */
  scope?: string;
  cause?: unknown;
};

/** Whether operators should investigate. An app in maintenance is intended. */
export const isFault = ({ status, code }: { status: number; code: ProblemCode }): boolean =>
  status >= 500 && code !== 'app-in-maintenance';

/** An expected failure, thrown by services. Its message is sent to the caller. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly fields: FieldErrors | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly loginStep: 'code' | 'enrol' | 'passkey' | undefined;
  readonly scope: string | undefined;

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    const [status, , detail] = PROBLEMS[code];
    super(extras.detail ?? detail, { cause: extras.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = extras.status ?? status;
    this.fields = extras.fields;
    this.loginStep = extras.loginStep;
    this.scope = extras.scope;
    this.retryAfterSeconds = extras.retryAfterSeconds ?? (status === 503 ? 2 : undefined);
  }
}

/** Well-formed input that breaks a rule, with messages by field. */
export const invalid = (fields: FieldErrors, cause?: unknown): Problem =>
  new Problem('invalid-input', { fields, cause });

/** Input that breaks a rule about no single field. */
export const invalidInput = (detail: string, cause?: unknown): Problem =>
  new Problem('invalid-input', { detail, cause });

export const USER_EXISTS: FieldErrors = { email: [PROBLEMS['user-exists'][2]] };

/** @param otherErrors errors of the other fields, reported together with the duplicate email */
export const userExists = (otherErrors: FieldErrors, cause?: unknown): Problem =>
  new Problem('user-exists', { fields: { ...otherErrors, ...USER_EXISTS }, cause });

/** @param role the roles that would allow it: `staff or superuser` */
export const roleRequired = (role: string): Problem =>
  new Problem('forbidden', { detail: `This needs the role ${role}.` });

/** @param scope the scope that would allow it: `users:write` */
export const scopeRequired = (scope: string): Problem =>
  new Problem('insufficient-scope', { scope, detail: `This needs a token with the scope ${scope}.` });

export const NO_DISK_SPACE = 'The database has no disk space left.';

/** Used for missing resources, and for resources that the caller may not see: the response does not reveal which. */
export const notFound = (noun: string): Problem => new Problem('not-found', { detail: `No such ${noun}.` });
