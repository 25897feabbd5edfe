import type { Inputs } from '../api.ts';
import { capitalized } from '../components/capitalized.ts';
import type { EventType } from '../live/what-changes.ts';

export type Action = NonNullable<Exclude<Inputs['audit']['list'], void>['action']>;

/**
 * By action: the type of its event, its words in a list of actions, and the sentence of an entry without its subject, the actor. `{target}`
 * and the like are names that the entry has.
 */
const ACTIONS: Record<Action, readonly [type: EventType, label: string, sentence: string]> = {
  'access-request.approve': [
    'access_request.approved',
    'Approved a request for an app',
    'approved the request of {target} for {app}',
  ],
  'access-request.close': [
    'access_request.closed',
    'Closed a request for an app',
    'closed the request of {target} for {app}',
  ],
  'access-request.create': ['access_request.created', 'Asked for an app', 'asked for {app}'],
  'access-request.deny': [
    'access_request.denied',
    'Denied a request for an app',
    'denied the request of {target} for {app}',
  ],
  'access-request.withdraw': [
    'access_request.withdrawn',
    'Withdrew a request for an app',
    'withdrew the request for {app}',
  ],
  'access-view.create': ['access_view.created', 'Created a share link', 'created a share link of {target}'],
  'access-view.deactivate': [
    'access_view.deactivated',
    'Deactivated a share link',
    'deactivated a share link of {target}',
  ],
  'access-view.rotate-key': [
    'access_view.key_rotated',
    'Replaced a share link',
    'replaced a share link of {target}',
  ],
  'access-view.update': ['access_view.updated', 'Changed a share link', 'changed a share link of {target}'],
  'access-view.use': ['access_view.used', 'Opened a share link', 'opened {target} by a share link'],
  'app.add-openid-secret': [
    'app.openid_secret_added',
    'Made a secret for the OpenID logins of an app',
    'made a secret for the OpenID logins of {target}',
  ],
  'app.clear-cache': ['app.cache_cleared', 'Cleared the cache of an app', 'cleared the cache of {target}'],
  'app.create': ['app.created', 'Created an app', 'created the app {target}'],
  'app.fetch-package': ['app.package_fetched', 'Fetched a package', 'fetched a package of {target}'],
  'app.load-package': ['app.loaded', 'Loaded an app version', 'loaded a version of {target}'],
  'app.remove': ['app.removed', 'Removed an app', 'removed the app {target}'],
  'app.remove-openid': [
    'app.openid_removed',
    'Removed the OpenID settings of an app',
    'removed the OpenID settings of {target}',
  ],
  'app.rollback-package': ['app.rolled_back', 'Rolled back an app', 'rolled {target} back'],
  'app.set-openid': [
    'app.openid_changed',
    'Changed the OpenID settings of an app',
    'changed the OpenID settings of {target}',
  ],
  'app.update': ['app.updated', 'Changed an app', 'changed the app {target}'],
  'client.change-factor-policy': [
    'client.factor_policy_changed',
    'Changed who needs a second factor',
    'changed who needs a second factor in {target}',
  ],
  'client.change-reminders': [
    'client.reminders_changed',
    'Changed the reminders of a client',
    'changed the reminders of {target}',
  ],
  'client.close': ['client.closed', 'Closed a client', 'closed the client {target}'],
  'client.create': ['client.created', 'Created a client', 'created the client {target}'],
  'client.remove': ['client.removed', 'Removed a client', 'removed the client {target}'],
  'client.reopen': ['client.reopened', 'Reopened a client', 'reopened the client {target}'],
  'client.update': ['client.updated', 'Changed a client', 'changed the client {target}'],
  'connection.create': [
    'connection.created',
    'Created a connection for single sign-on',
    'created the connection {target}',
  ],
  'connection.remove': [
    'connection.removed',
    'Removed a connection for single sign-on',
    'removed the connection {target}',
  ],
  'connection.test': [
    'connection.tested',
    'Tested a connection for single sign-on',
    'tested the connection {target}',
  ],
  'connection.update': [
    'connection.updated',
    'Changed a connection for single sign-on',
    'changed the connection {target}',
  ],
  'directory.approve': [
    'directory.approved',
    'Let a directory remove members',
    'let the directory of {target} remove members',
  ],
  'directory.hold': [
    'directory.held',
    'A directory waits for an approval',
    'held changes of the directory of {target} for approval',
  ],
  'directory.update': [
    'directory.updated',
    'Changed the directory of a client',
    'changed the directory of {target}',
  ],
  'domain.add': ['domain.added', 'Added a domain', 'added the domain {target}'],
  'domain.lapse': [
    'domain.lapsed',
    'The proof of a domain lapsed',
    'found the proof of the domain {target} missing',
  ],
  'domain.remove': ['domain.removed', 'Removed a domain', 'removed the domain {target}'],
  'domain.verify': ['domain.verified', 'Verified a domain', 'verified the domain {target}'],
  'domain.vouch': ['domain.vouched', 'Vouched for a domain', 'vouched for the domain {target}'],
  'grant.expire': [
    'grant.expired',
    'An app grant expired',
    'ended the access of {target} to {revoked}, as planned',
  ],
  'grant.update': [
    'grant.updated',
    'Changed the end of an app grant',
    'changed the access of {target} to {app}',
  ],
  'group.create': ['group.created', 'Created a group', 'created the group {target}'],
  'group.remove': ['group.removed', 'Removed a group', 'removed the group {target}'],
  'group.update': ['group.updated', 'Changed a group', 'changed the group {target}'],
  'identity.link': [
    'identity.linked',
    'Connected an account to an identity provider',
    'connected {target} to {name}',
  ],
  'identity.note-address': [
    'identity.address_noted',
    'Logged in with another address at the provider',
    'logged in with another address at the provider',
  ],
  'identity.unlink': [
    'identity.unlinked',
    'Unlinked an account from an identity provider',
    'disconnected {target} from {name}',
  ],
  'invitation.accept': ['invitation.accepted', 'Accepted an invitation', 'accepted the invitation'],
  'invitation.copy-link': [
    'invitation.link_copied',
    'Copied an invitation link',
    'copied the invitation link of {target}',
  ],
  'invitation.create': ['invitation.created', 'Invited a person', 'invited {target}'],
  'invitation.renew': ['invitation.renewed', 'Invited a person again', 'invited {target} again'],
  'invitation.resend': ['invitation.resent', 'Resent an invitation', 'sent the invitation of {target} again'],
  'invitation.revoke': ['invitation.revoked', 'Revoked an invitation', 'revoked the invitation of {target}'],
  'invitation.update': ['invitation.updated', 'Changed an invitation', 'changed the invitation of {target}'],
  'list-view.create': ['list_view.created', 'Saved a view of a list', 'saved a view of a list'],
  'list-view.delete': ['list_view.deleted', 'Deleted a saved view', 'deleted a saved view'],
  'list-view.pin': [
    'list_view.pin_changed',
    'Pinned or unpinned a saved view',
    'pinned or unpinned a saved view',
  ],
  'list-view.update': ['list_view.updated', 'Changed a saved view', 'changed a saved view'],
  'login.expired': [
    'login.password_expired',
    'Login with an expired password',
    'tried to log in with an expired password',
  ],
  'login.fail': ['login.failed', 'Login failed', 'tried to log in as {target} and failed'],
  'login.session': ['login.succeeded', 'Logged in with a browser', 'logged in'],
  'login.sso-fail': ['login.sso_failed', 'Single sign-on failed', 'tried to log in by {name} and failed'],
  'login.token': ['login.token_created', 'Logged in for a token', 'logged in for a token'],
  'mail.read-link': ['mail.link_read', 'Read the link of a mail', 'read the link of a mail to {target}'],
  'mail.retry': ['mail.retried', 'Retried a mail', 'sent a mail to {target} again'],
  'membership.create': ['membership.created', 'Added a member to a client', 'added {target} to {client}'],
  'membership.reactivate': [
    'membership.reactivated',
    'Reactivated a person in a client',
    'reactivated {target} in {client}',
  ],
  'membership.remove': [
    'membership.ended',
    'Removed a member from a client',
    'removed {target} from {client}',
  ],
  'membership.set-roles': [
    'membership.roles_changed',
    'Changed admins or roles of a client',
    'changed the roles of {target} in {client}',
  ],
  'membership.suspend': [
    'membership.suspended',
    'Suspended a person in a client',
    'suspended {target} in {client}',
  ],
  'membership.update': ['membership.updated', 'Changed a membership', 'changed {target} in {client}'],
  'mfa.challenge': ['mfa.challenged', 'Was asked for a second factor', 'was asked for a second factor'],
  'mfa.enroll': ['mfa.enrolled', 'Added a second factor', 'added a second factor'],
  'mfa.fail': ['mfa.failed', 'Wrong code or passkey', 'gave a wrong code or passkey'],
  'mfa.remove': ['mfa.removed', 'Removed a second factor', 'removed a second factor'],
  'mfa.rename': ['mfa.renamed', 'Renamed a second factor', 'renamed a second factor'],
  'mfa.renew-recovery-codes': [
    'mfa.recovery_codes_renewed',
    'Replaced their recovery codes',
    'replaced the recovery codes',
  ],
  'mfa.reset': ['mfa.reset', 'Reset the second factor of a person', 'reset the second factor of {target}'],
  'mfa.use-recovery-code': ['mfa.recovery_code_used', 'Used a recovery code', 'used a recovery code'],
  'password.change': ['password.changed', 'Changed their password', 'changed the password'],
  'password.request-reset': [
    'password.reset_requested',
    'Requested a password reset',
    'requested a password link for {target}',
  ],
  'password.reset': ['password.reset', 'Reset their password', 'set a new password by a link'],
  'request.refused': ['request.refused', 'Request refused', 'was refused a request'],
  'saved-filter.create': ['saved_filter.created', 'Created a saved filter', 'created a saved filter'],
  'saved-filter.delete': ['saved_filter.deleted', 'Deleted a saved filter', 'deleted a saved filter'],
  'saved-filter.set-default': [
    'saved_filter.default_changed',
    'Changed the default filter of a page group',
    'changed the default filter of {target}',
  ],
  'saved-filter.share': [
    'saved_filter.sharing_changed',
    'Changed with whom a saved filter is shared',
    'changed with whom a saved filter is shared',
  ],
  'saved-filter.update': ['saved_filter.updated', 'Changed a saved filter', 'changed a saved filter'],
  'service-account.create': [
    'service_account.created',
    'Created a service account',
    'created the service account {target}',
  ],
  'service-account.create-token': [
    'service_account.token_created',
    'Created a token of a service account',
    'created a token of {target}',
  ],
  'service-account.narrow-token': [
    'service_account.token_narrowed',
    'Narrowed a token of a service account',
    'narrowed a token of {target}',
  ],
  'service-account.remove': [
    'service_account.removed',
    'Removed a service account',
    'removed the service account {target}',
  ],
  'service-account.revoke-token': [
    'service_account.token_revoked',
    'Revoked a token of a service account',
    'revoked a token of {target}',
  ],
  'service-account.update': [
    'service_account.updated',
    'Changed a service account',
    'changed the service account {target}',
  ],
  'session.confirm': [
    'session.confirmed',
    'Confirmed their password or second factor',
    'confirmed the password or second factor',
  ],
  'session.end': ['session.ended', 'Ended a session', 'ended a session'],
  'session.end-by-provider': [
    'session.ended_by_provider',
    'Logged out by the identity provider',
    'was logged out by {name}',
  ],
  'signing-key.rotate': ['signing_key.rotated', 'Replaced the key of tickets', 'replaced the key of tickets'],
  'site.create': ['site.created', 'Created a site', 'created the site {target}'],
  'ticket.revoke': ['tickets.revoked', 'Revoked tickets', 'revoked the tickets of {target}'],
  'token.create': ['token.created', 'Created a token', 'created a token'],
  'token.narrow': ['token.narrowed', 'Narrowed a token', 'narrowed a token'],
  'token.refresh': ['token.refreshed', 'Refreshed a token', 'refreshed a token'],
  'token.revoke': ['token.revoked', 'Revoked a token', 'revoked a token'],
  'user.cancel-email': [
    'user.email_change_cancelled',
    'Cancelled a new email address',
    'cancelled the new address of {target}',
  ],
  'user.change-apps': ['user.apps_changed', 'Changed apps of a person', 'changed the apps of {target}'],
  'user.change-email': [
    'user.email_changed',
    'Changed the email address of a person',
    'changed the address of {target}',
  ],
  'user.create': ['user.created', 'Created a person', 'created {target}'],
  'user.deactivate': ['user.deactivated', 'Suspended a person', 'suspended {target}'],
  'user.erase': ['user.erased', 'Erased a person', 'erased {target}'],
  'user.export': ['user.exported', 'Exported data of a person', 'exported the data of {target}'],
  'user.import': ['user.imported', 'Imported a person', 'imported {target}'],
  'user.make-superuser': ['user.made_superuser', 'Made a superuser', 'made {target} a superuser'],
  'user.preview': ['user.previewed', "Looked at a person's home page", 'looked at the home page of {target}'],
  'user.reactivate': ['user.reactivated', 'Reactivated a person', 'reactivated {target}'],
  'user.request-email': [
    'user.email_change_requested',
    'Requested a new email address',
    'requested a new address for {target}',
  ],
  'user.revoke-sessions': [
    'user.sessions_revoked',
    'Revoked sessions of a person',
    'logged {target} out everywhere',
  ],
  'user.undo-email': [
    'user.email_change_undone',
    'Undid a change of email address',
    'restored the former address of {target}',
  ],
  'user.update': ['user.updated', 'Changed a person', 'changed {target}'],
  'user.update-roles': [
    'user.roles_updated',
    'Changed the staff or superuser role of a person',
    'changed the staff or superuser role of {target}',
  ],
  'user.view-as-begin': [
    'user.view_as_began',
    'Began to view an app as a person',
    'began to view {app} as {target}',
  ],
  'user.view-as-end': [
    'user.view_as_ended',
    'Stopped viewing an app as a person',
    'stopped viewing {app} as {target}',
  ],
  'webhook.create': ['webhook.created', 'Created a webhook', 'created the webhook {target}'],
  'webhook.disable': ['webhook.disabled', 'A webhook was disabled', 'disabled the webhook {target}'],
  'webhook.remove': ['webhook.removed', 'Removed a webhook', 'removed the webhook {target}'],
  'webhook.replay': [
    'webhook.replayed',
    'Replayed events to a webhook',
    'replayed events to the webhook {target}',
  ],
  'webhook.rotate-secret': [
    'webhook.secret_rotated',
    'Rotated the secret of a webhook',
    'rotated the secret of the webhook {target}',
  ],
  'webhook.test': ['webhook.tested', 'Tested a webhook', 'tested the webhook {target}'],
  'webhook.update': ['webhook.updated', 'Changed a webhook', 'changed the webhook {target}'],
};

const labels = new Map<string, string>(Object.entries(ACTIONS).map(([action, [, label]]) => [action, label]));
const words = new Map<string, string>(Object.values(ACTIONS).map(([type, label]) => [type, label]));
const sentences = new Map<string, string>(
  Object.entries(ACTIONS).map(([action, [, , sentence]]) => [action, sentence]),
);

export const EVENT_TYPES = Object.values(ACTIONS)
  .map(([type]) => type)
  .toSorted();

/** The words for a type of event. A newer service may send further types. */
export const wordsOf = (type: string): string => words.get(type) ?? type;

export const isAction = (value: unknown): value is Action => typeof value === 'string' && labels.has(value);

/** A newer service may record further actions. */
export const labelOf = (action: string): string => labels.get(action) ?? action;

/** The sentence of an entry after its subject. */
export const sentenceOf = (action: string, details: Details): string => {
  const { granted = [], revoked = [] } = details as { granted?: unknown[]; revoked?: unknown[] }; // as recorded
  if (action === 'user.change-apps')
    return (
      [
        granted.length > 0 && 'granted {granted} to {target}',
        revoked.length > 0 && 'took {revoked} from {target}',
      ]
        .filter((part) => part !== false)
        .join(' and ') || 'changed the apps of {target}'
    );
  if (action === 'group.update' && !('name' in details || 'apps' in details)) return membersSentence(details);
  if (action === 'login.session') return `logged in with ${loginMethod(details)}`;
  return sentences.get(action) ?? `${labelOf(action)}: {target}`;
};

/** Changes of many people that have entries of several actions: what was done, and what their undo undid. */
const OPERATIONS: Partial<Record<string, readonly [sentence: string, undone: string]>> = {
  'grant-apps': ['granted apps to {target}', 'the grant of apps to {target}'],
  'revoke-apps': ['took apps from {target}', 'the removal of apps from {target}'],
  'add-to-groups': ['added {target} to groups', 'the addition of {target} to groups'],
  deactivate: ['suspended {target}', 'the suspension of {target}'],
  reactivate: ['reactivated {target}', 'the reactivation of {target}'],
  offboard: ['offboarded {target}', 'the offboarding of {target}'],
};

/** The sentence of such an operation after its subject; undefined if it is not known. */
export const operationSentenceOf = (
  { change, people }: { change: string | null; people: number },
  isUndo: boolean,
): string | undefined => {
  const known = people > 0 ? OPERATIONS[change ?? ''] : undefined;
  return known && (isUndo ? `undid ${known[1]}` : known[0]);
};

const membersSentence = ({ members }: Details): string => {
  const { added = [], removed = [] } = Object(members) as { added?: unknown[]; removed?: unknown[] }; // as recorded
  if (added.length > 0 && removed.length === 0) return 'added {added} to the group {target}';
  if (removed.length > 0 && added.length === 0) return 'removed {removed} from the group {target}';
  return 'changed the group {target}';
};

const loginMethod = ({ connection, passkey }: Details): string => {
  if (connection !== undefined) return '{name}';
  return passkey === undefined ? 'a password' : 'a passkey';
};

type Details = Record<string, unknown>;

/** Where the name of an action has another word than the console. */
const GROUPS: Record<string, string> = {
  'access-request': 'Request for an app',
  'access-view': 'Share link',
  connection: 'Single sign-on',
  domain: 'Single sign-on',
  identity: 'Single sign-on',
  'list-view': 'Saved view',
  mfa: 'Second factor',
  request: 'Request to the service',
  user: 'Person',
};

const groupOf = (action: string): string => {
  const [noun = ''] = action.split('.');
  return GROUPS[noun] ?? capitalized(noun.replaceAll('-', ' '));
};

export const ACTION_OPTIONS = [...labels]
  .map(([value, label]) => ({ value, label, group: groupOf(value) }))
  .toSorted((a, b) => a.group.localeCompare(b.group) || a.label.localeCompare(b.label));
