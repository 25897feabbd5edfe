import { type RawBuilder, sql } from 'kysely';
import type { GrantTerms } from '../../../entities/operation.ts';
import { type Condition, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, canViewAll, type TargetRoles } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { appAccess, GROUP_ACCESS, groupsGiving, isAllowedIn, liveGrants } from '../access/visibility.ts';
import { endUndo } from '../accounts/access-ends.ts';
import { type AuditEvent, ofUser, type Transaction } from '../audit/audit.ts';
import type { AccessChange, GrantableApp } from '../audit/operation-log.ts';
import { noteShared } from './member-access.ts';
import { closeObsoleteRequests, requestsFor } from './request-closing.ts';

/**
 * Finds the apps that the actor may grant, oldest first. `unknown`: ids that belong to no app, or to an app that the actor may not grant.
 */
export const findGrantable = async (em: Em, actor: Actor, appIds: readonly string[]) => {
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(isAnyOf('id', appIds, 'varchar'))
    .where(isAllowedIn(sql`client_id`, actor, 'manage-grants'))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const foundIds = new Set(apps.map(({ id }) => id));
  return { apps, unknown: appIds.filter((id) => !foundIds.has(id)) };
};

/** The granted apps of a user, oldest first, in clients that meet the condition. */
export const readGrantedApps = (
  em: Em,
  userId: number,
  now: Date,
  isConcerned: (clientId: RawBuilder<number>) => Condition,
) =>
  kysely(em)
    .selectFrom(liveGrants(now).as('g'))
    .innerJoin('apps', 'apps.id', 'g.app_id')
    .select(['apps.id', 'apps.label'])
    .where('g.user_id', '=', userId)
    .where(isConcerned(sql`apps.client_id`))
    .orderBy('apps.created_at')
    .orderBy('apps.id')
    .execute();

export const unknownApp = (id: string): string => `There is no app ${id} to grant.`;

export const GRANT_TERMS = sql<GrantTerms>`json_build_object('granted_by', g.granted_by,
  'granted_at', g.granted_at, 'expires_at', g.expires_at, 'reason', g.reason, 'attributes', g.attributes, 'app_roles', g.app_roles)`;

/** SQL: the names of the groups that give a user the apps of a client, by app id. */
export const groupsByApp = (userId: RawBuilder<number>, client: number) => sql<Record<
  string,
  string[]
> | null>`
  (select json_object_agg(app_id, names) from (
    select g.app_id, json_agg(g.name order by g.name) as names
    from ${GROUP_ACCESS} g join apps a on a.id = g.app_id
    where g.user_id = ${userId} and a.client_id = ${client} group by g.app_id) by_app)`;

const LIST = new Intl.ListFormat('en-GB');

/** The reason why an app of a group cannot be revoked. */
export const givenByGroups = (names: readonly string[]): string =>
  `Given by the ${names.length === 1 ? 'group' : 'groups'} ${LIST.format(names)}: change the group instead.`;

/** The default terms of grants. */
type Granting = { by: number; now: Date };

/**
 * Changes the apps and clients of locked users. Granting an app again, or joining a client again, changes nothing, unless the grant had
 * expired. Closes pending requests for the granted apps. The first clients of an account take over its `extra` and `is_demo_user`; if a
 * user already has a client, its data stays there.
 */
export const changeAccess = async (tx: Em, { by, now }: Granting, changes: readonly AccessChange[]) => {
  const rows = changes
    .filter(({ granted, revoked, joined }) => granted.length + revoked.length + joined.length > 0)
    .map((change) => ({ ...change, revoked: change.revoked.map(({ id }) => id) }));
  if (rows.length === 0) return;
  const terms: GrantTerms = { granted_by: by, granted_at: now.toISOString(), expires_at: null, reason: '' };
  const grants = changes.flatMap(({ userId, granted }) =>
    granted.map((app) => ({ user_id: userId, app_id: app.id, ...(app.terms ?? terms) })),
  );
  const joining = rows.flatMap(({ userId, joined }) => (joined.length > 0 ? [{ userId, joined }] : []));
  if (joining.length > 0) await joinClients(tx, joining, now);
  if (grants.length === 0 && rows.every(({ revoked }) => revoked.length === 0)) return;
  const changed = sql`json_to_recordset(${JSON.stringify(rows)}::json) as changed ("userId" int, revoked varchar[])`;
  await sql`
    with revoked as (
      delete from app_grants g using ${changed}
      where g.user_id = changed."userId" and g.app_id = any(changed.revoked)
    )
    insert into app_grants as current
      (user_id, app_id, granted_by, granted_at, expires_at, reason, attributes, app_roles)
    select user_id, app_id, granted_by, granted_at, expires_at, reason, attributes, coalesce(app_roles, '{}')
    from json_to_recordset(${JSON.stringify(grants)}::json) as granted
      (user_id int, app_id varchar, granted_by int, granted_at timestamptz, expires_at timestamptz, reason varchar,
        attributes json, app_roles text[])
    on conflict (user_id, app_id) do update set granted_by = excluded.granted_by,
      granted_at = excluded.granted_at, expires_at = excluded.expires_at, reason = excluded.reason,
      attributes = excluded.attributes, app_roles = excluded.app_roles
      where current.expires_at <= ${now}::timestamptz`.execute(kysely(tx));
  // Without audit entries for the requests: the grant has one.
  if (grants.length > 0) await closeObsoleteRequests(tx, requestsFor(grants), by, now);
};

type Joining = Pick<AccessChange, 'userId' | 'joined'>;

/** Adds memberships. From now on, other clients trust the person's present mailbox. */
const joinClients = async (tx: Em, joining: readonly Joining[], now: Date): Promise<void> => {
  const userIds = joining.map(({ userId }) => userId);
  await sql`
    with joining as (
      -- Not 'exists': as a column it would hash the whole table.
      select users.id, users.email, unnest(joined) as client_id, extra, is_demo_user,
        (select true from memberships m where m.user_id = users.id limit 1) is null as is_first
      from json_to_recordset(${JSON.stringify(joining)}::json) as changed ("userId" int, joined int[])
        join users on users.id = "userId"
      where users.id = any(${userIds}::int[])
    ),
    joined as (
      insert into memberships (client_id, user_id, joined_at, extra, is_demo_user)
      select client_id, id, ${now}::timestamptz, case when is_first then extra else '{}' end, is_first and is_demo_user from joining
      on conflict do nothing
    ),
    stated as (
      -- A person who has joined is the one whom a directory of the client states under this address.
      update directory_people d set user_id = joining.id from joining
      where d.client_id = joining.client_id and d.email = joining.email and d.user_id is null and not d.is_removed
    )
    update users set extra = '{}', is_demo_user = false from joining
    where users.id = joining.id and users.id = any(${userIds}::int[]) and is_first
      and (joining.is_demo_user or joining.extra::text <> '{}')`.execute(kysely(tx));
  await noteShared(tx, userIds);
  await endUndo(tx, userIds);
};

/** Returns the audit events of changed grants, one per client: admins of one client must not see the apps of another. */
export const grantEvents = (
  actor: Actor,
  user: { id: number; email: string },
  granted: readonly GrantableApp[],
  revoked: readonly GrantableApp[] = [],
): AuditEvent[] => {
  const clientIds = new Set([...granted, ...revoked].map((app) => app.client_id));
  const sorted = [...clientIds].sort((a, b) => a - b);
  return sorted.map((client) => {
    const idsOf = (apps: readonly GrantableApp[]) =>
      apps.flatMap((app) => (app.client_id === client ? app.id : []));
    const details = { granted: idsOf(granted), revoked: idsOf(revoked) };
    return { action: 'user.change-apps', actor, target: ofUser(user), clients: [client], details };
  });
};

/** The apps that a user should have. */
export type AppChanges = {
  /** Replaces the apps of the user that the actor may change. */
  apps?: string[] | undefined;
  /** Adds and removes single apps. Not to be combined with `apps`. */
  grant?: readonly string[] | undefined;
  revoke?: readonly string[] | undefined;
  /** By app id, the terms of new grants. */
  terms?: Readonly<Record<string, GrantTerms>> | undefined;
  /** Also revokes grants of apps that groups give: the person keeps these apps. */
  onlyGrants?: boolean;
};

/** The apps that the changes name. */
export const namedApps = ({ apps, grant = [], revoke = [] }: AppChanges): readonly string[] =>
  apps ?? [...grant, ...revoke];

/** An app that a user has by a grant or by the named groups, or that the changes request. */
type KnownApp = GrantableApp & { is_granted: boolean; groups: string[] };

type Reading = Pick<Transaction, 'tx' | 'now'>;

/** The existing apps that a user has or that the changes name, oldest first. */
const readKnownApps = ({ tx, now }: Reading, userId: number, changes: AppChanges): Promise<KnownApp[]> =>
  kysely(tx)
    .selectFrom('apps')
    .select(['apps.id', 'apps.client_id'])
    .leftJoin(liveGrants(now).as('g'), (join) =>
      join.onRef('g.app_id', '=', 'apps.id').on('g.user_id', '=', userId),
    )
    .select([
      condition`g.app_id is not null`.as('is_granted'),
      GRANT_TERMS.as('terms'),
      groupsGiving(sql`${userId}`).as('groups'),
    ])
    .where(
      condition`apps.id in (select app_id from ${appAccess(now)} h where h.user_id = ${userId}
        union all select unnest(${[...namedApps(changes)]}::varchar[]))`,
    )
    .orderBy('apps.created_at')
    .orderBy('apps.id')
    .execute();

/**
 * Plans the grants and revocations that replace a user's apps by the requested ones. Apps of clients that the actor does not administer
 * stay unchanged, so that admins of different clients do not undo each other's changes. So do the apps that a suspended member keeps,
 * unless the changes name them: callers do not read these.
 * @throws Problem `invalid-input` on `apps`
 */
export const planApps = async (
  reading: Reading,
  actor: Actor,
  user: Pick<TargetRoles, 'id' | 'clientIds'>,
  changes: AppChanges,
) => {
  const named = namedApps(changes);
  if (changes.apps === undefined && named.length === 0) return { granted: [], revoked: [], joined: [] };
  const apps = await readKnownApps(reading, user.id, changes);
  const changeable = apps.filter((app) => can(actor, 'manage-grants', app.client_id));
  // Callers may send back granted apps that the actor may see but not change.
  const isReadOnly = (app: KnownApp) =>
    !changeable.includes(app) && (app.is_granted || app.groups.length > 0);
  const readOnly = changes.apps && canViewAll(actor) ? apps.filter(isReadOnly) : [];
  const accepted = new Set([...changeable, ...readOnly].map(({ id }) => id));
  const unknown = named.filter((id) => !accepted.has(id));
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });

  requireNoGroups(changeable, changes);
  const wanted = changeable.filter(wantsApp(changes));
  return {
    granted: wanted
      .filter((app) => !app.is_granted)
      .map(({ id, client_id }) => ({ id, client_id, terms: changes.terms?.[id] })),
    revoked: changeable.filter((app) => app.is_granted && !wanted.includes(app)),
    /** Ids of clients. */
    joined: [...new Set(wanted.map((app) => app.client_id))].filter((id) => !user.clientIds.includes(id)),
  };
};

/** @throws Problem `invalid-input` on `apps` if an app that a group gives is omitted or revoked */
const requireNoGroups = (apps: readonly KnownApp[], changes: AppChanges): void => {
  if (changes.onlyGrants) return;
  const isLeftOut = ({ id }: KnownApp) =>
    changes.apps?.includes(id) === false || changes.revoke?.includes(id);
  const faults = apps.filter((app) => app.groups.length > 0 && isLeftOut(app));
  if (faults.length > 0)
    throw invalid({ apps: faults.map(({ id, groups }) => `${id}: ${givenByGroups(groups)}`) });
};

const wantsApp = ({ apps, grant = [], revoke = [] }: AppChanges): ((app: KnownApp) => boolean) => {
  const [added, removed] = [new Set(apps ?? grant), new Set(revoke)];
  return ({ id, is_granted, groups }) => {
    if (apps === undefined) return added.has(id) || (is_granted && !removed.has(id));
    // Callers send back apps that groups give; these do not become grants.
    return added.has(id) && (is_granted || groups.length === 0);
  };
};
