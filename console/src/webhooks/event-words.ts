import type { EventType } from '../live/what-changes.ts';

const WORDS: Record<EventType, string> = {
  'access_request.approved': 'A request for an app was approved',
  'access_request.closed': 'A request for an app was closed by itself',
  'access_request.created': 'Someone asked for an app',
  'access_request.denied': 'A request for an app was denied',
  'access_request.withdrawn': 'A request for an app was withdrawn',
  'access_view.created': 'A share link was created',
  'access_view.deactivated': 'A share link was deactivated',
  'access_view.updated': 'A share link was changed',
  'access_view.used': 'A share link was opened',
  'app.cache_cleared': 'The cache of an app was cleared',
  'app.loaded': 'A version of an app was loaded',
  'app.package_fetched': 'A version of an app was fetched',
  'app.removed': 'An app was removed',
  'app.rolled_back': 'An app went back to an earlier version',
  'app.updated': 'Texts or settings of an app were changed',
  'client.admin_added': 'A person became client admin',
  'client.admin_removed': 'A person is no longer client admin',
  'client.closed': 'A client was closed',
  'client.created': 'A client was created',
  'client.factor_policy_changed': 'Another second factor is required',
  'client.reminders_changed': 'What a client reminds of was changed',
  'client.removed': 'A client was removed',
  'client.reopened': 'A client was opened again',
  'client.updated': 'Texts or settings of a client were changed',
  'connection.created': 'An identity provider was connected',
  'connection.removed': 'An identity provider was removed',
  'connection.tested': 'The login with an identity provider was tested',
  'connection.updated': 'The settings of an identity provider were changed',
  'domain.added': 'A domain was added',
  'domain.lapsed': 'The proof of a domain is gone',
  'domain.removed': 'A domain was removed',
  'domain.verified': 'A domain was verified',
  'domain.vouched': 'A superuser vouched for a domain',
  'grant.expired': 'Access to apps ended at its date',
  'grant.updated': 'The end of an access was changed',
  'group.created': 'A group was created',
  'group.removed': 'A group was removed',
  'group.updated': 'The name, members or apps of a group were changed',
  'identity.address_noted': 'A provider names another address of a person',
  'identity.linked': 'An account was connected to an identity provider',
  'identity.unlinked': 'An account is no longer connected to an identity provider',
  'invitation.accepted': 'An invitation was accepted',
  'invitation.created': 'A person was invited',
  'invitation.link_copied': 'The link of an invitation was copied',
  'invitation.renewed': 'A person was invited again',
  'invitation.resent': 'The mail of an invitation was sent again',
  'invitation.revoked': 'An invitation was revoked',
  'invitation.updated': 'An invitation was changed',
  'login.failed': 'A login failed',
  'login.password_expired': 'A login failed because the password has expired',
  'login.sso_failed': 'A login with an identity provider failed',
  'login.succeeded': 'A person logged in',
  'login.token_created': 'A program logged in',
  'mail.link_read': 'An admin read the link of a mail',
  'mail.retried': 'A mail was sent again',
  'membership.ended': 'A person left a client',
  'membership.reactivated': 'A member was reactivated',
  'membership.suspended': 'A member was suspended',
  'membership.updated': 'What counts for a member in a client was changed',
  'mfa.challenged': 'A login asked for a second factor',
  'mfa.enrolled': 'A second factor was added',
  'mfa.failed': 'A code or passkey was wrong',
  'mfa.recovery_code_used': 'A recovery code was used',
  'mfa.recovery_codes_renewed': 'Recovery codes were replaced',
  'mfa.removed': 'A second factor was removed',
  'mfa.renamed': 'A second factor was renamed',
  'mfa.reset': 'The second factors of a person were reset',
  'password.changed': 'A person changed their password',
  'password.reset': 'A person reset their password',
  'password.reset_requested': 'A link to reset a password was mailed',
  'request.refused': 'A request was refused',
  'saved_filter.created': 'A filter was saved',
  'saved_filter.deleted': 'A saved filter was deleted',
  'saved_filter.updated': 'A saved filter was changed',
  'session.confirmed': 'A password or second factor was confirmed',
  'session.ended': 'A person logged out, or was logged out',
  'session.ended_by_provider': 'An identity provider logged a person out',
  'signing_key.rotated': 'The key that signs tickets was replaced',
  'site.created': 'A site was created',
  'tickets.revoked': 'Tickets were revoked',
  'token.created': 'An API token was created',
  'token.refreshed': 'An API token was refreshed',
  'token.revoked': 'An API token was revoked',
  'user.apps_changed': 'Access to apps was given or taken',
  'user.created': 'A person was created',
  'user.deactivated': 'A person was deactivated',
  'user.email_change_cancelled': 'A change of an email address was cancelled',
  'user.email_change_requested': 'A change of an email address was requested',
  'user.email_change_undone': 'A change of an email address was undone',
  'user.email_changed': 'An email address was changed',
  'user.erased': 'The data of a person was erased',
  'user.exported': 'The data of a person was downloaded',
  'user.imported': 'A person was imported',
  'user.made_superuser': 'A person was made superuser by a command',
  'user.previewed': 'An admin looked at the home page of a person',
  'user.reactivated': 'A person was reactivated',
  'user.roles_updated': 'Roles of a person were changed',
  'user.sessions_revoked': 'All sessions of a person were ended',
  'user.updated': 'The profile of a person was changed',
  'webhook.created': 'A webhook was created',
  'webhook.disabled': 'A webhook was disabled after failures',
  'webhook.removed': 'A webhook was removed',
  'webhook.replayed': 'Events were sent to a webhook again',
  'webhook.secret_rotated': 'The secret of a webhook was replaced',
  'webhook.tested': 'A webhook was tested',
  'webhook.updated': 'A webhook was changed',
};

const words = new Map<string, string>(Object.entries(WORDS));

/** A newer service may send further types. */
export const wordsOf = (type: string): string => words.get(type) ?? type;

export const EVENT_TYPES = Object.keys(WORDS) as EventType[]; // its keys

/** The group of a type: `Access request` for `access_request.approved`. */
const nounOf = (type: string): string => {
  const noun = type.replace(/\..*/, '').replaceAll('_', ' ');
  return noun === 'mfa' ? 'Second factor' : noun.charAt(0).toUpperCase() + noun.slice(1);
};

/** The types for a list of choices, grouped by their nouns. */
export const TYPE_CHOICES = [...Map.groupBy(EVENT_TYPES, nounOf)].map(([group, types]) => ({
  group,
  items: types.map((type) => ({ value: type, label: type })),
}));

/** `All events`, `user.deactivated` or `3 types of events`. */
export const typesText = (types: readonly string[]): string => {
  const [first] = types;
  if (first === undefined) return 'All events';
  return types.length === 1 ? first : `${types.length} types of events`;
};
