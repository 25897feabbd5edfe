import type { Inputs } from '../api.ts';
import { CLIENT_ROLES, roleLabel } from '../layout/roles.ts';

export type Action = NonNullable<Exclude<Inputs['audit']['list'], void>['action']>;

type RoleAction = (typeof CLIENT_ROLES)[number]['given' | 'ended'];

/** The words for each action in a list, with the actor as the subject. */
const LABELS: Record<Exclude<Action, RoleAction>, string> = {
  'access-request.approve': 'Approved a request for an app',
  'access-request.close': 'Closed a request for an app',
  'access-request.create': 'Asked for an app',
  'access-request.deny': 'Denied a request for an app',
  'access-request.withdraw': 'Withdrew a request for an app',
  'access-view.create': 'Created a share link',
  'access-view.deactivate': 'Deactivated a share link',
  'access-view.update': 'Changed a share link',
  'access-view.use': 'Opened a share link',
  'app.clear-cache': 'Cleared the cache of an app',
  'app.fetch-package': 'Fetched a package',
  'app.load-package': 'Loaded an app version',
  'app.remove': 'Removed an app',
  'app.rollback-package': 'Rolled back an app',
  'app.update': 'Changed an app',
  'client.change-factor-policy': 'Changed who needs a second factor',
  'client.change-reminders': 'Changed what a client reminds of',
  'client.close': 'Closed a client',
  'client.create': 'Created a client',
  'client.remove': 'Removed a client',
  'client.reopen': 'Reopened a client',
  'client.update': 'Changed a client',
  'connection.create': 'Created a connection for single sign-on',
  'connection.remove': 'Removed a connection for single sign-on',
  'connection.test': 'Tested a connection for single sign-on',
  'connection.update': 'Changed a connection for single sign-on',
  'domain.add': 'Added a domain',
  'domain.lapse': 'The proof of a domain lapsed',
  'domain.remove': 'Removed a domain',
  'domain.verify': 'Verified a domain',
  'domain.vouch': 'Vouched for a domain',
  'grant.expire': 'An app grant expired',
  'grant.update': 'Changed the end of an app grant',
  'group.create': 'Created a group',
  'group.remove': 'Removed a group',
  'group.update': 'Changed a group',
  'identity.link': 'Connected an account to an identity provider',
  'identity.note-address': 'Logged in with another address at the provider',
  'identity.unlink': 'Unlinked an account from an identity provider',
  'invitation.accept': 'Accepted an invitation',
  'invitation.copy-link': 'Copied an invitation link',
  'invitation.create': 'Invited a person',
  'invitation.renew': 'Invited a person again',
  'invitation.resend': 'Resent an invitation',
  'invitation.revoke': 'Revoked an invitation',
  'invitation.update': 'Changed an invitation',
  'login.expired': 'Login with an expired password',
  'login.fail': 'Login failed',
  'login.session': 'Logged in with a browser',
  'login.sso-fail': 'Single sign-on failed',
  'login.token': 'Logged in for a token',
  'mail.read-link': 'Read the link of a mail',
  'mail.retry': 'Retried a mail',
  'membership.reactivate': 'Reactivated a member',
  'membership.remove': 'Removed a member from a client',
  'membership.suspend': 'Suspended a member',
  'membership.update': 'Changed a membership',
  'mfa.challenge': 'Was asked for a second factor',
  'mfa.enroll': 'Added a second factor',
  'mfa.fail': 'Wrong code or passkey',
  'mfa.remove': 'Removed a second factor',
  'mfa.rename': 'Renamed a second factor',
  'mfa.renew-recovery-codes': 'Replaced their recovery codes',
  'mfa.reset': 'Reset the second factor of a person',
  'mfa.use-recovery-code': 'Used a recovery code',
  'password.change': 'Changed their password',
  'password.request-reset': 'Requested a password reset',
  'password.reset': 'Reset their password',
  'request.refused': 'Request refused',
  'saved-filter.create': 'Created a saved filter',
  'saved-filter.delete': 'Deleted a saved filter',
  'saved-filter.update': 'Changed a saved filter',
  'session.confirm': 'Confirmed their password or second factor',
  'session.end-by-provider': 'Logged out by the identity provider',
  'session.end': 'Ended a session',
  'signing-key.rotate': 'Replaced the key of tickets',
  'site.create': 'Created a site',
  'ticket.revoke': 'Revoked tickets',
  'token.create': 'Created a token',
  'token.refresh': 'Refreshed a token',
  'token.revoke': 'Revoked a token',
  'user.change-apps': 'Changed apps of a person',
  'user.change-email': 'Changed the email address of a person',
  'user.create': 'Created a person',
  'user.deactivate': 'Deactivated a person',
  'user.erase': 'Erased a person',
  'user.export': 'Exported data of a person',
  'user.import': 'Imported a person',
  'user.preview': "Looked at a person's home page",
  'user.make-superuser': 'Made a superuser',
  'user.reactivate': 'Reactivated a person',
  'user.cancel-email': 'Cancelled a new email address',
  'user.request-email': 'Requested a new email address',
  'user.revoke-sessions': 'Revoked sessions of a person',
  'user.undo-email': 'Undid a change of an email address',
  'user.update': 'Changed a person',
  'user.update-roles': 'Changed roles of a person',
  'webhook.create': 'Created a webhook',
  'webhook.disable': 'A webhook was disabled',
  'webhook.remove': 'Removed a webhook',
  'webhook.replay': 'Replayed events to a webhook',
  'webhook.rotate-secret': 'Rotated the secret of a webhook',
  'webhook.test': 'Tested a webhook',
  'webhook.update': 'Changed a webhook',
};

const aRole = (name: string): string => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;

const labels = new Map<string, string>([
  ...Object.entries(LABELS),
  ...CLIENT_ROLES.flatMap((role): [string, string][] => [
    [role.given, `Added ${aRole(roleLabel(role))}`],
    [role.ended, `Removed ${aRole(roleLabel(role))}`],
  ]),
]);

export const isAction = (value: unknown): value is Action => typeof value === 'string' && labels.has(value);

/** A newer service may record further actions. */
export const labelOf = (action: string): string => labels.get(action) ?? action;

/** Such an entry changed a membership, so it is incomplete without the name of the client. */
export const isOfMembership = (action: string): boolean => action.startsWith('membership.');

export const ACTION_OPTIONS = [...labels]
  .map(([value, label]) => ({ value, label }))
  .toSorted((a, b) => a.label.localeCompare(b.label));
