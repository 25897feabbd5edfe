import type { Inputs, Outputs } from '../api.ts';

export type EventType = NonNullable<Inputs['webhooks']['create']['types']>[number];

/** The queries of a noun, or of one procedure. The entries of the table do not overlap. */
export type Refreshed = {
  [Noun in keyof Outputs & string]: Noun | `${Noun}.${keyof Outputs[Noun] & string}`;
}[keyof Outputs & string];

/** Queries that show people and their access. */
const PEOPLE = ['users', 'memberships', 'access', 'grants', 'groups'] as const;
/** Sessions, and the permissions of the user. */
const SESSIONS = ['sessions.current', 'sessions.list', 'sessions.listByUser'] as const;
/** Queries that show who has joined or left. */
const MEMBERS = [...PEOPLE, ...SESSIONS, 'roles', 'tokens', 'requests', 'attention'] as const;
const APPS = ['apps', 'access', 'grants', 'groups', 'requests', 'accessViews', 'attention'] as const;
const INVITATIONS = ['invitations', 'mail.list', 'mail.timeline', 'attention'] as const;
const ADDRESSES = ['users', 'profile', 'mail.list', 'mail.timeline'] as const;
const FACTORS = [...SESSIONS, 'mfa', 'users'] as const;

/** The queries that an event makes stale, in addition to the audit trail. */
export const REFRESHED: Record<EventType, readonly Refreshed[]> = {
  'access_request.approved': ['requests', ...PEOPLE],
  'access_request.closed': ['requests'],
  'access_request.created': ['requests'],
  'access_request.denied': ['requests'],
  'access_request.withdrawn': ['requests'],
  'access_view.created': ['accessViews'],
  'access_view.deactivated': ['accessViews'],
  'access_view.updated': ['accessViews'],
  'access_view.used': ['accessViews'],
  'app.cache_cleared': [],
  'app.loaded': ['apps', 'attention'],
  'app.package_fetched': ['apps'],
  'app.removed': [...APPS, 'users'],
  'app.rolled_back': ['apps', 'attention'],
  'app.updated': APPS,
  'client.admin_added': [...MEMBERS, 'clients'],
  'client.admin_removed': [...MEMBERS, 'clients'],
  'client.closed': ['clients', 'apps', 'access'],
  'client.created': ['clients', 'sites'],
  'client.factor_policy_changed': ['clients', 'mfa', 'users', 'sessions.current'],
  'client.reminders_changed': ['reminders'],
  'client.removed': [...MEMBERS, 'clients', 'sites', 'apps', 'invitations', 'webhooks'],
  'client.reopened': ['clients', 'apps', 'access'],
  'client.updated': ['clients'],
  'connection.created': ['sso'],
  'connection.removed': ['sso', 'users'],
  'connection.tested': ['sso'],
  'connection.updated': ['sso'],
  'domain.added': ['domains'],
  'domain.lapsed': ['domains'],
  'domain.removed': ['domains'],
  'domain.verified': ['domains'],
  'domain.vouched': ['domains'],
  'grant.expired': PEOPLE,
  'grant.updated': PEOPLE,
  'group.created': PEOPLE,
  'group.removed': PEOPLE,
  'group.updated': PEOPLE,
  'identity.address_noted': ['users'],
  'identity.linked': ['users', 'sso'],
  'identity.unlinked': ['users', 'sso'],
  'invitation.accepted': [...INVITATIONS, ...PEOPLE],
  'invitation.created': INVITATIONS,
  'invitation.link_copied': [],
  'invitation.renewed': INVITATIONS,
  'invitation.resent': INVITATIONS,
  'invitation.revoked': INVITATIONS,
  'invitation.updated': INVITATIONS,
  'login.failed': [],
  'login.password_expired': [],
  'login.sso_failed': [],
  'login.succeeded': ['sessions.list', 'sessions.listByUser'],
  'login.token_created': ['tokens'],
  'mail.link_read': [],
  'mail.retried': ['mail.list', 'mail.timeline', 'invitations', 'attention'],
  'membership.ended': MEMBERS,
  'membership.reactivated': MEMBERS,
  'membership.suspended': MEMBERS,
  'membership.updated': PEOPLE,
  'mfa.challenged': [],
  'mfa.enrolled': FACTORS,
  'mfa.failed': [],
  'mfa.recovery_code_used': FACTORS,
  'mfa.recovery_codes_renewed': FACTORS,
  'mfa.removed': FACTORS,
  'mfa.renamed': FACTORS,
  'mfa.reset': FACTORS,
  'password.changed': ['users', ...SESSIONS, 'tokens'],
  'password.reset': ['users', ...SESSIONS, 'tokens'],
  'password.reset_requested': ['mail.list', 'mail.timeline'],
  'request.refused': [],
  'saved_filter.created': [],
  'saved_filter.deleted': [],
  'saved_filter.updated': [],
  'session.confirmed': [],
  'session.ended': ['sessions.list', 'sessions.listByUser'],
  'session.ended_by_provider': ['sessions.list', 'sessions.listByUser'],
  'signing_key.rotated': ['signingKeys'],
  'site.created': ['sites', 'clients'],
  'tickets.revoked': [],
  'token.created': ['tokens'],
  'token.refreshed': ['tokens'],
  'token.revoked': ['tokens'],
  'user.apps_changed': [...PEOPLE, 'requests'],
  'user.created': [...PEOPLE, 'attention'],
  'user.deactivated': MEMBERS,
  'user.email_change_cancelled': ADDRESSES,
  'user.email_change_requested': ADDRESSES,
  'user.email_change_undone': [...ADDRESSES, ...PEOPLE],
  'user.email_changed': [...ADDRESSES, ...PEOPLE],
  'user.erased': [...MEMBERS, 'invitations', 'mail.list'],
  'user.exported': [],
  'user.imported': PEOPLE,
  'user.made_superuser': MEMBERS,
  'user.previewed': [],
  'user.reactivated': MEMBERS,
  'user.roles_updated': MEMBERS,
  'user.sessions_revoked': [...SESSIONS, 'tokens'],
  'user.updated': PEOPLE,
  'webhook.created': ['webhooks'],
  'webhook.disabled': ['webhooks'],
  'webhook.removed': ['webhooks'],
  'webhook.replayed': ['webhooks'],
  'webhook.secret_rotated': [],
  'webhook.tested': [],
  'webhook.updated': ['webhooks'],
};

/** Reading them is recorded, so they are never refetched automatically. */
export const READ_ONCE: readonly Refreshed[] = ['mail.get', 'users.preview'];

/** Counts over much data are refreshed less often. */
export const PACES_MS: Partial<Record<Refreshed, number>> = { attention: 30_000 };
