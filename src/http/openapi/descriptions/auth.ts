import type { DescriptionsOf } from './index.ts';

const LOGIN_PROBLEMS = ['invalid-credentials', 'password_expired', 'throttled'] as const;
const TOKEN_PROBLEMS = ['invalid-token', 'throttled'] as const;
const SAME_RESPONSE = 'An unknown user, a wrong password and an inactive account get the same response.';

/** For operations that grant access. */
export const RECENT_PASSWORD =
  'A browser session must have entered its password within the last 15 minutes; otherwise, confirm it with `POST /api/v1/session/confirm/` first.';

export const tokens: DescriptionsOf<'tokens'> = {
  create: [
    'Get a token',
    `Send the token as \`Authorization: Token …\`. ${SAME_RESPONSE} Accepts JSON and forms.`,
    LOGIN_PROBLEMS,
  ],
  createByEmail: [
    'Get a token by email',
    `Same as \`POST /api/v1/api-token-auth/\`, with \`email\` as the name of the field. ${SAME_RESPONSE}`,
    LOGIN_PROBLEMS,
  ],
  verify: [
    'Verify a token',
    'Returns the token if it is valid. Does not count as a use of the token. Accepts JSON and forms.',
    TOKEN_PROBLEMS,
  ],
  refresh: [
    'Refresh a token',
    'Returns a new token. The old one ends a minute later; until then, another refresh of it returns the same new token. Accepts JSON and forms.',
    TOKEN_PROBLEMS,
  ],
  list: ['List your tokens', 'When each token was created and last used, but not the token itself.'],
  createNamed: [
    'Create a named token',
    `For scripts. The token is only shown in this response. ${RECENT_PASSWORD}`,
    ['reauthentication-required'],
  ],
  revoke: ['Revoke one of your tokens'],
  listByUser: [
    'List the tokens of a user',
    'When each token was created and last used, but not the token itself. For those who may change this user.',
    ['forbidden', 'shared-user'],
  ],
  revokeForUser: [
    'Revoke a token of a user',
    'For those who may change this user.',
    ['forbidden', 'shared-user'],
  ],
};

export const sessions: DescriptionsOf<'sessions'> = {
  create: [
    'Start a browser session',
    'Sets the session cookie. Send the CSRF token of the response as the header `X-CSRFToken` with every change.',
    [...LOGIN_PROBLEMS, 'unauthenticated', 'cross-site'],
  ],
  current: ['Get the current user'],
  confirm: [
    'Confirm your password',
    'Allows this browser session to create tokens and grant roles for 15 minutes. API tokens do not need it.',
    ['throttled'],
  ],
  end: ['Log out', 'Ends the session or token of this request.'],
  list: ['List your sessions'],
  revoke: ['Revoke one of your sessions'],
  listByUser: [
    'List the sessions of a user',
    'The browsers in which the user is logged in, last used first. For those who may change this user.',
    ['forbidden', 'shared-user'],
  ],
  revokeForUser: [
    'Revoke a session of a user',
    'For those who may change this user.',
    ['forbidden', 'shared-user'],
  ],
  revokeAll: [
    'Revoke all sessions of a user',
    'Revokes all sessions and tokens. The user may log in again.',
    ['forbidden', 'shared-user'],
  ],
};

export const passwords: DescriptionsOf<'passwords'> = {
  change: [
    'Change your password',
    'Ends all your other sessions. An error lists every rule that the new password breaks.',
    ['invalid-credentials', 'throttled'],
  ],
  renew: [
    'Change an expired password',
    'For users who cannot log in because their password has expired.',
    LOGIN_PROBLEMS,
  ],
  requestReset: [
    'Request a password reset',
    'Mails a link. The response does not reveal whether the account exists.',
    ['throttled'],
  ],
  verifyToken: ['Verify the token of a password reset', 'Does not use up the token.', ['invalid-link']],
  reset: ['Reset a password', '', ['invalid-link']],
  check: [
    'Check a password against the policy',
    'Against your own policy, or without a login that of the client whose site received the request. Nothing is stored.',
  ],
  previewExpiry: ['Preview which users a password expiry would affect'],
};
