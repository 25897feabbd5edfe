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
  'dataPermissions',
  'directory',
  'domains',
  'environment',
  'events',
  'grants',
  'groups',
  'installationSso',
  'invitations',
  'listViews',
  'mail',
  'memberships',
  'mfa',
  'openid',
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

/** Speaks for the directory of the client of a service account, and for nothing else. */
export const DIRECTORY_SCOPE = 'scim';

/** What a token may do: read a noun, change it, or provision people. */
export type ActionScope = `${Noun}:${'read' | 'write'}` | typeof DIRECTORY_SCOPE;

export const SCOPES = [
  ...NOUNS.flatMap((noun) => [`${noun}:read`, `${noun}:write`] as const),
  DIRECTORY_SCOPE,
] as const;

/** Opens apps: by a launch, a ticket or forward authentication. */
export const OPENS_APPS: ActionScope = 'tickets:write';

type ProcedureType = 'query' | 'mutation' | 'subscription';

/** The scope of the noun of a procedure. Changes have `write`; it does not include `read`. */
export const scopeOf = (procedure: string, type: ProcedureType): ActionScope => {
  const noun = procedure.split('.')[0] as Noun; // a test compares the nouns with the router
  return `${noun}:${type === 'mutation' ? 'write' : 'read'}`;
};

/** What procedures need beside the scope of their noun. */
export const ALSO_NEEDED: Readonly<Record<string, ActionScope>> = {
  'accessViews.create': OPENS_APPS,
  'accessViews.embed': OPENS_APPS,
  'apps.launch': OPENS_APPS,
  'apps.openTicket': OPENS_APPS,
  'operations.undo': 'users:write',
  'webhooks.create': 'events:read',
  'webhooks.update': 'events:read',
};

/** All scopes that a call of a procedure needs. */
export const scopesOf = (procedure: string, type: ProcedureType): readonly ActionScope[] => {
  const also = ALSO_NEEDED[procedure];
  const own = scopeOf(procedure, type);
  return also === undefined ? [own] : [own, also];
};
