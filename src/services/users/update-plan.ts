import { sql } from 'kysely';
import { prepared } from '../../db/compiled-query.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { diffColumns, isEmpty } from '../audit/changes.ts';
import { planAppReplacement } from './app-access.ts';
import { eventsByClient } from './app-grant-events.ts';
import type { UpdateContext } from './update-context.ts';
import type { UserRow } from './user-rows.ts';

export type UserChanges = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  extra?: Record<string, unknown> | undefined;
  is_active?: boolean | undefined;
  is_demo_user?: boolean | undefined;
  apps?: string[] | undefined;
};

/** Columns that the audit trail compares; `extra` and `apps` are handled separately. */
const CHANGEABLE = ['first_name', 'last_name', 'is_active', 'is_demo_user'] as const;

/** @throws Problem `forbidden`, `client-admin-locked` */
export const requireUpdatable = (actor: Actor, { roles }: UpdateContext): void => {
  requireUserAdmin(actor, roles);
  if (roles.adminOf.length > 0) throw new Problem('client-admin-locked');
};

/** The user after an update, the values to write, and the audit events. */
type UpdatePlan = { after: UserRow; values: UserValues; events: AuditEvent[] };

/**
 * @param access columns that activation or deactivation has changed
 * @throws Problem `invalid-input` on `apps`
 */
export const planUpdate = (
  actor: Actor,
  context: UpdateContext,
  changes: UserChanges,
  access: Partial<UserRow> = {},
): UpdatePlan => {
  const { user: before, roles } = context;
  const apps = planApps(actor, context, changes.apps);
  const after: UserRow = {
    ...before,
    ...access,
    first_name: changes.first_name ?? before.first_name,
    last_name: changes.last_name ?? before.last_name,
    extra: changes.extra ?? before.extra,
    is_demo_user: changes.is_demo_user ?? before.is_demo_user,
    apps: apps.visible,
  };
  const { id, email, first_name, last_name, is_demo_user } = after;
  const extra = changes.extra === undefined ? null : JSON.stringify(changes.extra);
  const { granted, revoked, joined } = apps;
  const values = { id, first_name, last_name, extra, is_demo_user, granted, revoked, joined };

  const details = diffColumns(before, after, CHANGEABLE);
  // Free-form data may be large or sensitive, so the audit trail records only that it changed.
  if (changes.extra !== undefined) details.extra = { from: null, to: null };
  const event: AuditEvent = {
    action: 'user.update',
    actor,
    target: email,
    clients: roles.clientIds,
    details,
  };
  return { after, values, events: [...(isEmpty(details) ? [] : [event]), ...apps.events(email)] };
};

const NO_CHANGE = { granted: [], revoked: [], joined: [], events: () => [] };

const planApps = (actor: Actor, { user, roles, apps }: UpdateContext, requested: string[] | undefined) => {
  if (requested === undefined) return { ...NO_CHANGE, visible: user.apps };
  const change = planAppReplacement(actor, apps, requested);
  const granted = change.granted.map(({ id }) => id);
  const revoked = change.revoked.map(({ id }) => id);
  const visible = new Set([...user.apps, ...granted]);
  for (const id of revoked) visible.delete(id);
  const joined = new Set(change.wanted.map((app) => app.client_id));
  for (const id of roles.clientIds) joined.delete(id);
  const changed = [...change.granted, ...change.revoked].sort((a, b) => a.client_id - b.client_id);
  return {
    visible: apps.filter(({ id }) => visible.has(id)).map(({ id }) => id),
    granted,
    revoked,
    joined: [...joined],
    events: (email: string) => eventsByClient(actor, email, changed, { granted, revoked }),
  };
};

type UserValues = Pick<UserRow, 'id' | 'first_name' | 'last_name' | 'is_demo_user'> & {
  /** JSON text; null keeps the stored text unchanged. */
  extra: string | null;
  /** Ids of apps. */
  granted: string[];
  revoked: string[];
  /** Ids of clients. */
  joined: number[];
};

/** Writes a user, app grants and memberships in one statement. Skips the row of the user if it would not change. */
export const WRITE_USER = prepared((db, to: UserValues) => ({
  compile: () =>
    sql`
      with updated_user as (
        update users set first_name = ${to.first_name}, last_name = ${to.last_name},
          is_demo_user = ${to.is_demo_user}, extra = coalesce(${to.extra}::json, extra)
        where id = ${to.id} and (${to.extra}::text is not null or (first_name, last_name, is_demo_user)
          is distinct from (${to.first_name}::varchar, ${to.last_name}::varchar, ${to.is_demo_user}::boolean))
      ),
      revoked as (
        delete from app_grants where user_id = ${to.id} and app_id = any(${to.revoked}::varchar[])
      ),
      granted as (
        insert into app_grants (user_id, app_id) select ${to.id}::int, unnest(${to.granted}::varchar[])
        on conflict do nothing
      )
      insert into memberships (client_id, user_id) select unnest(${to.joined}::int[]), ${to.id}::int
      on conflict do nothing`.compile(db),
}));
