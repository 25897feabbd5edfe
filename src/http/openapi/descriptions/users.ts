import { RECENT_PASSWORD } from './auth.ts';
import type { DescriptionsOf } from './index.ts';

export const users: DescriptionsOf<'users'> = {
  list: [
    'List users',
    'The users that you can see, in order of creation, or of `sort` if `limit` or a page is requested.',
    ['not-found'],
  ],
  count: ['Count users', 'The exact number of users that match the filter.', ['not-found']],
  table: [
    'Download users as CSV',
    'All users that match the filter, in the order of `sort` at the time of the request, with the given `columns`: names of fields of a user, separated by commas. tRPC streams pages of objects with these fields.',
    ['not-found'],
  ],
  get: ['Get a user', 'All users can get themselves.'],
  permissions: ['Get what you may do with a user', 'For screens that offer only what you may do.'],
  create: [
    'Create a user',
    'The user joins the clients of the `apps`, and `client`: by default the only client that you administer, or the only one of the installation. Mails a link to set a password, unless `send_email` is false. A client admin whose requests name 20 accounts of other clients within an hour gets 429 for all of them until the hour is over.',
    ['user-exists', 'throttled'],
  ],
  update: [
    'Update a user',
    'Omitted fields stay unchanged. `apps` replaces the apps of the user; apps that you do not manage stay as they are. Client admins cannot be updated here. Of users who also belong to clients that you do not administer, you can change only `apps`.',
    ['client-admin-locked', 'shared-user', 'self-modification', 'last-superuser'],
  ],
  deactivate: [
    'Deactivate a user',
    'Ends all sessions and tokens of the user immediately. Repeating it changes nothing.',
    ['client-admin-locked', 'shared-user', 'self-modification', 'last-superuser'],
  ],
  bulkUpdate: [
    'Change many users',
    'Up to 1,000 addresses, or the next 1,000 users of a filter: to continue, send `next_cursor` as `cursor`, and `operation`. `send-password-link` mails a link to set a password, or the invitation of an address without an account. Each user is changed in a separate transaction, by the rules of `PATCH /jb/users/{email}/`; `results` has one entry for each. With an `Idempotency-Key`, a repeat continues an interrupted request as the same operation, and sends no mail twice; without one, it is another operation, and sends the mails again.',
    ['undo-expired', 'not-found'],
  ],
  export: [
    'Export everything about a user',
    `A zip archive with each kind of data as JSON and as CSV: profile, memberships, app grants, invitations, mails, sessions, tokens, saved filters, usage and audit entries. It holds no passwords, tokens or links. Users may export their own data, superusers that of all users. tRPC streams pages of \`{part, items}\`. ${RECENT_PASSWORD}`,
    ['not-found', 'forbidden', 'reauthentication-required'],
  ],
  previewErasure: [
    'Count what the erasure of a user would replace',
    `Changes nothing. \`confirmation\` is the code that the erasure asks for: it is valid for ten minutes, for you, and as long as the user does not change. ${RECENT_PASSWORD}`,
    ['self-modification', 'last-superuser', 'reauthentication-required'],
  ],
  erase: [
    'Erase a user',
    `Replaces the user by a pseudonym everywhere: account, invitations, mails, usage and audit trail. It cannot be undone. \`confirmation\` is the code of the preview, \`confirm_email\` the email address once more. If \`is_finished\` is false, the rest is replaced in the background. ${RECENT_PASSWORD}`,
    ['self-modification', 'last-superuser', 'reauthentication-required'],
  ],
};

export const access: DescriptionsOf<'access'> = {
  matrix: [
    'Get the access matrix of a client',
    'A page of its users, with those of its apps that each of them has. `apps` has all apps of the client. `cursor` is `next_cursor` of the previous page.',
  ],
  listByUser: [
    'List who granted the apps of a user, and when',
    'Null if neither the audit trail nor an accepted invitation says so.',
  ],
  update: [
    'Change the access matrix of a client',
    'Grants and revokes apps, all or nothing. An error names each invalid cell by its index. Cells that are as requested stay unchanged. `POST /jb/operations/{id}/undo/` undoes the change.',
    ['forbidden'],
  ],
};

export const operations: DescriptionsOf<'operations'> = {
  undo: [
    'Undo a change of many users',
    'Your own operation, within ten minutes. Reverts what is still as the operation left it; the rest is in `skipped`. Each request reverts the changes of up to 1,000 users and reports those of all requests so far: repeat it until `is_finished` is true, or if it was interrupted. Reactivated users must log in again.',
    ['undo-expired'],
  ],
};

export const roles: DescriptionsOf<'roles'> = {
  get: ['Read the staff and superuser roles', '', ['not-found']],
  update: [
    'Grant or revoke the staff and superuser roles',
    RECENT_PASSWORD,
    ['self-modification', 'last-superuser', 'reauthentication-required'],
  ],
  setClientAdmin: [
    'Grant or revoke the admin role for a client',
    RECENT_PASSWORD,
    ['self-modification', 'reauthentication-required'],
  ],
};

const PENDING_ONLY = ['invitation-closed'] as const;

export const invitations: DescriptionsOf<'invitations'> = {
  list: [
    'List your invitations',
    'The invitations that you created, for clients that you can see. With `app`, those for that app by every inviter. Pending invitations, unless `status` is set.',
    ['not-found'],
  ],
  create: [
    'Invite one or more users',
    'Takes an object or an array of objects; the response has the same form. Creates all invitations or none. `dry_run` reports the result without inviting. A client can send at most 20 invitations per hour to one email address.',
    ['throttled'],
  ],
  pending: ['Get the pending invitation of an email address', '', ['ambiguous-invitation']],
  update: [
    'Update a pending invitation',
    'By the invited email address. If several clients have invited it, `client` selects the invitation.',
    ['ambiguous-invitation'],
  ],
  search: [
    'Search all invitations',
    'Newest first. `cursor` is the id of the last invitation of the previous page.',
  ],
  get: ['Get an invitation'],
  resend: ['Resend an invitation', '', [...PENDING_ONLY, 'throttled']],
  revoke: ['Revoke an invitation', 'Its link becomes invalid.', PENDING_ONLY],
  bulkUpdate: [
    'Resend or revoke many invitations',
    'Up to 1,000 ids. Each invitation is changed in a separate transaction, by the rules of the request for one; `results` has one entry for each. With an `Idempotency-Key`, a repeat continues an interrupted request and sends no mail twice; without one, it sends the mails again.',
  ],
  copyLink: [
    'Get the link of an invitation',
    'The request is recorded in the audit trail. If a mail server is configured, only superusers can get links.',
    PENDING_ONLY,
  ],
  preview: ['Preview an invitation by its link', '', ['invalid-link']],
  accept: [
    'Accept an invitation',
    'New users set a password and are logged in. Users with an account must log in first.',
    ['invalid-link', 'invitation-closed', 'account-inactive', 'login-required', 'cross-site'],
  ],
};
