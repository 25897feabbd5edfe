import type { DescriptionsOf } from './index.ts';

export const sites: DescriptionsOf<'sites'> = {
  list: { summary: 'List sites' },
  get: { summary: 'Get a site' },
  create: { summary: 'Create a site' },
};

export const clients: DescriptionsOf<'clients'> = {
  list: { summary: 'List clients' },
  get: { summary: 'Get a client' },
  update: {
    summary: 'Update a client',
    description: 'Its texts and its password policy. Omitted fields stay unchanged.',
  },
  site: { summary: 'Get the site of a client' },
  users: { summary: 'List the users of a client' },
  apps: { summary: 'List the apps of a client' },
  invitations: {
    summary: 'List the invitations of a client',
    description: 'Pending invitations, unless `status` is set.',
  },
  invite: { summary: 'Invite a user to a client', problems: ['throttled'] },
  create: { summary: 'Create a client' },
};

export const branding: DescriptionsOf<'branding'> = {
  get: {
    summary: 'Get the texts of public pages',
    description: 'The texts of the client whose site received the request.',
  },
};

export const environment: DescriptionsOf<'environment'> = {
  read: { summary: 'Get the running environment' },
};

export const audit: DescriptionsOf<'audit'> = {
  list: {
    summary: 'List audit entries',
    description: 'Who changed what, newest first. `cursor` is the id of the last entry of the previous page.',
  },
};

export const mail: DescriptionsOf<'mail'> = {
  list: {
    summary: 'List mails',
    description: 'Newest first. `cursor` is the id of the last mail of the previous page.',
  },
  get: { summary: 'Get a mail with its content' },
  retry: {
    summary: 'Send a mail now',
    description: 'Retries a mail that failed or is waiting.',
    problems: ['forbidden'],
  },
};
