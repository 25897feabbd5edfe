/**
 * What each procedure needs: transcribed from the tables of roles in docs/users.md, of credentials in docs/api.md, and of service accounts
 * in docs/scripts.md; not read from the router. Nouns, with their procedures, or `noun.verb kind` for one of several kinds of requests.
 */
export const COLUMNS = {
  /** Everyone: credentials make no difference. */
  public: {
    tokens: 'create createByEmail verify refresh',
    sessions: 'methods create answerChallenge startPasskey createByPasskey enrolment enrol',
    passwords: 'renew requestReset verifyToken reset check',
    profile: 'verifyEmail confirmEmail undoEmail',
    invitations: 'preview accept',
    branding: 'get',
    tickets: 'exchange',
  },
  /** Everyone: visitors learn over tRPC that they are visitors. */
  visitor: { sessions: 'current' },
  /** Everyone who is logged in, about what is theirs. */
  any: {
    tokens: 'list',
    sessions: 'list end',
    users: 'listViewAs',
    sites: 'list',
    apps: 'list',
    requests: 'list requestable',
    savedFilters: 'list create listShared',
  },
  /** People, who have a login. */
  login: { tokens: 'createNamed', sessions: 'confirm' },
  /** People, about their whole account. */
  account: {
    mfa: 'list startTotp confirmTotp startPasskey addPasskey renewRecoveryCodes',
    passwords: 'change',
    profile: 'update requestEmail pendingEmail cancelEmail viewedAs',
  },
  /** The owner of the factor. */
  'own-account': { mfa: 'rename remove' },
  /** The person, and superusers. */
  export: { users: 'export' },
  /** The owner. */
  own: {
    tokens: 'revoke uses narrow',
    sessions: 'revoke',
    requests: 'withdraw',
    savedFilters: 'get replace remove getState setState getSharing setSharing',
  },
  /** The person, and those who view the client. */
  person: { users: 'get permissions', memberships: 'list', access: 'explain', requests: 'get' },
  /** Members of the client with the app, and those who view the client. */
  app: { apps: 'get status permissions stacks', savedFilters: 'listByStack getDefault setDefault' },
  /** All people of the client, and those who view it. */
  member: { sites: 'get', clients: 'site', requests: 'create' },
  /** Those who have the app, and those who open all apps. */
  open: { apps: 'openTicket launch' },
  view: {
    sso: 'list',
    domains: 'list',
    passwords: 'previewExpiry',
    clients: 'list overview get users apps invitations previewInvitation gate factorPolicy',
    reminders: 'get',
    users: 'list people count table screen activity viewableApps',
    roles: 'listInClient',
    grants: 'list listEnding',
    groups: 'list get screen search',
    invitations: 'search get list pending',
    apps: 'versions compare',
    usage: 'listByApp listByUser listByUserInAllApps list series top report summary byApp dailyByApp',
    mail: 'list timeline get',
    listViews: 'list create pin',
    access: 'matrix grid listByUser ofPerson effective',
    attention: 'get',
    tickets: 'introspect',
    dataPermissions: 'getSchema previewLoad ofPerson ofApp',
    openid: 'get logouts',
  },
  /** A share link opens an app. */
  links: { accessViews: 'screen list get uses' },
  /** Of browsers: tokens are refused. */
  look: { users: 'viewAs' },
  /** Those who look, the person, and those who configure the client. */
  'end-look': { users: 'endViewAs' },
  people: {
    attention: 'setup',
    clients: 'invite',
    users: 'preview create update changeEmail deactivate previewOffboarding cancelEmailChange',
    'users.bulkUpdate': 'deactivate offboard add-to-groups set-attribute',
    dataPermissions: 'previewValue',
    memberships: 'update previewRemoval remove',
    groups: 'create update edit remove',
    invitations: 'create update revoke bulkUpdate copyLink copyLinks',
  },
  grants: {
    grants: 'extend create update remove',
    requests: 'approve deny',
    access: 'update',
    'users.update': 'apps',
    'users.bulkUpdate': 'grant-apps',
  },
  /** Who made the operation. */
  undo: { operations: 'undo' },
  /** Those who only have the app choose for themselves. */
  'choose-for-group': { 'savedFilters.setDefault': 'group' },
  credentials: {
    tokens: 'listByUser',
    sessions: 'listByUser revokeAll',
    users: 'resetFactors identities unlinkIdentity',
    'users.bulkUpdate': 'send-password-link',
    invitations: 'resend',
    mail: 'retry',
    'tickets.revoke': 'user',
  },
  /** Of credentials that count everywhere, which a confined one does not find. */
  logins: { tokens: 'revokeForUser', sessions: 'revokeForUser' },
  apps: {
    apps: 'previewMaintenance update clearCache',
    openid: 'update remove addSecret',
    accessViews: 'create update rotateKey deactivate embed',
    'tickets.revoke': 'app',
  },
  /** Those who only view the client find no share link. */
  'change-links': { 'tickets.revoke': 'view' },
  record: { usage: 'record' },
  settings: {
    serviceAccounts: 'list create get update remove tokens createToken revokeToken tokenUses narrowToken',
    sso: 'create update test remove',
    domains: 'add verify remove',
    clients: 'update updateGate updateFactorPolicy previewFactorPolicy',
    reminders: 'update preview',
    environment: 'read',
    webhooks: 'list get create update remove rotateSecret deliveries test replay',
    listViews: 'update remove',
    roles: 'setInClient',
    dataPermissions: 'setSchema',
    directory: 'get update listPeople listGroups listHeld requests approve',
  },
  /** Staff read the events to which platforms react. */
  audit: { audit: 'list listOperations', events: 'list position stream' },
  /** Data of all clients. */
  operate: { appPackages: 'fetch load', apps: 'create rollback' },
  administer: {
    domains: 'vouch',
    installationSso: 'list create domains addDomain removeDomain update test remove',
    sites: 'create',
    clients: 'create previewRemoval remove',
    users: 'previewErasure erase',
    roles: 'get update setClientAdmin',
    apps: 'previewRemoval remove',
    signingKeys: 'list rotate',
  },
  /** Of all clients, by a procedure that also serves a single client. */
  'administer-all': { 'tickets.revoke': 'all' },
} as const satisfies Record<string, Record<string, string>>;

export type Column = keyof typeof COLUMNS;

/** By the name of a procedure, or with the kind of the request, its column. */
export const COLUMN_OF: ReadonlyMap<string, Column> = new Map(
  Object.entries(COLUMNS).flatMap(([column, nouns]) =>
    Object.entries(nouns).flatMap(([noun, names]: [string, string]) =>
      names
        .split(' ')
        .map((name) => [`${noun}${noun.includes('.') ? ' ' : '.'}${name}`, column as Column] as const),
    ),
  ),
);

const VIEW = ['member', 'person', 'app', 'view'] as const satisfies Column[];
const CREDENTIALS = ['credentials', 'logins'] as const satisfies Column[];
const APPS = ['apps', 'links', 'change-links', 'record'] as const satisfies Column[];
const ALL_IN_CLIENT = [
  ...[...VIEW, ...CREDENTIALS, ...APPS],
  ...(['open', 'people', 'choose-for-group', 'grants', 'settings', 'audit', 'end-look'] as const),
] as const satisfies Column[];

/** What each role allows in its client; the last two, in all clients. */
export const ROLES = {
  none: [],
  member: ['member'],
  /** A member who has the app, and to whom everything belongs that has an owner. */
  owner: ['member', 'person', 'app', 'open', 'own', 'own-account', 'export', 'end-look'],
  auditor: [...VIEW, 'audit'],
  'help-desk': [...VIEW, ...CREDENTIALS],
  'people-manager': [...VIEW, ...CREDENTIALS, 'people', 'choose-for-group', 'grants', 'audit'],
  'app-manager': [...VIEW, ...APPS, 'grants', 'audit'],
  'client-admin': ALL_IN_CLIENT,
  /** The client admin who made the operation. */
  maker: [...ALL_IN_CLIENT, 'undo'],
  staff: [...VIEW, 'open', 'links', 'record', 'audit', 'operate'],
  superuser: [...ALL_IN_CLIENT, 'operate', 'administer', 'administer-all', 'export'],
} as const satisfies Record<string, readonly Column[]>;

export type Role = keyof typeof ROLES;

export type Actor = {
  name: string;
  /** Null: no credentials. */
  token: string | null;
  /** The role in each of the two clients. */
  roles: { readonly 1: Role; readonly 2: Role };
  isDead?: boolean;
  isService?: boolean;
  /** Whether the credential counts in one client only. */
  isConfined?: boolean;
  /** The only scope of the token. */
  scope?: string;
};

const allows = (role: Role, column: Column): boolean => (ROLES[role] as readonly Column[]).includes(column);

/** Whether a role allows all that another one does, about people and apps. */
export const allowsAllOf = (role: Role, other: Role): boolean =>
  ROLES[other].every((column) => allows(role, column));

/** The codes of which an actor gets one. `nothing`: what the actor may not see is not found, or is not in the list. */
type Expected =
  | ('ok' | 'unauthenticated' | 'insufficient-scope' | 'confined-session' | 'forbidden')
  | ('nothing' | 'forbidden or nothing' | 'insufficient-scope or nothing');

const OF_EVERYONE: readonly Column[] = ['visitor', 'any', 'login', 'account'];
const OF_PEOPLE: readonly Column[] = ['login', 'account', 'own-account', 'export'];
const OF_THE_ACCOUNT: readonly Column[] = ['account', 'own-account', 'export'];
const OF_THE_INSTALLATION: readonly Column[] = ['operate', 'administer'];
/** What members have, too: to others it does not exist. */
const WITHOUT_ROLE: readonly Column[] = [
  ...(['own', 'own-account', 'person', 'app', 'member', 'open', 'end-look'] as const),
];
const WITH_SOME_ROLE: readonly Column[] = [
  ...(['links', 'change-links', 'undo', 'export', 'administer-all', 'look', 'choose-for-group'] as const),
];

/** They also need the scope of what they reveal, open or undo, by docs/api.md: one scope is not enough. */
const WITH_MORE_SCOPES = new Set([
  ...['apps.openTicket', 'apps.launch', 'accessViews.create', 'accessViews.embed'],
  ...['webhooks.create', 'webhooks.update', 'operations.undo'],
]);

/** What an actor gets for a request about the things of a client; null: about none. */
export const expected = (
  request: string,
  { column, scope }: { column: Column; scope: string },
  actor: Actor,
  client: 1 | 2 | null,
): Expected => {
  if (actor.isDead || actor.token === null) return 'unauthenticated';
  if (actor.scope !== undefined && actor.scope !== scope) return 'insufficient-scope';
  if (actor.isService && OF_PEOPLE.includes(column)) return 'confined-session';
  if (actor.isConfined && [...OF_THE_ACCOUNT, ...OF_THE_INSTALLATION].includes(column))
    return 'confined-session';
  // Asked for once the thing was found.
  if (actor.scope !== undefined && WITH_MORE_SCOPES.has(request))
    return client && actor.roles[client] === 'none' ? 'insufficient-scope or nothing' : 'insufficient-scope';
  if (OF_EVERYONE.includes(column)) return 'ok';
  // Apps open for people.
  if (actor.isService && column === 'open') return 'nothing';
  if (actor.isConfined && column === 'logins')
    return allows(actor.roles[client ?? 1], column) ? 'nothing' : 'forbidden or nothing';
  const here = client ? [actor.roles[client]] : [actor.roles[1], actor.roles[2]];
  if (here.some((role) => allows(role, column))) return 'ok';
  const isElsewhere = [actor.roles[1], actor.roles[2]].some((role) => allows(role, column));
  if (WITHOUT_ROLE.includes(column) || isElsewhere) return 'nothing';
  return here.includes('none') || WITH_SOME_ROLE.includes(column) ? 'forbidden or nothing' : 'forbidden';
};
