import type { WordingOf } from './description.ts';

export const sites: WordingOf<'sites'> = {
  list: { summary: 'List sites' },
  get: { summary: 'One site' },
  create: { summary: 'Create a site' },
};

export const clients: WordingOf<'clients'> = {
  list: { summary: 'List clients' },
  get: { summary: 'One client' },
  update: {
    summary: 'Change a client',
    description: 'Its texts and its password policy. What is left out stays.',
  },
  site: { summary: 'The site of a client' },
  users: { summary: 'List the users of a client' },
  apps: { summary: 'List the apps of a client' },
  invitations: {
    summary: 'List the invitations of a client',
    description: 'Those that are pending, unless `status` says otherwise.',
  },
  invite: { summary: 'Invite somebody to a client', problems: ['throttled'] },
  create: { summary: 'Create a client' },
};

export const branding: WordingOf<'branding'> = {
  get: {
    summary: 'Texts for pages that come before a login',
    description: 'Of the client whose site the request was sent to.',
  },
};

export const environment: WordingOf<'environment'> = {
  read: { summary: 'About the running environment' },
};
