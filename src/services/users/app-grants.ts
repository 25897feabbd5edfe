import { type RawBuilder, sql } from 'kysely';
import type { GrantTerms } from '../../../entities/operation.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { clientManagedBy, GROUP_ACCESS } from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';
import {
  type AccessChange,
  type GrantableApp,
  idsOf,
  supersedeOperations,
} from '../operations/operation-log.ts';
import { closeObsoleteRequests, requestsOf } from './request-closing.ts';

/** Finds the apps that the actor may grant, oldest first. `unknown` are ids of no app, or of an app of another client. */
export const findGrantable = async (em: Em, actor: Actor, appIds: readonly string[]) => {
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(isAnyOf('id', appIds, 'varchar'))
    .where(clientManagedBy(actor, sql`client_id`))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const foundIds = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !foundIds.has(id)) };
};

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

/** SQL: the terms of a grant `g`. */
export const GRANT_TERMS = sql<GrantTerms>`json_build_object('granted_by', g.granted_by,
  'granted_at', g.granted_at, 'expires_at', g.expires_at, 'reason', g.reason)`;

/** SQL: the names of the groups that give the apps of a client to a user, by the ids of the apps. */
export const groupsByApp = (userId: RawBuilder<number>, client: number) => sql<Record<
  string,
  string[]
> | null>`
  (select json_object_agg(app_id, names) from (
    select g.app_id, json_agg(g.name order by g.name) as names
    from ${GROUP_ACCESS} g join apps a on a.id = g.app_id
    where g.user_id = ${userId} and a.client_id = ${client} group by g.app_id) by_app)`;

const LIST = new Intl.ListFormat('en-GB');

/** Why an app of a group cannot be revoked. */
export const givenByGroups = (names: readonly string[]): string =>
  `Given by the ${names.length === 1 ? 'group' : 'groups'} ${LIST.format(names)}: change the group instead.`;

/** What grants without other terms get. */
export type Granting = { by: number; now: Date };

/**
 * Changes the apps and clients of locked users. Apps that they have, and clients that they belong to, may be granted again: this
 * changes nothing, unless the grant had expired. Pending requests for the granted apps are closed. People do not bring the data that
 * a client has set for them to another one.
 */
export const changeAccess = async (
  tx: Em,
  { by, now }: Granting,
  changes: readonly AccessChange[],
): Promise<void> => {
  const rows = changes
    .filter(({ granted, revoked, joined }) => granted.length + revoked.length + joined.length > 0)
    .map((change) => ({ ...change, revoked: idsOf(change.revoked) }));
  if (rows.length === 0) return;
  const terms: GrantTerms = { granted_by: by, granted_at: now.toISOString(), expires_at: null, reason: '' };
  const grants = changes.flatMap(({ userId, granted }) =>
    granted.map((app) => ({ user_id: userId, app_id: app.id, ...(app.terms ?? terms) })),
  );
  await supersedeOperations(tx, changes);
  const changed = sql`json_to_recordset(${JSON.stringify(rows)}::json)
    as changed ("userId" int, revoked varchar[], joined int[])`;
  await sql`
    with revoked as (
      delete from app_grants g using ${changed}
      where g.user_id = changed."userId" and g.app_id = any(changed.revoked)
    ),
    joined as (
      insert into memberships (client_id, user_id, joined_at, extra, is_demo_user)
      select client_id, "userId", ${now}::timestamptz,
        case when is_member then '{}'::json end, case when is_member then false end
      from (select "userId", unnest(joined) as client_id,
          exists (select from memberships m where m.user_id = "userId") as is_member
        from ${changed}) as joining
      on conflict do nothing
    )
    insert into app_grants as current (user_id, app_id, granted_by, granted_at, expires_at, reason)
    select * from json_to_recordset(${JSON.stringify(grants)}::json) as granted
      (user_id int, app_id varchar, granted_by int, granted_at timestamptz, expires_at timestamptz, reason varchar)
    on conflict (user_id, app_id) do update set granted_by = excluded.granted_by,
      granted_at = excluded.granted_at, expires_at = excluded.expires_at, reason = excluded.reason
      where current.expires_at <= now()`.execute(kysely(tx));
  // The entry of the grant in the audit trail says it.
  if (grants.length > 0)
    await closeObsoleteRequests(tx, requestsOf(grants.map(({ user_id }) => user_id)), by, now);
};

/** Returns the audit events of changed grants, one per client: admins of one client must not see the apps of another. */
export const grantEvents = (
  actor: Actor,
  target: string,
  granted: readonly GrantableApp[],
  revoked: readonly GrantableApp[] = [],
): AuditEvent[] => {
  const clientIds = new Set([...granted, ...revoked].map((app) => app.client_id));
  const sorted = [...clientIds].sort((a, b) => a - b);
  return sorted.map((client) => {
    const idsOf = (apps: readonly GrantableApp[]) =>
      apps.flatMap((app) => (app.client_id === client ? app.id : []));
    const details = { granted: idsOf(granted), revoked: idsOf(revoked) };
    return { action: 'user.change-apps', actor, target, clients: [client], details };
  });
};
