import { RECENT_PASSWORD } from './auth.ts';
import type { DescriptionsOf } from './index.ts';

export const users: DescriptionsOf<'users'> = {
  list: {
    summary: 'List users',
    description: 'The users that you can see, in order of creation.',
    problems: ['not-found'],
  },
  get: { summary: 'Get a user', description: 'All users can get themselves.' },
  create: {
    summary: 'Create a user',
    description: 'Mails a link to set a password, unless `send_email` is false.',
    problems: ['user-exists'],
  },
  update: {
    summary: 'Update a user',
    description:
      'Omitted fields stay unchanged. `apps` replaces the apps of the user; apps that you do not manage stay as they are. Client admins cannot be updated here.',
    problems: ['client-admin-locked', 'self-modification', 'last-superuser'],
  },
  deactivate: {
    summary: 'Deactivate a user',
    description: 'Ends all sessions and tokens of the user immediately. Repeating it changes nothing.',
    problems: ['client-admin-locked', 'self-modification', 'last-superuser'],
  },
  export: {
    summary: 'Export everything about a user',
    description: `A zip archive with each kind of data as JSON and as CSV: profile, memberships, app grants, invitations, mails, sessions, tokens, saved filters, usage and audit entries. It holds no passwords, tokens or links. Users may export their own data, superusers that of all users. tRPC streams pages of \`{part, items}\`. ${RECENT_PASSWORD}`,
    problems: ['not-found', 'forbidden', 'reauthentication-required'],
  },
  previewErasure: {
    summary: 'Count what the erasure of a user would replace',
    description: `Changes nothing. \`confirmation\` is the code that the erasure asks for: it is valid for ten minutes, for you, and as long as the user does not change. ${RECENT_PASSWORD}`,
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  },
  erase: {
    summary: 'Erase a user',
    description: `Replaces the user by a pseudonym everywhere: account, invitations, mails, usage and audit trail. It cannot be undone. \`confirmation\` is the code of the preview, \`confirm_email\` the email address once more. If \`is_finished\` is false, the rest is replaced in the background. ${RECENT_PASSWORD}`,
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  },
};

export const roles: DescriptionsOf<'roles'> = {
  update: {
    summary: 'Grant or revoke the staff and superuser roles',
    description: RECENT_PASSWORD,
    problems: ['self-modification', 'last-superuser', 'reauthentication-required'],
  },
  setClientAdmin: {
    summary: 'Grant or revoke the admin role for a client',
    description: RECENT_PASSWORD,
    problems: ['self-modification', 'reauthentication-required'],
  },
};

const PENDING_ONLY = ['invitation-closed'] as const;

export const invitations: DescriptionsOf<'invitations'> = {
  list: {
    summary: 'List your invitations',
    description:
      'The invitations that you created, for clients that you can see. With `app`, those for that app by every inviter. Pending invitations, unless `status` is set.',
    problems: ['not-found'],
  },
  create: {
    summary: 'Invite one or more users',
    description:
      'Takes an object or an array of objects; the response has the same form. Creates all invitations or none. `dry_run` reports the result without inviting. A client can mail an address at most 20 invitations per hour.',
    problems: ['throttled'],
  },
  pending: {
    summary: 'Get the pending invitation of an email address',
    problems: ['ambiguous-invitation'],
  },
  update: {
    summary: 'Update a pending invitation',
    description:
      'By the invited email address. If several clients have invited it, `client` selects the invitation.',
    problems: ['ambiguous-invitation'],
  },
  search: {
    summary: 'Search all invitations',
    description: 'Newest first. `cursor` is the id of the last invitation of the previous page.',
  },
  get: { summary: 'Get an invitation' },
  resend: { summary: 'Resend an invitation', problems: [...PENDING_ONLY, 'throttled'] },
  revoke: {
    summary: 'Revoke an invitation',
    description: 'Its link becomes invalid.',
    problems: PENDING_ONLY,
  },
  copyLink: {
    summary: 'Get the link of an invitation',
    description:
      'The request is recorded in the audit trail. If a mail server is configured, only superusers can get links.',
    problems: PENDING_ONLY,
  },
  preview: { summary: 'Preview an invitation by its link', problems: ['invalid-link'] },
  accept: {
    summary: 'Accept an invitation',
    description: 'New users set a password and are logged in. Users with an account must log in first.',
    problems: ['invalid-link', 'invitation-closed', 'account-inactive', 'login-required', 'cross-site'],
  },
};
