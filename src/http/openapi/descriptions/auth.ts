import type { DescriptionsOf } from './index.ts';

const LOGIN_PROBLEMS = ['invalid-credentials', 'password_expired', 'throttled'] as const;
const SAME_RESPONSE = 'An unknown user, a wrong password and an inactive account get the same response.';

/** For operations that grant access. */
export const RECENT_PASSWORD =
  'A browser session must have entered its password within the last 15 minutes; otherwise, confirm it with `POST /api/v1/session/confirm/` first.';

export const tokens: DescriptionsOf<'tokens'> = {
  create: {
    summary: 'Get a token',
    description: `Send the token as \`Authorization: Token …\`. ${SAME_RESPONSE} Accepts JSON and forms.`,
    problems: LOGIN_PROBLEMS,
  },
  createByEmail: {
    summary: 'Get a token by email',
    description: `Same as \`POST /api/v1/api-token-auth/\`, with \`email\` as the name of the field. ${SAME_RESPONSE}`,
    problems: LOGIN_PROBLEMS,
  },
  list: {
    summary: 'List your tokens',
    description: 'When each token was created and last used, but not the token itself.',
  },
  createNamed: {
    summary: 'Create a named token',
    description: `For scripts. The token is only shown in this response. ${RECENT_PASSWORD}`,
    problems: ['reauthentication-required'],
  },
  revoke: { summary: 'Revoke one of your tokens' },
};

export const sessions: DescriptionsOf<'sessions'> = {
  create: {
    summary: 'Start a browser session',
    description:
      'Sets the session cookie. Send the CSRF token of the response as the header `X-CSRFToken` with every change.',
    problems: [...LOGIN_PROBLEMS, 'unauthenticated', 'cross-site'],
  },
  current: { summary: 'Get the current user' },
  confirm: {
    summary: 'Confirm your password',
    description:
      'Allows this browser session to create tokens and grant roles for 15 minutes. API tokens do not need it.',
    problems: ['throttled'],
  },
  end: { summary: 'Log out', description: 'Ends the session or token of this request.' },
  list: { summary: 'List your sessions' },
  revoke: { summary: 'Revoke one of your sessions' },
  revokeAll: {
    summary: 'Revoke all sessions of a user',
    description: 'Revokes all sessions and tokens. The user may log in again.',
    problems: ['forbidden'],
  },
};

export const passwords: DescriptionsOf<'passwords'> = {
  change: {
    summary: 'Change your password',
    description: 'Ends all your other sessions. An error lists every rule that the new password breaks.',
    problems: ['invalid-credentials', 'throttled'],
  },
  renew: {
    summary: 'Change an expired password',
    description: 'For users who cannot log in because their password has expired.',
    problems: LOGIN_PROBLEMS,
  },
  requestReset: {
    summary: 'Request a password reset',
    description: 'Mails a link. The response does not reveal whether the account exists.',
    problems: ['throttled'],
  },
  verifyToken: {
    summary: 'Verify the token of a password reset',
    description: 'Does not use up the token.',
    problems: ['invalid-link'],
  },
  reset: { summary: 'Reset a password', problems: ['invalid-link'] },
  check: {
    summary: 'Check a password against the policy',
    description:
      'Against your own policy, or without a login that of the client whose site received the request. Nothing is stored.',
  },
  previewExpiry: { summary: 'Preview which users a password expiry would affect' },
};
