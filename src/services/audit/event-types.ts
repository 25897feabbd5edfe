import { z } from 'zod';

const Id = z.int();
const AppId = z.string();
const Time = z.iso.datetime();
/** The old and the new value. Both are null for readers who may not know the values. */
const Changed = z.object({ from: z.unknown(), to: z.unknown() });
/** The changed columns, each with its old and new value, and further fields. */
const WithColumns = <S extends z.ZodRawShape>(shape: S) => z.looseObject(shape);

const Nothing = z.object({});
const Numbered = z.object({ id: Id });
/** A saved view, and the list that it shows. */
const OfList = z.object({ id: Id, list: z.string() });
/** `days`: the requested duration. `expires_at`: when the grant ends. */
const Request = z.object({
  id: Id,
  app: AppId,
  days: z.int().nullable().optional(),
  expires_at: Time.nullable().optional(),
});
const AccessView = WithColumns({
  access_view: Id.nullable(),
  /** The id of the person. */
  user: Id.optional(),
  is_one_time: z.boolean().optional(),
});
const Provider = WithColumns({ id: Id, issuer: z.unknown().optional() });
const Connection = z.object({ connection: Id, name: z.string() });
const Package = WithColumns({
  version: Changed,
  stacks: z.object({
    added: z.array(z.string()),
    removed: z.array(z.string()),
    renamed: z.array(z.object({ slug: z.string(), from: z.string(), to: z.string() })),
  }),
});
const AddedOrRemoved = <T extends z.ZodType>(item: T) =>
  z.object({ added: z.array(item).optional(), removed: z.array(item).optional() });
const Group = z.object({
  name: Changed.optional(),
  /** Ids of people. */
  members: AddedOrRemoved(Id).optional(),
  apps: AddedOrRemoved(AppId).optional(),
});
const Grants = z.object({ granted: z.array(AppId), revoked: z.array(AppId) });
const Invited = z.object({
  id: Id,
  apps: z.array(z.string()),
  groups: z.array(Id).readonly().optional(),
  /** Names of roles in the client. */
  roles: z.array(z.string()).readonly().optional(),
});
const Mail = z.object({ id: Id, kind: z.string() });
const Factor = z.object({ id: Id, kind: z.string() });
const Refusal = z.object({ request: z.string(), problem: z.string() });
const Counts = z.record(z.string(), z.int());
/** `id`: of the look. `viewer`: the id of the person who looks. */
const Look = z.object({ id: Id, app: AppId, viewer: Id, reason: z.string() });
const Login = z.object({
  connection: Id.optional(),
  name: z.string().optional(),
  passkey: Id.optional(),
});

const event = <const T extends string, D extends z.ZodType>(type: T, data: D, isOfAccount = false) => ({
  type,
  data,
  isOfAccount,
});

/** Events about an account as a whole, not about a membership in a client. */
const ofAccount = <const T extends string, D extends z.ZodType>(type: T, data: D) => event(type, data, true);

/**
 * By action (`{noun}.{verb}`), what the audit trail records: the type of the event that others receive, and its data. A change that is part
 * of a larger one also has `operation`, and `is_undo`. New fields may be added at any time; if the meaning of a field changes or the field
 * is removed, create a new type.
 */
const EVENTS = {
  'access-request.approve': event('access_request.approved', Request),
  'access-request.close': event('access_request.closed', Request),
  'access-request.create': event('access_request.created', Request),
  'access-request.deny': event('access_request.denied', Request),
  'access-request.withdraw': event('access_request.withdrawn', Request),
  'access-view.create': event('access_view.created', AccessView),
  'access-view.deactivate': event('access_view.deactivated', AccessView),
  'access-view.rotate-key': event('access_view.key_rotated', AccessView),
  'access-view.update': event('access_view.updated', AccessView),
  'access-view.use': event('access_view.used', AccessView),
  'app.add-openid-secret': event('app.openid_secret_added', Nothing),
  'app.clear-cache': event('app.cache_cleared', z.object({ app_id: AppId })),
  'app.create': event('app.created', z.object({ label: z.string(), launch_url: z.string() })),
  'app.fetch-package': event('app.package_fetched', z.object({ version: z.string(), sha256: z.string() })),
  'app.load-package': event('app.loaded', Package),
  'app.remove': event('app.removed', z.looseObject({ id: AppId })),
  'app.remove-openid': event('app.openid_removed', Nothing),
  'app.rollback-package': event('app.rolled_back', Package),
  'app.set-openid': event('app.openid_changed', WithColumns({})),
  'app.update': event('app.updated', WithColumns({})),
  'client.change-factor-policy': event('client.factor_policy_changed', WithColumns({})),
  'client.change-reminders': event('client.reminders_changed', WithColumns({})),
  'client.close': event('client.closed', Nothing),
  'client.create': event('client.created', z.object({ id: Id.optional(), site: Id.optional() })),
  'client.remove': event('client.removed', z.looseObject({ id: Id })),
  'client.reopen': event('client.reopened', Nothing),
  'client.update': event('client.updated', WithColumns({})),
  'connection.create': event('connection.created', Provider),
  'connection.remove': event('connection.removed', Provider),
  'connection.test': event('connection.tested', Provider),
  'connection.update': event('connection.updated', Provider),
  'directory.approve': event('directory.approved', z.object({ people: Id })),
  'directory.hold': event('directory.held', Nothing),
  'directory.update': event('directory.updated', WithColumns({})),
  'domain.add': event('domain.added', Numbered),
  'domain.lapse': event('domain.lapsed', Numbered),
  'domain.remove': event('domain.removed', Numbered),
  'domain.verify': event('domain.verified', Numbered),
  'domain.vouch': event('domain.vouched', Numbered),
  'grant.expire': event('grant.expired', Grants.pick({ revoked: true })),
  'grant.update': event('grant.updated', WithColumns({ app: AppId })),
  'group.create': event('group.created', Group),
  'group.remove': event('group.removed', Group),
  'group.update': event('group.updated', Group),
  'identity.link': event('identity.linked', Connection),
  'identity.note-address': event('identity.address_noted', Nothing),
  'identity.unlink': event('identity.unlinked', Connection),
  'invitation.accept': event('invitation.accepted', Invited),
  'invitation.copy-link': event('invitation.link_copied', Numbered),
  'invitation.create': event('invitation.created', Invited),
  'invitation.renew': event('invitation.renewed', Invited),
  'invitation.resend': event('invitation.resent', Numbered),
  'invitation.revoke': event('invitation.revoked', Numbered),
  'invitation.update': event(
    'invitation.updated',
    Invited.partial().extend({
      apps_expire_at: Time.nullish(),
      extra: z.literal('changed').optional(),
      name: z.literal('changed').optional(),
    }),
  ),
  'list-view.create': event('list_view.created', OfList),
  'list-view.delete': event('list_view.deleted', OfList),
  'list-view.pin': event('list_view.pin_changed', OfList.extend({ is_pinned: z.boolean() })),
  'list-view.update': event('list_view.updated', WithColumns({ id: Id, list: z.string() })),
  'login.expired': ofAccount('login.password_expired', Nothing),
  'login.fail': ofAccount('login.failed', Nothing),
  'login.session': ofAccount('login.succeeded', Login),
  'login.sso-fail': event(
    'login.sso_failed',
    Connection.extend({ reason: z.string(), detail: z.string().optional() }),
  ),
  'login.token': ofAccount('login.token_created', Nothing),
  'mail.read-link': ofAccount('mail.link_read', Mail),
  'mail.retry': ofAccount('mail.retried', Mail),
  'membership.create': event('membership.created', Nothing),
  'membership.reactivate': event('membership.reactivated', Nothing),
  'membership.remove': event('membership.ended', Nothing),
  'membership.set-roles': event('membership.roles_changed', z.object({ roles: Changed })),
  'membership.suspend': event('membership.suspended', Nothing),
  'membership.update': event('membership.updated', WithColumns({})),
  'mfa.challenge': ofAccount('mfa.challenged', z.object({ enrol: z.boolean().optional() })),
  'mfa.enroll': ofAccount('mfa.enrolled', Factor),
  'mfa.fail': ofAccount('mfa.failed', Nothing),
  'mfa.remove': ofAccount('mfa.removed', Factor),
  'mfa.rename': ofAccount('mfa.renamed', Numbered),
  'mfa.renew-recovery-codes': ofAccount('mfa.recovery_codes_renewed', Nothing),
  'mfa.reset': ofAccount('mfa.reset', z.object({ reason: z.string().optional() })),
  'mfa.use-recovery-code': ofAccount('mfa.recovery_code_used', Nothing),
  'password.change': ofAccount('password.changed', Nothing),
  'password.request-reset': ofAccount('password.reset_requested', z.object({ kind: z.string().optional() })),
  'password.reset': ofAccount('password.reset', Nothing),
  'request.refused': ofAccount('request.refused', Refusal),
  'saved-filter.create': event('saved_filter.created', Numbered),
  'saved-filter.delete': event('saved_filter.deleted', Numbered),
  'saved-filter.set-default': event(
    'saved_filter.default_changed',
    z.object({ id: Id.nullable(), stack: z.string(), group: Id.optional() }),
  ),
  'saved-filter.share': event(
    'saved_filter.sharing_changed',
    z.object({ id: Id, client: z.boolean(), groups: z.array(Id) }),
  ),
  'saved-filter.update': event('saved_filter.updated', Numbered),
  'service-account.create': event('service_account.created', Numbered),
  'service-account.create-token': event('service_account.token_created', Numbered),
  'service-account.narrow-token': event(
    'service_account.token_narrowed',
    WithColumns({ id: Id, token: Id.optional() }),
  ),
  'service-account.remove': event('service_account.removed', Numbered),
  'service-account.revoke-token': event('service_account.token_revoked', Numbered),
  'service-account.update': event('service_account.updated', WithColumns({ id: Id })),
  'session.confirm': ofAccount('session.confirmed', Nothing),
  'session.end': ofAccount('session.ended', Nothing),
  'session.end-by-provider': ofAccount('session.ended_by_provider', Connection),
  'signing-key.rotate': event('signing_key.rotated', Nothing),
  'site.create': event('site.created', z.object({ id: Id.optional(), name: z.string().optional() })),
  'ticket.revoke': event('tickets.revoked', z.object({ access_view: Id.optional() })),
  'token.create': ofAccount('token.created', Numbered),
  'token.narrow': ofAccount('token.narrowed', WithColumns({ id: Id })),
  'token.refresh': ofAccount('token.refreshed', Numbered.extend({ new_id: Id })),
  'token.revoke': ofAccount('token.revoked', Numbered),
  'user.cancel-email': ofAccount('user.email_change_cancelled', Nothing),
  'user.change-apps': event('user.apps_changed', Grants),
  'user.change-email': event('user.email_changed', Nothing),
  'user.create': event('user.created', Connection.partial()),
  'user.deactivate': event('user.deactivated', Nothing),
  'user.erase': event('user.erased', Counts),
  'user.export': ofAccount('user.exported', Nothing),
  'user.import': event('user.imported', Nothing),
  'user.make-superuser': event('user.made_superuser', Nothing),
  'user.preview': event('user.previewed', Nothing),
  'user.reactivate': event('user.reactivated', Nothing),
  'user.request-email': ofAccount('user.email_change_requested', Nothing),
  'user.revoke-sessions': ofAccount('user.sessions_revoked', Nothing),
  'user.undo-email': event('user.email_change_undone', Nothing),
  'user.view-as-begin': event('user.view_as_began', Look.extend({ minutes: z.int() })),
  'user.view-as-end': event('user.view_as_ended', Look),
  'user.update': event('user.updated', WithColumns({})),
  'user.update-roles': event('user.roles_updated', WithColumns({})),
  'webhook.create': event('webhook.created', Numbered),
  'webhook.disable': event('webhook.disabled', Numbered.extend({ reason: z.string() })),
  'webhook.remove': event('webhook.removed', Numbered),
  'webhook.replay': event('webhook.replayed', Numbered.extend({ queued: z.int() })),
  'webhook.rotate-secret': event('webhook.secret_rotated', Numbered),
  'webhook.test': event('webhook.tested', Numbered),
  'webhook.update': event('webhook.updated', WithColumns({ id: Id })),
};

export type AuditAction = keyof typeof EVENTS;

/** The details that an action records. */
export type DetailsOf<A extends AuditAction> = z.input<(typeof EVENTS)[A]['data']>;

export const AUDIT_ACTIONS = Object.keys(EVENTS) as AuditAction[];

/** Activity of accounts. For an account that several clients share, it is recorded for none of them. */
export const ACCOUNT_ACTIVITY = AUDIT_ACTIONS.filter((action) => EVENTS[action].isOfAccount);

/** Who got in, who did not, and what was refused: no changes of anything that belongs to the service. */
export const LOGIN_ACTIONS: readonly AuditAction[] = AUDIT_ACTIONS.filter((action) =>
  /^(login|session)\.|^mfa\.(challenge|fail|use-)|^request\.refused$|^token\.refresh$|^identity\.note-/.test(
    action,
  ),
);

type EventOfAction = (typeof EVENTS)[AuditAction];

export type EventType = EventOfAction['type'];

/** The data of each type of event, as JSON. */
export type EventData = { [E in EventOfAction as E['type']]: z.output<E['data']> };

/** All types of events, with the shape of their data. */
export const EVENT_TYPES = Object.values(EVENTS);

/** The type of the event that an action causes. */
export const eventTypeOf = (action: AuditAction): EventType => EVENTS[action].type;

/** The actions that cause events of these types. */
export const actionsOf = (types: readonly string[]): AuditAction[] =>
  AUDIT_ACTIONS.filter((action) => types.includes(eventTypeOf(action)));
