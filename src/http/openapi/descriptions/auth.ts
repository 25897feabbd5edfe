import type { WordingOf } from './description.ts';

const LOGIN_PROBLEMS = ['invalid-credentials', 'password_expired', 'throttled'] as const;
const ONE_SENTENCE = 'An unknown user, a wrong password and an inactive account answer the same.';

/** Also said of granting roles. */
export const RECENT_PASSWORD =
  'A browser session whose password was last entered more than 15 minutes ago is refused until `POST /api/v1/session/confirm/`.';

export const tokens: WordingOf<'tokens'> = {
  create: {
    summary: 'Log in for a token',
    description: `Send the token as \`Authorization: Token …\`. ${ONE_SENTENCE} JSON and forms are taken.`,
    problems: LOGIN_PROBLEMS,
  },
  createByEmail: {
    summary: 'Log in for a token by email',
    description: `The same by another name. ${ONE_SENTENCE}`,
    problems: LOGIN_PROBLEMS,
  },
  list: {
    summary: 'List your tokens',
    description: 'When each was made and last used, never the token itself.',
  },
  createNamed: {
    summary: 'Make a token with a name',
    description: `For scripts that are to keep theirs. This answer alone holds it. ${RECENT_PASSWORD}`,
    problems: ['reauthentication-required'],
  },
  revoke: { summary: 'Revoke a token of yours' },
};

export const sessions: WordingOf<'sessions'> = {
  create: {
    summary: 'Log a browser in',
    description:
      'Sets the cookie of the session. The CSRF token goes into the header `X-CSRFToken` of every later change.',
    problems: [...LOGIN_PROBLEMS, 'unauthenticated', 'cross-site'],
  },
  current: { summary: 'Who you are' },
  confirm: {
    summary: 'Enter your password again',
    description:
      'Lets this browser session make tokens and grant roles for the next 15 minutes. API tokens do not need it.',
    problems: ['throttled'],
  },
  end: { summary: 'Log out', description: 'Ends the session, or the token, that the request came with.' },
  list: { summary: 'List your sessions' },
  revoke: { summary: 'End a session of yours' },
  revokeAll: {
    summary: 'End all logins of a user',
    description: 'All sessions and tokens. The user may log in again.',
    problems: ['forbidden'],
  },
};

export const passwords: WordingOf<'passwords'> = {
  change: {
    summary: 'Change your password',
    description: 'Ends all your other logins. Every rule that the new password breaks is told.',
    problems: ['invalid-credentials', 'throttled'],
  },
  renew: {
    summary: 'Replace an expired password',
    description: 'For a password that is too old to log in with.',
    problems: LOGIN_PROBLEMS,
  },
  requestReset: {
    summary: 'Ask for a mail that resets a password',
    description: 'The answer is the same whoever has the address.',
    problems: ['throttled'],
  },
  verifyToken: {
    summary: 'What a mailed link opens',
    description: 'Consumes nothing.',
    problems: ['invalid-link'],
  },
  reset: { summary: 'Set a password by a mailed link', problems: ['invalid-link'] },
  check: {
    summary: 'Judge a password while it is typed',
    description: 'By your own policy, or by that of the client whose site this is. Nothing is kept.',
  },
  previewExpiry: { summary: 'Whom an expiry of passwords would affect' },
};
