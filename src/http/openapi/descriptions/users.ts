import { RECENT_PASSWORD } from './auth.ts';
import type { WordingOf } from './description.ts';

export const users: WordingOf<'users'> = {
  list: {
    summary: 'List users',
    description: 'Those whom you may see, in the order of their making.',
    problems: ['not-found'],
  },
  get: { summary: 'One user', description: 'Everybody may read themselves.' },
  create: {
    summary: 'Create a user',
    description: 'With a mail that lets them set a password, unless `send_email` is false.',
    problems: ['user-exists'],
  },
  update: {
    summary: 'Change a user',
    description:
      'What is left out stays. `apps` becomes exactly the apps named; those that you do not manage stay as they are. Client admins are not changed here.',
    problems: ['client-admin-locked', 'self-modification', 'last-superuser'],
  },
  deactivate: {
    summary: 'Deactivate a user',
    description: 'Ends all logins at once, on every instance. Repeating it changes nothing.',
    problems: ['client-admin-locked', 'self-modification', 'last-superuser'],
  },
};

export const roles: WordingOf<'roles'> = {
  update: {
    summary: 'Make somebody staff or a superuser, or no longer',
    description: RECENT_PASSWORD,
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  },
  setClientAdmin: {
    summary: 'Make somebody an admin of a client, or no longer',
    description: RECENT_PASSWORD,
    problems: ['self-modification', 'reauthentication-required'],
  },
};

const PENDING_ONLY = ['invitation-closed'] as const;

export const invitations: WordingOf<'invitations'> = {
  list: {
    summary: 'List your invitations',
    description:
      'Those that you have made, of clients that you see now. With `app`, those for that app, by every inviter. Pending ones, unless `status` says otherwise.',
    problems: ['not-found'],
  },
  create: {
    summary: 'Invite people, one or many',
    description:
      'An object or an array of them; the answer has the same form. All are made, or none. `dry_run` tells what would become of them. A client mails an address at most 20 invitations in an hour.',
    problems: ['throttled'],
  },
  pending: { summary: 'The pending invitation of an address', problems: ['ambiguous-invitation'] },
  update: {
    summary: 'Change a pending invitation',
    description:
      'By the address invited. Where several clients have invited it, `client` says whose is meant.',
    problems: ['ambiguous-invitation'],
  },
  search: {
    summary: 'Search all invitations',
    description: 'The newest first. `cursor` is the id of the last one of the page before.',
  },
  get: { summary: 'One invitation' },
  resend: { summary: 'Mail an invitation again', problems: [...PENDING_ONLY, 'throttled'] },
  revoke: {
    summary: 'Revoke an invitation',
    description: 'Its link opens nothing from then on.',
    problems: PENDING_ONLY,
  },
  copyLink: {
    summary: 'Copy the link of an invitation',
    description: 'The audit trail keeps who did. With a mail server set, only superusers may.',
    problems: PENDING_ONLY,
  },
  preview: { summary: 'What the link of an invitation shows', problems: ['invalid-link'] },
  accept: {
    summary: 'Accept an invitation',
    description: 'Somebody new sets a password and is logged in. Whoever has an account logs in first.',
    problems: ['invalid-link', 'invitation-closed', 'account-inactive', 'login-required', 'cross-site'],
  },
};
