import { invalid } from '../../lib/problems.ts';
import { type Actor, administersClient, canViewAll } from '../access/actor.ts';
import { type AuditEvent, diffColumns, isEmpty } from '../audit/audit.ts';
import { type GrantableApp, grantEvents, unknownApp } from './app-grants.ts';
import type { UserRow } from './user-rows.ts';

export type UserChanges = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  extra?: Record<string, unknown> | undefined;
  is_active?: boolean | undefined;
  is_demo_user?: boolean | undefined;
  /** Replaces the apps of the user, as far as the actor may change them. */
  apps?: string[] | undefined;
  /** Adds and removes single apps. Not to be combined with `apps`. */
  grant?: readonly string[] | undefined;
  revoke?: readonly string[] | undefined;
  /** What the caller has read of the user: the update fails if it has changed. */
  expected?: { [K in keyof UserRow]?: UserRow[K] | undefined } | undefined;
};

/** The apps that the changes name. */
export const namedApps = ({ apps, grant = [], revoke = [] }: UserChanges): readonly string[] =>
  apps ?? [...grant, ...revoke];

/** An app that is granted to a user, or requested for them. */
export type KnownApp = GrantableApp & { is_granted: boolean };

/** What an update needs to know about a user. */
export type UpdateContext = {
  user: UserRow;
  clientIds: number[];
  /** The user's apps and the requested apps that exist, by age, like `user.apps`. */
  apps: KnownApp[];
};

/** Columns that the audit trail compares; `is_active`, `extra` and `apps` are handled separately. */
const CHANGEABLE = ['first_name', 'last_name', 'is_demo_user'] as const;

/** Recorded for the new value of `is_active`: the same for every way to change it. */
const ACCESS_ACTIONS = { true: 'user.reactivate', false: 'user.deactivate' } as const;

/**
 * Returns the user after an update, the values to write, and the audit events.
 * @param access columns that activation or deactivation has changed
 * @throws Problem `invalid-input` on `apps`
 */
export const planUpdate = (
  actor: Actor,
  context: UpdateContext,
  changes: UserChanges,
  access: Partial<UserRow> = {},
) => {
  const { user: before, clientIds } = context;
  const { visible, granted, revoked, joined, openedClients } = planApps(actor, context, changes);
  const after: UserRow = {
    ...before,
    ...access,
    first_name: changes.first_name ?? before.first_name,
    last_name: changes.last_name ?? before.last_name,
    extra: changes.extra ?? before.extra,
    is_demo_user: changes.is_demo_user ?? before.is_demo_user,
    apps: visible,
  };
  const { id, email, first_name, last_name, is_demo_user } = after;
  const extra = changes.extra === undefined ? null : JSON.stringify(changes.extra);
  const appIds = { granted: granted.map((app) => app.id), revoked: revoked.map((app) => app.id) };
  const values = { id, first_name, last_name, extra, is_demo_user, ...appIds, joined, openedClients };

  const details = diffColumns(before, after, CHANGEABLE);
  // Free-form data may be large or sensitive, so the audit trail records only that it changed.
  if (extra !== null && extra !== JSON.stringify(before.extra)) details.extra = { from: null, to: null };
  const isActive = after.is_active === before.is_active ? null : after.is_active;
  const about = { actor, target: email, clients: clientIds };
  const events: AuditEvent[] = [
    ...(isEmpty(details) ? [] : [{ action: 'user.update' as const, ...about, details }]),
    ...(isActive === null ? [] : [{ action: ACCESS_ACTIONS[`${isActive}`], ...about }]),
    ...grantEvents(actor, email, granted, revoked),
  ];
  return { after, values, events, isActive };
};

/** `isActive`: the new value; null if it does not change. */
export type UpdatePlan = ReturnType<typeof planUpdate>;

const wantsApp = ({ apps, grant = [], revoke = [] }: UserChanges): ((app: KnownApp) => boolean) => {
  const [added, removed] = [new Set(apps ?? grant), new Set(revoke)];
  return ({ id, is_granted }) => added.has(id) || (apps === undefined && is_granted && !removed.has(id));
};

/**
 * Plans the grants and revocations that replace a user's apps by the requested ones. Apps of clients that the actor does not
 * administer stay unchanged, so that admins of different clients do not undo each other's changes.
 * @throws Problem `invalid-input` on `apps`
 */
const planApps = (actor: Actor, { user, clientIds, apps }: UpdateContext, changes: UserChanges) => {
  const named = namedApps(changes);
  if (changes.apps === undefined && named.length === 0)
    return { visible: user.apps, granted: [], revoked: [], joined: [], openedClients: [] };
  const changeable = apps.filter((app) => administersClient(actor, app.client_id));
  const isWanted = wantsApp(changes);
  const wanted = changeable.filter(isWanted);
  // Clients may send back granted apps that the actor may see but not change.
  const isReadOnly = (app: KnownApp) => app.is_granted && !changeable.includes(app);
  const readOnly = changes.apps && canViewAll(actor) ? apps.filter(isReadOnly) : [];
  const accepted = new Set([...changeable, ...readOnly].map(({ id }) => id));
  const unknown = named.filter((id) => !accepted.has(id));
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });

  const granted = wanted.filter((app) => !app.is_granted);
  const revoked = changeable.filter((app) => app.is_granted && !wanted.includes(app));
  const visible = new Set([...user.apps, ...granted.map(({ id }) => id)]);
  for (const { id } of revoked) visible.delete(id);
  const joined = new Set(wanted.map((app) => app.client_id));
  for (const id of clientIds) joined.delete(id);
  return {
    visible: apps.flatMap(({ id }) => (visible.has(id) ? id : [])),
    granted,
    revoked,
    /** Ids of clients. */
    joined: [...joined],
    /** Ids of the clients whose apps are granted. */
    openedClients: [...new Set(granted.map((app) => app.client_id))],
  };
};
