/** The nouns of the procedures: the first part of their names. */
export const NOUNS = [
  'access',
  'accessViews',
  'appPackages',
  'apps',
  'attention',
  'audit',
  'branding',
  'clients',
  'domains',
  'environment',
  'events',
  'grants',
  'groups',
  'installationSso',
  'invitations',
  'mail',
  'memberships',
  'mfa',
  'operations',
  'passwords',
  'profile',
  'reminders',
  'requests',
  'roles',
  'savedFilters',
  'serviceAccounts',
  'sessions',
  'signingKeys',
  'sites',
  'sso',
  'tickets',
  'tokens',
  'usage',
  'users',
  'webhooks',
] as const;

export type Noun = (typeof NOUNS)[number];

/** What a token may do: read a noun, or change it. */
export type ActionScope = `${Noun}:${'read' | 'write'}`;

export const SCOPES = NOUNS.flatMap((noun) => [`${noun}:read`, `${noun}:write`] as const);

/** Opens apps: by a launch, a ticket or forward authentication. */
export const OPENS_APPS: ActionScope = 'tickets:write';

/** The scope that a call of a procedure needs. Changes have `write`; it does not include `read`. */
export const scopeOf = (procedure: string, type: 'query' | 'mutation' | 'subscription'): ActionScope => {
  const noun = procedure.split('.')[0] as Noun; // a test compares the nouns with the router
  return `${noun}:${type === 'mutation' ? 'write' : 'read'}`;
};
