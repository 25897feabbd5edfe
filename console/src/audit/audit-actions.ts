import type { Inputs } from '../api.ts';
import type { EventType } from '../live/what-changes.ts';

export type Action = NonNullable<Exclude<Inputs['audit']['list'], void>['action']>;

/** By action: the type of its event, and its words in a list, with the actor as the subject. */
const ACTIONS: Record<Action, [type: EventType, label: string]> = {
  'access-request.approve': ['access_request.approved', 'Approved a request for an app'],
  'access-request.close': ['access_request.closed', 'Closed a request for an app'],
  'access-request.create': ['access_request.created', 'Asked for an app'],
  'access-request.deny': ['access_request.denied', 'Denied a request for an app'],
  'access-request.withdraw': ['access_request.withdrawn', 'Withdrew a request for an app'],
  'access-view.create': ['access_view.created', 'Created a share link'],
  'access-view.deactivate': ['access_view.deactivated', 'Deactivated a share link'],
  'access-view.update': ['access_view.updated', 'Changed a share link'],
  'access-view.use': ['access_view.used', 'Opened a share link'],
  'app.add-openid-secret': ['app.openid_secret_added', 'Made a secret for the OpenID logins of an app'],
  'app.clear-cache': ['app.cache_cleared', 'Cleared the cache of an app'],
  'app.create': ['app.created', 'Created an app'],
  'app.fetch-package': ['app.package_fetched', 'Fetched a package'],
  'app.load-package': ['app.loaded', 'Loaded an app version'],
  'app.remove': ['app.removed', 'Removed an app'],
  'app.remove-openid': ['app.openid_removed', 'Removed the OpenID settings of an app'],
  'app.rollback-package': ['app.rolled_back', 'Rolled back an app'],
  'app.set-openid': ['app.openid_changed', 'Changed the OpenID settings of an app'],
  'app.update': ['app.updated', 'Changed an app'],
  'client.change-factor-policy': ['client.factor_policy_changed', 'Changed who needs a second factor'],
  'client.change-reminders': ['client.reminders_changed', 'Changed what a client reminds of'],
  'client.close': ['client.closed', 'Closed a client'],
  'client.create': ['client.created', 'Created a client'],
  'client.remove': ['client.removed', 'Removed a client'],
  'client.reopen': ['client.reopened', 'Reopened a client'],
  'client.update': ['client.updated', 'Changed a client'],
  'connection.create': ['connection.created', 'Created a connection for single sign-on'],
  'connection.remove': ['connection.removed', 'Removed a connection for single sign-on'],
  'connection.test': ['connection.tested', 'Tested a connection for single sign-on'],
  'connection.update': ['connection.updated', 'Changed a connection for single sign-on'],
  'directory.approve': ['directory.approved', 'Approved that a directory ends memberships'],
  'directory.hold': ['directory.held', 'A directory waits for an approval'],
  'directory.update': ['directory.updated', 'Changed the directory of a client'],
  'domain.add': ['domain.added', 'Added a domain'],
  'domain.lapse': ['domain.lapsed', 'The proof of a domain lapsed'],
  'domain.remove': ['domain.removed', 'Removed a domain'],
  'domain.verify': ['domain.verified', 'Verified a domain'],
  'domain.vouch': ['domain.vouched', 'Vouched for a domain'],
  'grant.expire': ['grant.expired', 'An app grant expired'],
  'grant.update': ['grant.updated', 'Changed the end of an app grant'],
  'group.create': ['group.created', 'Created a group'],
  'group.remove': ['group.removed', 'Removed a group'],
  'group.update': ['group.updated', 'Changed a group'],
  'identity.link': ['identity.linked', 'Connected an account to an identity provider'],
  'identity.note-address': ['identity.address_noted', 'Logged in with another address at the provider'],
  'identity.unlink': ['identity.unlinked', 'Unlinked an account from an identity provider'],
  'invitation.accept': ['invitation.accepted', 'Accepted an invitation'],
  'invitation.copy-link': ['invitation.link_copied', 'Copied an invitation link'],
  'invitation.create': ['invitation.created', 'Invited a person'],
  'invitation.renew': ['invitation.renewed', 'Invited a person again'],
  'invitation.resend': ['invitation.resent', 'Resent an invitation'],
  'invitation.revoke': ['invitation.revoked', 'Revoked an invitation'],
  'invitation.update': ['invitation.updated', 'Changed an invitation'],
  'login.expired': ['login.password_expired', 'Login with an expired password'],
  'login.fail': ['login.failed', 'Login failed'],
  'login.session': ['login.succeeded', 'Logged in with a browser'],
  'login.sso-fail': ['login.sso_failed', 'Single sign-on failed'],
  'login.token': ['login.token_created', 'Logged in for a token'],
  'mail.read-link': ['mail.link_read', 'Read the link of a mail'],
  'mail.retry': ['mail.retried', 'Retried a mail'],
  'membership.create': ['membership.created', 'Added a member to a client'],
  'membership.reactivate': ['membership.reactivated', 'Reactivated a member'],
  'membership.remove': ['membership.ended', 'Removed a member from a client'],
  'membership.set-roles': ['membership.roles_changed', 'Changed admins or roles of a client'],
  'membership.suspend': ['membership.suspended', 'Suspended a member'],
  'membership.update': ['membership.updated', 'Changed a membership'],
  'mfa.challenge': ['mfa.challenged', 'Was asked for a second factor'],
  'mfa.enroll': ['mfa.enrolled', 'Added a second factor'],
  'mfa.fail': ['mfa.failed', 'Wrong code or passkey'],
  'mfa.remove': ['mfa.removed', 'Removed a second factor'],
  'mfa.rename': ['mfa.renamed', 'Renamed a second factor'],
  'mfa.renew-recovery-codes': ['mfa.recovery_codes_renewed', 'Replaced their recovery codes'],
  'mfa.reset': ['mfa.reset', 'Reset the second factor of a person'],
  'mfa.use-recovery-code': ['mfa.recovery_code_used', 'Used a recovery code'],
  'password.change': ['password.changed', 'Changed their password'],
  'password.request-reset': ['password.reset_requested', 'Requested a password reset'],
  'password.reset': ['password.reset', 'Reset their password'],
  'request.refused': ['request.refused', 'Request refused'],
  'saved-filter.create': ['saved_filter.created', 'Created a saved filter'],
  'saved-filter.delete': ['saved_filter.deleted', 'Deleted a saved filter'],
  'saved-filter.set-default': ['saved_filter.default_changed', 'Changed the default filter of a stack'],
  'saved-filter.share': ['saved_filter.sharing_changed', 'Changed with whom a saved filter is shared'],
  'saved-filter.update': ['saved_filter.updated', 'Changed a saved filter'],
  'service-account.create': ['service_account.created', 'Created a service account'],
  'service-account.create-token': ['service_account.token_created', 'Created a token of a service account'],
  'service-account.narrow-token': ['service_account.token_narrowed', 'Narrowed a token of a service account'],
  'service-account.remove': ['service_account.removed', 'Removed a service account'],
  'service-account.revoke-token': ['service_account.token_revoked', 'Revoked a token of a service account'],
  'service-account.update': ['service_account.updated', 'Changed a service account'],
  'session.confirm': ['session.confirmed', 'Confirmed their password or second factor'],
  'session.end': ['session.ended', 'Ended a session'],
  'session.end-by-provider': ['session.ended_by_provider', 'Logged out by the identity provider'],
  'signing-key.rotate': ['signing_key.rotated', 'Replaced the key of tickets'],
  'site.create': ['site.created', 'Created a site'],
  'ticket.revoke': ['tickets.revoked', 'Revoked tickets'],
  'token.create': ['token.created', 'Created a token'],
  'token.narrow': ['token.narrowed', 'Narrowed a token'],
  'token.refresh': ['token.refreshed', 'Refreshed a token'],
  'token.revoke': ['token.revoked', 'Revoked a token'],
  'user.cancel-email': ['user.email_change_cancelled', 'Cancelled a new email address'],
  'user.change-apps': ['user.apps_changed', 'Changed apps of a person'],
  'user.change-email': ['user.email_changed', 'Changed the email address of a person'],
  'user.create': ['user.created', 'Created a person'],
  'user.deactivate': ['user.deactivated', 'Deactivated a person'],
  'user.erase': ['user.erased', 'Erased a person'],
  'user.export': ['user.exported', 'Exported data of a person'],
  'user.import': ['user.imported', 'Imported a person'],
  'user.make-superuser': ['user.made_superuser', 'Made a superuser'],
  'user.preview': ['user.previewed', "Looked at a person's home page"],
  'user.reactivate': ['user.reactivated', 'Reactivated a person'],
  'user.request-email': ['user.email_change_requested', 'Requested a new email address'],
  'user.revoke-sessions': ['user.sessions_revoked', 'Revoked sessions of a person'],
  'user.undo-email': ['user.email_change_undone', 'Undid a change of an email address'],
  'user.update': ['user.updated', 'Changed a person'],
  'user.update-roles': ['user.roles_updated', 'Changed the staff or superuser role of a person'],
  'user.view-as-begin': ['user.view_as_began', 'Began to view an app as a person'],
  'user.view-as-end': ['user.view_as_ended', 'Stopped viewing an app as a person'],
  'webhook.create': ['webhook.created', 'Created a webhook'],
  'webhook.disable': ['webhook.disabled', 'A webhook was disabled'],
  'webhook.remove': ['webhook.removed', 'Removed a webhook'],
  'webhook.replay': ['webhook.replayed', 'Replayed events to a webhook'],
  'webhook.rotate-secret': ['webhook.secret_rotated', 'Rotated the secret of a webhook'],
  'webhook.test': ['webhook.tested', 'Tested a webhook'],
  'webhook.update': ['webhook.updated', 'Changed a webhook'],
};

const labels = new Map<string, string>(Object.entries(ACTIONS).map(([action, [, label]]) => [action, label]));
const words = new Map<string, string>(Object.values(ACTIONS));

export const EVENT_TYPES = Object.values(ACTIONS)
  .map(([type]) => type)
  .toSorted();

/** The words for a type of event. A newer service may send further types. */
export const wordsOf = (type: string): string => words.get(type) ?? type;

export const isAction = (value: unknown): value is Action => typeof value === 'string' && labels.has(value);

/** A newer service may record further actions. */
export const labelOf = (action: string): string => labels.get(action) ?? action;

/** Such an entry changed a membership, so it is incomplete without the name of the client. */
export const isOfMembership = (action: string): boolean => action.startsWith('membership.');

export const ACTION_OPTIONS = [...labels]
  .map(([value, label]) => ({ value, label }))
  .toSorted((a, b) => a.label.localeCompare(b.label));
