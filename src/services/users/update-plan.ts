import { sql } from 'kysely';
import { prepared } from '../../db/compiled-query.ts';
import { Problem } from '../../lib/problems.ts';
import { type Actor, requireUserAdmin } from '../access/actor.ts';
import type { AuditEvent } from '../audit/audit.ts';
import { diffColumns, isEmpty } from '../audit/changes.ts';
import { replacement } from './app-access.ts';
import { eventsByClient } from './app-grant-events.ts';
import type { UserFacts } from './update-context.ts';
import type { UserRow } from './user-rows.ts';

export type UserChanges = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  extra?: Record<string, unknown> | undefined;
  is_active?: boolean | undefined;
  is_demo_user?: boolean | undefined;
  apps?: string[] | undefined;
};

/** What an update may change, `extra` and `apps` apart. */
const CHANGEABLE = ['first_name', 'last_name', 'is_active', 'is_demo_user'] as const;

/** @throws Problem `forbidden`, `client-admin-locked` */
export const requireUpdatable = (actor: Actor, { standing }: UserFacts): void => {
  requireUserAdmin(actor, standing);
  if (standing.adminOf.length > 0) throw new Problem('client-admin-locked');
};

/** What an update makes of a user, and what is to be written for it. */
type Outcome = { after: UserRow; written: Written; events: AuditEvent[] };

/**
 * @param access what became of it, if it was switched
 * @throws Problem `invalid-input` on `apps`
 */
export const outcomeOf = (
  actor: Actor,
  facts: UserFacts,
  changes: UserChanges,
  access: Partial<UserRow> = {},
): Outcome => {
  const { row: before, standing } = facts;
  const apps = appsAfter(actor, facts, changes.apps);
  const after: UserRow = {
    ...before,
    ...access,
    first_name: changes.first_name ?? before.first_name,
    last_name: changes.last_name ?? before.last_name,
    extra: changes.extra ?? before.extra,
    is_demo_user: changes.is_demo_user ?? before.is_demo_user,
    apps: apps.seen,
  };
  const { id, email, first_name, last_name, is_demo_user } = after;
  const extra = changes.extra === undefined ? null : JSON.stringify(changes.extra);
  const { granted, revoked, joined } = apps;
  const written = { id, first_name, last_name, extra, is_demo_user, granted, revoked, joined };

  const details = diffColumns(before, after, CHANGEABLE);
  // Free-form data may be anything, and large: that it changed is all the trail tells.
  if (changes.extra !== undefined) details.extra = { from: null, to: null };
  const event: AuditEvent = {
    action: 'user.update',
    actor,
    target: email,
    clients: standing.clientIds,
    details,
  };
  return { after, written, events: [...(isEmpty(details) ? [] : [event]), ...apps.events(email)] };
};

const NO_CHANGE = { granted: [], revoked: [], joined: [], events: () => [] };

const appsAfter = (actor: Actor, { row, standing, apps }: UserFacts, asked: string[] | undefined) => {
  if (asked === undefined) return { ...NO_CHANGE, seen: row.apps };
  const change = replacement(actor, apps, asked);
  const granted = change.granted.map(({ id }) => id);
  const revoked = change.revoked.map(({ id }) => id);
  const seen = new Set([...row.apps, ...granted]);
  for (const id of revoked) seen.delete(id);
  const joined = new Set(change.wanted.map((app) => app.client_id));
  for (const id of standing.clientIds) joined.delete(id);
  const changed = [...change.granted, ...change.revoked].sort((a, b) => a.client_id - b.client_id);
  return {
    seen: apps.filter(({ id }) => seen.has(id)).map(({ id }) => id),
    granted,
    revoked,
    joined: [...joined],
    events: (email: string) => eventsByClient(actor, email, changed, { granted, revoked }),
  };
};

type Written = Pick<UserRow, 'id' | 'first_name' | 'last_name' | 'is_demo_user'> & {
  /** JSON text; null leaves it as it is, to the letter. */
  extra: string | null;
  /** Ids of apps. */
  granted: string[];
  revoked: string[];
  /** Ids of clients. */
  joined: number[];
};

/** A user who stays as they are is not written. */
export const WRITE_USER = prepared((db, to: Written) => ({
  compile: () =>
    sql`
      with named as (
        update users set first_name = ${to.first_name}, last_name = ${to.last_name},
          is_demo_user = ${to.is_demo_user}, extra = coalesce(${to.extra}::json, extra)
        where id = ${to.id} and (${to.extra}::text is not null or (first_name, last_name, is_demo_user)
          is distinct from (${to.first_name}::varchar, ${to.last_name}::varchar, ${to.is_demo_user}::boolean))
      ),
      taken as (
        delete from app_grants where user_id = ${to.id} and app_id = any(${to.revoked}::varchar[])
      ),
      given as (
        insert into app_grants (user_id, app_id) select ${to.id}::int, unnest(${to.granted}::varchar[])
        on conflict do nothing
      )
      insert into memberships (client_id, user_id) select unnest(${to.joined}::int[]), ${to.id}::int
      on conflict do nothing`.compile(db),
}));
