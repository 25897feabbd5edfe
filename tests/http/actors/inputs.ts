import { createHash } from 'node:crypto';
import { DEMO_PASSWORD } from '../../support/test-app.ts';
import type { Things } from './things.ts';

type Input = Record<string, unknown> | undefined;
type InputOf = (things: Things) => Input;

const END = new Date('2030-01-31T12:00:00Z');
const NEW_PASSWORD = 'Violet-harbor-92-kite';
const NOTHING: InputOf = () => undefined;

const ofClient: InputOf = ({ id }) => ({ id });
const inClient: InputOf = ({ id }) => ({ client: id });
const ofPerson: InputOf = ({ email }) => ({ email });
const ofApp: InputOf = ({ app }) => ({ app_id: app });
const withMore =
  (of: InputOf, more: object): InputOf =>
  (things) => ({ ...of(things), ...more });

const ofGroup: InputOf = ({ id, group }) => ({ id, group_id: group });
const ofConnection: InputOf = ({ id, connection }) => ({ id, connection_id: connection });
const ofDomain: InputOf = ({ id, domainId }) => ({ id, domain_id: domainId });
const ofMember: InputOf = ({ id, email }) => ({ id, email });
const ofGrant: InputOf = ({ app, email }) => ({ app_id: app, email });
const ofView: InputOf = ({ view }) => ({ key: view });
const ofService: InputOf = ({ service }) => ({ id: service });
const ofWebhook: InputOf = ({ webhook }) => ({ id: webhook });
const ofInvitation: InputOf = ({ invitation }) => ({ id: invitation });
const ofRequest: InputOf = ({ request }) => ({ id: request });
const ofMail: InputOf = ({ mail }) => ({ id: mail });
const ofSlug: InputOf = ({ slug }) => ({ app_slug: slug });
const login = { password: DEMO_PASSWORD };
const secret = { key: 'f'.repeat(32), signature: createHash('sha256').digest('base64url') };

/**
 * A request of every procedure about the things of a client. After a space, which of several kinds of requests of the procedure. Those of
 * people who are not logged in have no client.
 */
export const INPUTS: Record<string, InputOf> = {
  'tokens.create': () => ({ username: 'admin@acme.test', ...login }),
  'tokens.createByEmail': () => ({ email: 'admin@acme.test', ...login }),
  'tokens.verify': () => ({ token: 'unknown' }),
  'tokens.refresh': () => ({ token: 'unknown' }),
  'tokens.list': NOTHING,
  'tokens.createNamed': () => ({ name: 'Nightly export' }),
  'tokens.uses': ({ token }) => ({ id: token }),
  'tokens.narrow': ({ token }) => ({ id: token, scopes: ['users:read'] }),
  'tokens.revoke': ({ token }) => ({ id: token }),
  'tokens.listByUser': ofPerson,
  'tokens.revokeForUser': ({ email, token }) => ({ email, id: token }),

  'serviceAccounts.list': inClient,
  'serviceAccounts.create': withMore(inClient, { name: 'Imports' }),
  'serviceAccounts.get': ofService,
  'serviceAccounts.update': withMore(ofService, { description: 'Runs at night' }),
  'serviceAccounts.remove': ofService,
  'serviceAccounts.tokens': ofService,
  'serviceAccounts.createToken': withMore(ofService, { name: 'Host 2' }),
  'serviceAccounts.tokenUses': ({ service, serviceToken }) => ({ id: service, token_id: serviceToken }),
  'serviceAccounts.narrowToken': ({ service, serviceToken }) => ({
    id: service,
    token_id: serviceToken,
    scopes: ['users:read'],
  }),
  'serviceAccounts.revokeToken': ({ service, serviceToken }) => ({ id: service, token_id: serviceToken }),

  'sessions.methods': () => ({ email: 'admin@acme.test' }),
  'sessions.create': () => ({ username: 'admin@acme.test', ...login }),
  'sessions.answerChallenge': () => ({ code: '000000' }),
  'sessions.startPasskey': () => ({ purpose: 'login' }),
  'sessions.createByPasskey': () => ({ passkey: {} }),
  'sessions.enrolment': NOTHING,
  'sessions.enrol': () => ({ code: '000000' }),
  'sessions.current': NOTHING,
  'sessions.end': NOTHING,
  'sessions.confirm': () => login,
  'sessions.list': NOTHING,
  'sessions.revoke': ({ session }) => ({ id: session }),
  'sessions.listByUser': ofPerson,
  'sessions.revokeForUser': ({ email, session }) => ({ email, id: session }),
  'sessions.revokeAll': ofPerson,

  'mfa.list': NOTHING,
  'mfa.startTotp': () => ({ name: 'Phone' }),
  'mfa.confirmTotp': () => ({ code: '000000' }),
  'mfa.startPasskey': NOTHING,
  'mfa.addPasskey': () => ({ name: 'Laptop', credential: {} }),
  'mfa.rename': ({ factor }) => ({ id: factor, name: 'Old phone' }),
  'mfa.renewRecoveryCodes': NOTHING,
  'mfa.remove': ({ factor }) => ({ id: factor }),

  'sso.list': ofClient,
  'sso.create': ({ id, provider }) => ({ id, ...provider, name: 'Other' }),
  'sso.update': withMore(ofConnection, { name: 'Renamed' }),
  'sso.test': ofConnection,
  'sso.remove': ofConnection,
  'domains.list': ofClient,
  'domains.add': withMore(ofClient, { domain: 'other.example' }),
  'domains.verify': ofDomain,
  'domains.vouch': ofDomain,
  'domains.remove': ofDomain,

  'installationSso.list': NOTHING,
  'installationSso.create': ({ provider }) => ({ ...provider, name: 'Other' }),
  'installationSso.domains': NOTHING,
  'installationSso.addDomain': () => ({ domain: 'ops.example' }),
  'installationSso.removeDomain': () => ({ domain_id: 1 }),
  'installationSso.update': () => ({ connection_id: 1, name: 'Renamed' }),
  'installationSso.test': () => ({ connection_id: 1 }),
  'installationSso.remove': () => ({ connection_id: 1 }),

  'users.viewAs': ({ email, app }) => ({ email, app, reason: 'Ticket 4711', minutes: 10 }),
  'users.listViewAs': NOTHING,
  'users.endViewAs': ({ look }) => ({ id: look }),
  'users.viewableApps': ofPerson,
  'profile.viewedAs': NOTHING,
  'apps.compare': ({ app, email, id }) => ({
    app_id: app,
    people: `${email},admin@${id === 1 ? 'acme' : 'globex'}.test`,
  }),

  'passwords.change': () => ({ ...login, new_password: NEW_PASSWORD }),
  'passwords.renew': () => ({ username: 'admin@acme.test', ...login, new_password: NEW_PASSWORD }),
  'passwords.requestReset': () => ({ email: 'admin@acme.test' }),
  'passwords.verifyToken': () => ({ token: 'unknown' }),
  'passwords.reset': () => ({ token: 'unknown', password: NEW_PASSWORD }),
  'passwords.check': () => ({ password: 'summer' }),
  'passwords.previewExpiry': withMore(ofClient, { days: 90 }),

  'branding.get': NOTHING,
  'sites.list': NOTHING,
  'sites.get': ofClient,
  'sites.create': () => ({ domain: 'initech.test', name: 'Initech' }),

  'clients.list': NOTHING,
  'clients.get': ofClient,
  'clients.update': withMore(ofClient, { login_title: 'Good morning' }),
  'clients.site': ofClient,
  'clients.users': ofClient,
  'clients.apps': ofClient,
  'clients.invitations': ofClient,
  'clients.invite': withMore(ofClient, { email: 'first@guest.test' }),
  'clients.previewInvitation': withMore(ofClient, { invitation_body: 'Hi' }),
  'clients.gate': ofClient,
  'clients.updateGate': withMore(ofClient, { embed_origins: ['https://portal.example.com'] }),
  'clients.create': () => ({ name: 'Initech', site: 1 }),
  'clients.factorPolicy': ofClient,
  'clients.updateFactorPolicy': withMore(ofClient, { factor_policy: 'optional', factor_mails: false }),
  'clients.previewFactorPolicy': ofClient,
  'clients.previewRemoval': ofClient,
  'clients.remove': withMore(ofClient, { confirm_name: 'No such name' }),

  'reminders.get': ofClient,
  'reminders.update': withMore(ofClient, { access_days: 7 }),
  'reminders.preview': withMore(ofClient, { access_days: 7 }),

  'users.list': inClient,
  'users.people': inClient,
  'users.count': inClient,
  'users.table': inClient,
  'users.get': ofPerson,
  'users.permissions': ofPerson,
  'users.preview': ofPerson,
  'users.create': withMore(inClient, { email: 'new@guest.test' }),
  'users.update': withMore(ofPerson, { first_name: 'Augusta' }),
  'users.update apps': withMore(ofPerson, { apps: [] }),
  'users.changeEmail': withMore(ofPerson, { new_email: 'free@guest.test' }),
  'users.deactivate': ofPerson,
  'users.bulkUpdate deactivate': ({ email }) => ({ emails: [email], action: 'deactivate' }),
  'users.bulkUpdate offboard': ({ email }) => ({ emails: [email], action: 'offboard' }),
  'users.bulkUpdate add-to-groups': ({ email, group }) => ({
    emails: [email],
    action: 'add-to-groups',
    groups: [group],
  }),
  'users.bulkUpdate grant-apps': ({ email, spare }) => ({
    emails: [email],
    action: 'grant-apps',
    apps: [spare],
  }),
  'users.bulkUpdate set-attribute': ({ id, email }) => ({
    emails: [email],
    action: 'set-attribute',
    client: id,
    attribute: 'region',
  }),
  'users.bulkUpdate send-password-link': ({ email }) => ({ emails: [email], action: 'send-password-link' }),
  'users.screen': ofPerson,
  'users.activity': ofPerson,
  'users.previewOffboarding': ofPerson,
  'users.cancelEmailChange': ofPerson,
  'users.resetFactors': withMore(ofPerson, { reason: 'Lost' }),
  'users.identities': ofPerson,
  'users.unlinkIdentity': ({ email, identity }) => ({ email, identity_id: identity }),
  'users.export': ofPerson,
  'users.previewErasure': ofPerson,
  'users.erase': ({ email }) => ({ email, confirmation: 'unknown', confirm_email: email }),

  'profile.update': () => ({ profile_color: '2A9D8F' }),
  'profile.requestEmail': () => ({ email: 'free@guest.test' }),
  'profile.pendingEmail': NOTHING,
  'profile.cancelEmail': NOTHING,
  'profile.verifyEmail': () => ({ token: 'unknown', kind: 'undo' }),
  'profile.confirmEmail': () => ({ token: 'unknown' }),
  'profile.undoEmail': () => ({ token: 'unknown' }),

  'roles.get': ofPerson,
  'roles.update': withMore(ofPerson, { is_staff: true }),
  'roles.setClientAdmin': withMore(ofMember, { is_admin: true }),
  'roles.listInClient': ofClient,
  'roles.setInClient': withMore(ofMember, { roles: ['auditor'] }),
  'memberships.list': ofPerson,
  'memberships.update': withMore(ofMember, { extra: { region: 'north' } }),
  'memberships.previewRemoval': ofMember,
  'memberships.remove': ofMember,

  'grants.list': ofApp,
  'grants.listEnding': NOTHING,
  'grants.extend': (things) => ({ grants: [ofGrant(things)], expires_at: END }),
  'grants.create': ({ spare, email }) => ({ app_id: spare, email }),
  'grants.update': withMore(ofGrant, { expires_at: END }),
  'grants.remove': ofGrant,

  'groups.list': ofClient,
  'groups.get': ofGroup,
  'groups.create': ({ id, email }) => ({ id, name: 'Sales team', members: [email] }),
  'groups.update': withMore(ofGroup, { name: 'New name' }),
  'groups.screen': ofGroup,
  'groups.edit': withMore(ofGroup, { name: 'New name' }),
  'groups.remove': ofGroup,

  'requests.requestable': NOTHING,
  'requests.list': inClient,
  'requests.get': ofRequest,
  'requests.create': ({ spare }) => ({ app: spare, reason: 'Closing' }),
  'requests.withdraw': ofRequest,
  'requests.approve': withMore(ofRequest, { version: 1 }),
  'requests.deny': withMore(ofRequest, { version: 1 }),

  'invitations.search': inClient,
  'invitations.get': ofInvitation,
  'invitations.resend': ofInvitation,
  'invitations.revoke': ofInvitation,
  'invitations.bulkUpdate': ({ invitation }) => ({ ids: [invitation], action: 'revoke' }),
  'invitations.copyLink': ofInvitation,
  'invitations.preview': () => secret,
  'invitations.accept': () => ({ ...secret, password: NEW_PASSWORD }),
  'invitations.list': ({ slug }) => ({ app: slug }),
  'invitations.create': ({ id }) => ({ items: [{ email: 'second@guest.test', client: id }] }),
  'invitations.pending': ({ invited }) => ({ email: invited }),
  'invitations.update': ({ invited }) => ({ email: invited, extra: { team: 'north' } }),

  'apps.list': inClient,
  'apps.get': ofApp,
  'apps.status': ofApp,
  'apps.permissions': ofApp,
  'apps.stacks': ofApp,
  'apps.versions': ofApp,
  'apps.openTicket': ofApp,
  'apps.launch': ofSlug,
  'apps.previewMaintenance': withMore(ofApp, { maintenance_message: 'Soon.' }),
  'apps.rollback': withMore(ofSlug, { app_version: '1.0.0' }),
  'apps.update': withMore(ofApp, { description: 'Better.' }),
  'apps.clearCache': ofApp,
  'apps.previewRemoval': ofApp,
  'apps.remove': withMore(ofApp, { confirm_name: 'No such name' }),

  'openid.get': ofApp,
  'openid.update': withMore(ofApp, { redirect_uris: ['https://sales.acme.test/callback'] }),
  'openid.addSecret': ofApp,
  'openid.logouts': ofApp,
  'openid.remove': ofApp,

  'usage.listByApp': withMore(ofApp, { page: 1 }),
  'usage.listByUser': withMore(ofGrant, { page: 1 }),
  'usage.listByUserInAllApps': withMore(ofPerson, { page: 1 }),
  'usage.list': ofApp,
  'usage.series': ofApp,
  'usage.top': ofApp,
  'usage.report': inClient,
  'usage.summary': inClient,
  'usage.topApps': inClient,
  'usage.dailyByApp': inClient,
  'usage.idleApps': withMore(inClient, { days: 30 }),
  'usage.idleUsers': withMore(inClient, { days: 30 }),
  'usage.record': ({ app, email }) => ({ app_id: app, entries: [{ email, action: 'STACK_ACCESS' }] }),

  'savedFilters.list': NOTHING,
  'savedFilters.listByStack': ({ stack }) => ({ stack_id: stack }),
  'savedFilters.get': ({ hash }) => ({ hash }),
  'savedFilters.create': ({ stack }) => ({ stack_id: stack, hash: 'new', name: 'Summer' }),
  'savedFilters.replace': ({ hash, stack }) => ({ hash, filter: { stack_id: stack, hash, name: 'Autumn' } }),
  'savedFilters.remove': ({ hash }) => ({ hash }),
  'savedFilters.getState': ({ hash }) => ({ hash }),
  'savedFilters.setState': ({ hash }) => ({ hash, state: { region: 'north' } }),
  'savedFilters.getSharing': ({ hash }) => ({ hash }),
  'savedFilters.setSharing': ({ hash }) => ({ hash, client: true, groups: [] }),
  'savedFilters.listShared': NOTHING,
  'savedFilters.getDefault': ({ stack }) => ({ stack_id: stack }),
  'savedFilters.setDefault': ({ stack }) => ({ stack_id: stack, filter: null }),
  'savedFilters.setDefault group': ({ stack, group }) => ({ stack_id: stack, filter: null, group }),

  'appPackages.fetch': withMore(ofSlug, { app_version: '1.0.0' }),
  'appPackages.load': ofSlug,
  'environment.read': NOTHING,
  'audit.list': inClient,
  'events.list': inClient,
  'events.position': NOTHING,
  'events.stream': inClient,

  'webhooks.list': inClient,
  'webhooks.get': ofWebhook,
  'webhooks.create': withMore(inClient, { url: 'http://127.0.0.1:9/' }),
  'webhooks.update': withMore(ofWebhook, { description: 'The data platform' }),
  'webhooks.remove': ofWebhook,
  'webhooks.rotateSecret': ofWebhook,
  'webhooks.deliveries': ofWebhook,
  'webhooks.test': ofWebhook,
  'webhooks.replay': withMore(ofWebhook, { from: END }),

  'mail.list': inClient,
  'mail.timeline': ({ invited }) => ({ email: invited }),
  'mail.get': ofMail,
  'mail.retry': ofMail,
  'operations.undo': ({ operation }) => ({ id: operation }),

  'access.matrix': ofClient,
  'access.grid': ofClient,
  'access.listByUser': ofPerson,
  'access.ofPerson': ofPerson,
  'access.explain': ofGrant,
  'access.effective': ofApp,
  'access.update': ({ id, email, spare }) => ({ id, cells: [{ email, app_id: spare, granted: true }] }),
  'dataPermissions.getSchema': ofClient,
  'dataPermissions.setSchema': withMore(ofClient, { schema: null, mode: 'warn' }),
  'dataPermissions.previewValue': ({ id, email }) => ({ id, emails: [email], attribute: 'region' }),
  'dataPermissions.previewLoad': ofApp,
  'dataPermissions.ofPerson': ofGrant,
  'dataPermissions.ofApp': ofApp,
  'accessViews.screen': ({ slug }) => ({ app: slug }),
  'accessViews.list': ({ slug }) => ({ app: slug }),
  'accessViews.get': ofView,
  'accessViews.create': ({ slug }) => ({ app: slug }),
  'accessViews.update': withMore(ofView, { show_header: false }),
  'accessViews.deactivate': ofView,
  'accessViews.uses': ofView,
  'accessViews.embed': ({ app, email }) => ({ app, email }),

  'attention.get': NOTHING,
  'tickets.exchange': () => ({ code: 'unknown', app: 'sales' }),
  'tickets.introspect': () => ({ token: 'unknown' }),
  'tickets.revoke user': ({ email }) => ({ user: email }),
  'tickets.revoke app': ofApp,
  'tickets.revoke view': ({ view }) => ({ access_view: view }),
  'tickets.revoke all': () => ({ all: true }),
  'signingKeys.list': NOTHING,
  'signingKeys.rotate': NOTHING,
};
