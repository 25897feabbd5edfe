import type { Inputs, Outputs } from '../api.ts';

export type EventType = NonNullable<Inputs['webhooks']['create']['types']>[number];

/** The queries of a noun, or of one procedure. The entries of the table do not overlap. */
export type Refreshed = {
  [Noun in keyof Outputs & string]: Noun | `${Noun}.${keyof Outputs[Noun] & string}`;
}[keyof Outputs & string];

/** Queries that show people and their access, and where a directory states others. */
const PEOPLE = [
  'users',
  'memberships',
  'access',
  'grants',
  'groups',
  'dataPermissions',
  'directory',
] as const;
/** Sessions, and the permissions of the user. */
const SESSIONS = ['sessions.current', 'sessions.list', 'sessions.listByUser'] as const;
const ATTENTION = ['attention.get', 'attention.setup'] as const;
/** Queries that show who has joined or left. */
const MEMBERS = [...PEOPLE, ...SESSIONS, 'roles', 'tokens', 'requests', ...ATTENTION] as const;
const APPS = [
  'apps',
  'access',
  'dataPermissions',
  'grants',
  'groups',
  'requests',
  'accessViews',
  ...ATTENTION,
] as const;
const INVITATIONS = ['invitations', 'mail.list', 'mail.timeline', ...ATTENTION, 'directory'] as const;
const ADDRESSES = ['users', 'profile', 'mail.list', 'mail.timeline'] as const;
const FACTORS = [...SESSIONS, 'mfa', 'users'] as const;

/** By the noun of an event: the queries that it makes stale, in addition to the audit trail. */
const BY_NOUN: Record<string, readonly Refreshed[]> = {
  access_request: ['requests'],
  access_view: ['accessViews'],
  app: ['apps', ...ATTENTION],
  client: ['clients', 'sites', 'apps', 'access', 'dataPermissions'],
  connection: ['sso', 'users', ...ATTENTION],
  directory: ['directory'],
  domain: ['domains', 'directory'],
  grant: PEOPLE,
  group: PEOPLE,
  identity: ['users', 'sso'],
  invitation: INVITATIONS,
  list_view: ['listViews'],
  login: ['sessions.list', 'sessions.listByUser', 'tokens'],
  mail: ['mail.list', 'mail.timeline', 'invitations', ...ATTENTION],
  membership: MEMBERS,
  mfa: FACTORS,
  password: ['users', ...SESSIONS, 'tokens'],
  service_account: ['serviceAccounts'],
  session: ['sessions.list', 'sessions.listByUser'],
  signing_key: ['signingKeys'],
  site: ['sites', 'clients'],
  token: ['tokens'],
  user: MEMBERS,
  webhook: ['webhooks'],
};

/** Events that make more or fewer queries stale than the others of their noun. */
const OTHERS: Partial<Record<EventType, readonly Refreshed[]>> = {
  'access_request.approved': ['requests', ...PEOPLE],
  'app.cache_cleared': [],
  'app.openid_changed': ['openid'],
  'app.openid_removed': ['openid'],
  'app.openid_secret_added': ['openid'],
  'app.removed': [...APPS, 'users'],
  'app.updated': APPS,
  'membership.roles_changed': [...MEMBERS, 'clients', 'roles'],
  'client.factor_policy_changed': ['clients', 'mfa', 'users', 'sessions.current', ...ATTENTION],
  'client.reminders_changed': ['reminders'],
  'client.removed': [...MEMBERS, 'clients', 'sites', 'apps', 'invitations', 'webhooks'],
  'directory.held': ['directory', 'mail.list', 'mail.timeline'],
  'invitation.accepted': [...INVITATIONS, ...PEOPLE],
  'invitation.link_copied': [],
  'login.failed': [],
  'login.password_expired': [],
  'login.sso_failed': [],
  'mail.link_read': [],
  'membership.updated': PEOPLE,
  'mfa.challenged': [],
  'mfa.failed': [],
  'password.reset_requested': ['mail.list', 'mail.timeline'],
  'session.confirmed': [],
  'user.apps_changed': [...PEOPLE, 'requests'],
  'user.email_change_cancelled': ADDRESSES,
  'user.email_change_requested': ADDRESSES,
  'user.email_change_undone': [...ADDRESSES, ...PEOPLE],
  'user.email_changed': [...ADDRESSES, ...PEOPLE],
  'user.erased': [...MEMBERS, 'invitations', 'mail.list'],
  'user.exported': [],
  'user.previewed': [],
  'user.updated': PEOPLE,
  'user.view_as_began': ['users', 'profile'],
  'user.view_as_ended': ['users', 'profile'],
};

/** The queries that an event of this type makes stale. */
export const refreshedBy = (type: string): readonly Refreshed[] =>
  OTHERS[type as EventType] ?? BY_NOUN[type.slice(0, type.indexOf('.'))] ?? [];

/** All queries that an event can make stale. */
export const REFRESHABLE = new Set<Refreshed>([
  'audit',
  ...[BY_NOUN, OTHERS].flatMap((table) => Object.values(table)).flat(),
]);

/** Reading them is recorded, so they are never refetched automatically. */
export const READ_ONCE: readonly Refreshed[] = ['mail.get', 'users.preview'];

/** Counts over much data are refreshed less often. */
export const PACES_MS: Partial<Record<Refreshed, number>> = { 'attention.get': 30_000, directory: 5_000 };
