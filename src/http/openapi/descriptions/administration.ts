import type { DescriptionsOf } from './index.ts';

export const sites: DescriptionsOf<'sites'> = {
  list: ['List sites'],
  get: ['Get a site'],
  create: ['Create a site'],
};

export const clients: DescriptionsOf<'clients'> = {
  list: ['List clients'],
  get: ['Get a client'],
  update: ['Update a client', 'Its texts and its password policy. Omitted fields stay unchanged.'],
  site: ['Get the site of a client'],
  users: ['List the users of a client'],
  apps: ['List the apps of a client'],
  invitations: ['List the invitations of a client', 'Pending invitations, unless `status` is set.'],
  invite: ['Invite a user to a client', '', ['throttled']],
  create: ['Create a client'],
  previewInvitation: [
    'Preview the invitation mail of a client',
    'With the given texts, or else the saved ones. Nothing is saved or sent.',
  ],
  gate: ['Get who may open the apps of a client'],
  updateGate: [
    'Change who may open the apps of a client',
    'The apps of a closed client do not open, and its members do not see them; superusers close and reopen it. Pages of the `embed_origins` may show its apps in frames: Steward restricts its own pages, and sends the origins for the apps to proxies.',
  ],
};

export const branding: DescriptionsOf<'branding'> = {
  get: ['Get the texts of public pages', 'The texts of the client whose site received the request.'],
};

export const environment: DescriptionsOf<'environment'> = {
  read: ['Get the running environment'],
};

export const audit: DescriptionsOf<'audit'> = {
  list: [
    'List audit entries',
    'Who changed what, newest first. `cursor` is the id of the last entry of the previous page. Staff get only entries with the action `app.clear-cache`.',
  ],
};

export const attention: DescriptionsOf<'attention'> = {
  get: [
    'Get what needs your attention',
    'Failed mails, invitations that expire within three days, apps without use in 30 days, apps in maintenance, active users who have not logged in for 90 days, and expired passwords: the number of each, the first five, and the filter with which the list returns all of them.',
  ],
};

export const mail: DescriptionsOf<'mail'> = {
  list: ['List mails', 'Newest first. `cursor` is the id of the last mail of the previous page.'],
  timeline: [
    'List the mails and invitations of an email address',
    'Newest first, also of an email address without an account. `cursor` is the id of the last entry of the previous page.',
  ],
  get: ['Get a mail with its content'],
  retry: ['Send a mail now', 'Retries a mail that failed or is waiting.', ['forbidden']],
};
