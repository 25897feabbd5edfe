import { expressionBuilder, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { arrayOf, type Condition, condition } from '../../db/kysely.ts';
import { ERASED_DOMAIN, SERVICE_DOMAIN } from '../../lib/email-address.ts';
import { type Actor, canViewAll } from './actor.ts';
import {
  type Action,
  CLIENT_ADMIN,
  CLIENT_ROLES,
  type ClientRole,
  can,
  clientsWhere,
  GLOBAL_ROLES,
  MEMBER,
  opensApps,
  type Roles,
  rolesWithin,
} from './permissions.ts';
import { EVERYWHERE, isInScope } from './scope.ts';

/**
 * The visibility policy: SQL conditions on what a viewer may see and change. Every list and every single read uses them.
 */
export type Viewer = Roles & Pick<Actor, 'id' | 'scope'>;

/** A viewer of everything, for queries that many such viewers share. `id` 0 is no user. */
export const VIEWS_ALL: Viewer = { ...MEMBER, id: 0, isStaff: true, scope: EVERYWHERE };

const ALWAYS: Condition = sql`true`;

/** Rows of a client in which the user may do at least one of the actions: `can`, in SQL. */
export const isAllowedIn = (
  clientId: RawBuilder<number>,
  user: Roles,
  ...actions: readonly Action[]
): Condition => {
  const clients = clientsWhere(user, ...actions);
  if (clients === 'all') return ALWAYS;
  return clients.length === 0 ? sql`false` : isOneOf(clientId, clients);
};

/** Rows of a client that the viewer may see. */
export const clientVisibleTo = (viewer: Roles, clientId: RawBuilder<number>): Condition =>
  isAllowedIn(clientId, viewer, 'view');

/** The ids of all clients of a row of `users`. */
export const CLIENTS_OF_USER = expressionBuilder<Database, 'users'>()
  .selectFrom('memberships as m')
  .select('m.client_id')
  .whereRef('m.user_id', '=', 'users.id')
  .orderBy('m.client_id');

// A suspended membership keeps its roles, grants and groups, but they do not count: opening apps and acting by them need an active
// membership. Only what is asked about others, to protect them, takes the roles that they hold: a reactivation returns these.

/** SQL: the names of the roles that a membership holds, even while it is suspended. */
export const heldRoleNames = (memberships: string) => sql<
  string[]
>`case when ${sql.ref(`${memberships}.is_admin`)}
  then array_prepend(${sql.lit(CLIENT_ADMIN)}, ${sql.ref(`${memberships}.roles`)}) else ${sql.ref(`${memberships}.roles`)} end`;

/** SQL: whether a membership holds a role, even while it is suspended. Is the condition of an index. */
const holdsRoles = (memberships: string): Condition =>
  condition`(${sql.ref(`${memberships}.is_admin`)} or ${sql.ref(`${memberships}.roles`)} <> '{}')`;

/** SQL: whether a membership has a role that counts. */
export const hasRoles = (memberships: string): Condition =>
  condition`(${sql.ref(`${memberships}.is_active_member`)} and ${holdsRoles(memberships)})`;

/** SQL: whether a membership has this role, and it counts. */
export const hasRole = (role: string, memberships: string): Condition => {
  const holds =
    role === CLIENT_ADMIN
      ? sql`${sql.ref(`${memberships}.is_admin`)}`
      : sql`${sql.lit(role)} = any(${sql.ref(`${memberships}.roles`)})`;
  return condition`(${sql.ref(`${memberships}.is_active_member`)} and ${holds})`;
};

const roleColumns = (isIncluded: Condition) =>
  [
    ...GLOBAL_ROLES.map(({ flag, column }) => condition`${sql.ref(`users.${column}`)}`.as(flag)),
    sql<Roles['inClients']>`(select coalesce(json_object_agg(m.client_id, ${heldRoleNames('m')}), '{}')
      from memberships m where m.user_id = users.id and ${isIncluded})`.as('inClients'),
  ] as const;

/** The role columns of `users`, for a select: the roles that count. */
export const ROLE_COLUMNS = roleColumns(hasRoles('m'));

/** The role columns of `users` whom others change: with the roles that suspended memberships keep. */
export const HELD_ROLE_COLUMNS = roleColumns(holdsRoles('m'));

/**
 * SQL: whether the roles that a membership holds allow nothing in its client that the actor may not do there: `canAllOf`. No one acts on an
 * account, or as a person, with more rights.
 */
export const isWithinRights = (actor: Roles, memberships: string): Condition => {
  if (can(actor, 'administer')) return ALWAYS;
  const clients = Map.groupBy(Object.entries(actor.inClients), ([, names]) => rolesWithin(names).join(' '));
  const within = [...clients].map(
    ([names, held]) =>
      sql`${isOneOf(
        sql.ref(`${memberships}.client_id`),
        held.map(([id]) => Number(id)),
      )} and ${heldRoleNames(memberships)} <@ ${names.split(' ')}::text[]`,
  );
  return condition`(${sql.join([sql`not ${holdsRoles(memberships)}`, ...within], sql` or `)})`;
};

/** SQL: whether a row of `users`, or of this alias, has a role in all clients. */
export const hasGlobalRole = (users = 'users'): Condition =>
  condition`(${sql.join(
    GLOBAL_ROLES.map(({ column }) => sql.ref(`${users}.${column}`)),
    sql` or `,
  )})`;

/** SQL: the name of the strongest role of a row of `users` in all clients, or null. */
export const globalRole = () =>
  sql<(typeof GLOBAL_ROLES)[number]['name'] | null>`case ${sql.join(
    GLOBAL_ROLES.map(({ name, column }) => sql`when ${sql.ref(`users.${column}`)} then ${sql.lit(name)}`),
    sql` `,
  )} end`;

const OPENING_CLIENT_ROLES = CLIENT_ROLES.filter(opensApps);

/** SQL: whether a membership has a role that opens all apps of its client. */
export const isAppOpeningMember = (memberships = 'memberships'): Condition =>
  condition`(${sql.join(
    OPENING_CLIENT_ROLES.map(({ name }) => hasRole(name, memberships)),
    sql` or `,
  )})`;

/** SQL: whether a user opens, by a role, all apps of the client of a membership; the membership may be missing. */
export const opensByRole = (users = 'users', memberships = 'memberships'): Condition =>
  condition`(${hasGlobalRole(users)} or coalesce(${isAppOpeningMember(memberships)}, false))`;

/** SQL: the names of the roles that make `opensByRole` true, strongest first. */
export const openingRoles = (users = 'users', memberships = 'memberships') => {
  const roles = [
    ...GLOBAL_ROLES.map(({ name, column }) => ({ name, has: sql.ref(`${users}.${column}`) })),
    ...OPENING_CLIENT_ROLES.map(({ name }) => ({ name, has: hasRole(name, memberships) })),
  ];
  const names = roles.map(({ name, has }) => sql`case when ${has} then ${sql.lit(name)} end`);
  return sql<string[]>`array_remove(array[${sql.join(names)}], null)`;
};

/** SQL: the first of `openingRoles`; null if there is none. */
export const strongestRole = (users: string, memberships: string) =>
  sql<string | null>`(${openingRoles(users, memberships)})[1]`;

export const CLIENT_IDS = arrayOf(CLIENTS_OF_USER).as('clientIds');

/** Rows of `users`, or of this alias, that the viewer may see: the viewer's own, and the members of clients that the viewer administers. */
export const userVisibleTo = (viewer: Viewer, users = 'users'): Condition =>
  canViewAll(viewer)
    ? ALWAYS
    : sql`(${sql.ref(`${users}.id`)} = ${viewer.id} or exists (select from memberships m
        where m.user_id = ${sql.ref(`${users}.id`)} and ${clientVisibleTo(viewer, sql`m.client_id`)}))`;

/** Rows of `users`, or of this alias, of service accounts. */
export const isServiceAccount = (users = 'users'): Condition =>
  condition`(${sql.ref(`${users}.email`)} like ${sql.lit(`%@${SERVICE_DOMAIN}`)})`;

/** Rows of `users` that are people who were not erased. Lists of people contain only these. */
export const isPerson: Condition = sql`(users.email not like ${sql.lit(`%@${ERASED_DOMAIN}`)} and not ${isServiceAccount()})`;

/** Rows that link a user to a client, such as an app grant or a role: visible to that user and to viewers of the client. */
export const userClientVisibleTo = (
  viewer: Viewer,
  userId: RawBuilder<number>,
  clientId: RawBuilder<number>,
): Condition =>
  sql`(${userId} = ${viewer.id} and ${isInScope(viewer.scope, clientId)} or ${clientVisibleTo(viewer, clientId)})`;

/** Rows of `users` who have the role in the client, or, without a client, in any client that the viewer may see. */
export const hasClientRole = (viewer: Viewer, { name }: ClientRole, clientId?: number): Condition => sql`
  exists (select from memberships m where m.user_id = users.id and ${hasRole(name, 'm')}
    and ${clientId === undefined ? ALWAYS : isOneOf(sql`m.client_id`, [clientId])}
    and ${userClientVisibleTo(viewer, sql`m.user_id`, sql`m.client_id`)})`;

/** `userAdminRefusal` in SQL: users whose account the viewer may change and whose logins the viewer may see, and the viewer. */
export const accountVisibleTo = (viewer: Viewer): Condition =>
  can(viewer, 'administer')
    ? ALWAYS
    : condition`(users.id = ${viewer.id} or not users.was_shared
        and exists (select from memberships m where m.user_id = users.id
          and ${isAllowedIn(sql`m.client_id`, viewer, 'manage-credentials')} and ${isWithinRights(viewer, 'm')}))`;

/** Rows of `users` whose apps the manager may change, like `users.update`: members of a client of the manager. */
export const userAppsManagedBy = (manager: Roles): Condition => sql`
  (not exists (select from memberships m
      where m.user_id = users.id and ${isAllowedIn(sql`m.client_id`, manager, 'manage-grants')}
        and (m.is_admin or not ${isWithinRights(manager, 'm')}))
    and ${can(manager, 'administer') ? ALWAYS : sql`not ${hasGlobalRole()}`})`;

/** SQL: a table of the grants that people hold at this time, even in clients that suspend them. Expired grants may still be stored. */
export const liveGrants = (now: Date) => sql<Selectable<Database['app_grants']>>`
  (select * from app_grants where coalesce(expires_at > ${now}::timestamptz, true))`;

/** SQL: whether a suspended membership keeps a user out of an app. Few memberships are suspended, and an index holds these. */
const isSuspendedIn = (userId: RawBuilder<number>, appId: RawBuilder<string>): Condition =>
  condition`exists (select from memberships s join apps of_s on of_s.client_id = s.client_id
    where s.user_id = ${userId} and of_s.id = ${appId} and not s.is_active_member)`;

/** SQL: a table of the groups that give an app to a user. Excludes clients in which the user is suspended. */
export const GROUP_ACCESS = sql<{ user_id: number; app_id: string; group_id: number; name: string }>`
  (select gm.user_id, ga.app_id, gr.id as group_id, gr.name
    from group_members gm join groups gr on gr.id = gm.group_id join group_apps ga on ga.group_id = gm.group_id
      join memberships m on m.client_id = gr.client_id and m.user_id = gm.user_id and m.is_active_member)`;

/** The names of the groups that give a row of `apps` to a user. */
export const groupsGiving = (userId: RawBuilder<number>) =>
  arrayOf(
    expressionBuilder<Database, 'apps'>()
      .selectFrom(GROUP_ACCESS.as('b'))
      .select('b.name')
      .where('b.user_id', '=', userId)
      .whereRef('b.app_id', '=', 'apps.id')
      .orderBy('b.name'),
  );

/**
 * SQL: a table of users and their apps at this time, by a grant or by groups, without duplicates. Contains no apps by role, and none of
 * clients in which the user is suspended. PostgreSQL reads the grants of a `union all` in the order of their index only if they have no
 * condition of their own.
 */
export const appAccess = (now: Date) => sql<{ user_id: number; app_id: string }>`
  (select user_id, app_id from (
    select user_id, app_id, expires_at from app_grants
    union all select distinct user_id, app_id, null::timestamptz from ${GROUP_ACCESS} by_group where not exists (
      select from ${liveGrants(now)} g where g.user_id = by_group.user_id and g.app_id = by_group.app_id)
  ) given where coalesce(expires_at > ${now}::timestamptz, true) and not ${isSuspendedIn(sql`given.user_id`, sql`given.app_id`)})`;

/**
 * SQL: whether a row of `users` may open a row of `apps` by a role, grant or group in its client. Their `memberships` row may be missing.
 */
export const hasOwnAccess = (now: Date): Condition => condition`(coalesce(${isAppOpeningMember()}, false)
  or exists (select from ${appAccess(now)} g where g.user_id = users.id and g.app_id = apps.id))`;

/** Rows of `apps` that the viewer may see: apps of clients that the viewer administers, and apps of open clients that the viewer may open. */
export const appVisibleTo = (viewer: Viewer, now: Date): Condition =>
  canViewAll(viewer)
    ? ALWAYS
    : sql`(${clientVisibleTo(viewer, sql`apps.client_id`)} or exists (
        select from ${appAccess(now)} g join clients c on c.id = apps.client_id and c.is_open
        where g.app_id = apps.id and g.user_id = ${viewer.id} and ${isInScope(viewer.scope, sql`apps.client_id`)}))`;

/** Whether no suspension keeps the user out of the client. */
export const isNotSuspended = (userId: RawBuilder<number>, clientId: RawBuilder<number>): Condition => sql`
  not exists (select from memberships m
    where m.user_id = ${userId} and m.client_id = ${clientId} and not m.is_active_member)`;

/**
 * Rows of `access_views`, joined with `apps`, that the viewer may see. Staff see all of them, but only the keys of the ones that they
 * manage.
 */
export const accessViewVisibleTo = (viewer: Viewer): Condition =>
  canViewAll(viewer) ? ALWAYS : accessViewManagedBy(viewer);

/**
 * Rows of `access_views`, joined with `apps`, that the manager may change and whose keys the manager may see. A key opens the app as the
 * user of the view, who must not have more rights. So only superusers manage views of superusers and staff, and views that superusers made
 * for users who have lost such a role since. An inactive view of a user who has left the client is exempt: it must not reveal the user's present role.
 */
export const accessViewManagedBy = (manager: Roles): Condition =>
  can(manager, 'administer')
    ? ALWAYS
    : sql`(${isAllowedIn(sql`apps.client_id`, manager, 'manage-apps')} and not access_views.by_superuser
        and not exists (select from users u where u.id = access_views.user_id and ${hasGlobalRole('u')}
          and (access_views.is_active or exists (
            select from memberships m where m.user_id = u.id and m.client_id = apps.client_id)))
        and not exists (select from memberships m where m.user_id = access_views.user_id
          and m.client_id = apps.client_id and not ${isWithinRights(manager, 'm')}))`;

/** SQL: whether lists show an access view: not one-time views, and not expired ones. */
export const isListedView = (now: Date): Condition =>
  condition`(not access_views.is_one_time and (access_views.expires_at > ${now}::timestamptz) is not false)`;

/** Shorter than any key. */
const ID = /^\d{1,15}$/;

export const hasIdOrKey = (idOrKey: string): Condition =>
  ID.test(idOrKey) ? sql`access_views.id = ${idOrKey}::bigint` : sql`access_views.key = ${idOrKey}`;

/**
 * Rows of `access_views`, joined with `apps`, that the viewer may see by this id or key. By key only if the viewer may see the key, so that
 * no one can test whether a key is right.
 */
export const accessViewFoundBy = (viewer: Viewer, idOrKey: string): Condition =>
  sql`(${hasIdOrKey(idOrKey)} and ${ID.test(idOrKey) ? accessViewVisibleTo(viewer) : accessViewManagedBy(viewer)})`;

/** Rows of `sites` that the viewer may see: sites of clients that the viewer may see, or in which the viewer is an active member. */
export const siteVisibleTo = (viewer: Viewer): Condition =>
  canViewAll(viewer)
    ? ALWAYS
    : sql`exists (select from clients c where c.site_id = sites.id and (${clientVisibleTo(viewer, sql`c.id`)}
        or ${isInScope(viewer.scope, sql`c.id`)} and exists (
          select from memberships m where m.client_id = c.id and m.user_id = ${viewer.id} and m.is_active_member)))`;

/**
 * Rows of `audit_entries` that name a client of the viewer. Entries about an account that several clients share name no client. Users who
 * may `poll-events` also see cleared caches, because platforms react to them.
 */
export const auditEntryVisibleTo = (viewer: Roles): Condition => {
  const clients = clientsWhere(viewer, 'read-audit');
  if (clients === 'all') return ALWAYS;
  const ofClients = condition`client_ids && ${[...clients]}::int[]`;
  return can(viewer, 'poll-events')
    ? sql`(${ofClients} or audit_entries.action = 'app.clear-cache')`
    : ofClients;
};

type Entry = { action: string; client_ids: readonly number[] };

/** `auditEntryVisibleTo` for entries in memory. */
export const auditEntrySeenBy = (viewer: Roles): ((entry: Entry) => boolean) => {
  const clients = clientsWhere(viewer, 'read-audit');
  if (clients === 'all') return () => true;
  const mayPoll = can(viewer, 'poll-events');
  return ({ action, client_ids: ids }) =>
    (mayPoll && action === 'app.clear-cache') || ids.some((id) => clients.includes(id));
};

/** Rows of a client whose entries in the audit trail the viewer may see. */
export const clientAuditVisibleTo = (viewer: Roles, clientId: RawBuilder<number>): Condition =>
  isAllowedIn(clientId, viewer, 'read-audit', 'poll-events');

const isOneOf = (clientId: RawBuilder<number>, clientIds: readonly number[]): Condition =>
  sql`${clientId} = any(${clientIds}::int[])`;
