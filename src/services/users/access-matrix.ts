import { sql } from 'kysely';
import type { GrantTerms } from '../../../entities/operation.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type FieldErrors, invalid } from '../../lib/problems.ts';
import { type Actor, type TargetRoles, userUpdateRefusal } from '../access/actor.ts';
import { CLIENT_ADMIN, can } from '../access/permissions.ts';
import {
  GROUP_ACCESS,
  hasRole,
  isNotSuspended,
  liveGrants,
  userAppsManagedBy,
  userVisibleTo,
} from '../access/visibility.ts';
import { lockSuperusers, usersWithRoles } from '../accounts/user-locks.ts';
import { isInMaintenance } from '../apps/maintenance.ts';
import { givenAppRoles } from '../attributes/given-values.ts';
import {
  type AccessChange,
  type GrantableApp,
  recordChanges,
  startOperation,
} from '../audit/operation-log.ts';
import { readManagedClient } from '../clients/clients.ts';
import { enqueueJoinNotices } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess, GRANT_TERMS, givenByGroups, grantEvents, groupsByApp } from './app-grants.ts';
import { type Listing, listingQuery } from './users.ts';

/** Whether a user should have an app. */
type Cell = { email: string; app_id: string; granted: boolean };

/** Who has which app: the members of a client as rows and its apps as columns. */
export const createAccessMatrix = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * A page of the matrix. `is_changeable`: whether the actor may change the cells of this user. The screen also uses `groups`, and `ends`:
   * when grants end.
   * @throws Problem `not-found`, also for a client that the actor may not see, `invalid-input` on `cursor`
   */
  read: async (actor: Actor, filter: Listing & { client: number }, limit: number) => {
    const { client } = filter;
    const isChangeable = can(actor, 'manage-grants', client) ? userAppsManagedBy(actor) : condition`false`;
    const { users } = await listingQuery(em, actor, filter, clock.now());
    const [apps, rows] = await Promise.all([
      kysely(em)
        .selectFrom('apps')
        .select(['id', 'slug', 'label', 'is_requestable', isInMaintenance(clock.now()).as('in_maintenance')])
        .where('client_id', '=', client)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
      users
        .clearSelect()
        .select(['users.email', 'users.first_name', 'users.last_name'])
        .select([
          condition`(users.is_active and ${isNotSuspended(sql`users.id`, sql`${client}::int`)})`.as(
            'is_active',
          ),
          isChangeable.as('is_changeable'),
          condition`exists (select from memberships m
            where m.user_id = users.id and m.client_id = ${client} and ${hasRole(CLIENT_ADMIN, 'm')})`.as(
            'is_admin',
          ),
          appsByUser(client, clock.now()).as('given'),
          groupsByUser(client).as('groups'),
          appRolesByUser(client, clock.now()).as('app_roles'),
        ])
        .limit(limit + 1)
        .execute(),
    ]);
    const page = rows.slice(0, limit).map(({ given: { ends, ...apps }, ...user }) => ({
      ...user,
      ...apps,
      ends: ends.map(({ app, expires_at }) => ({ app, expires_at: new Date(expires_at) })),
    }));
    return { apps, users: page, next_cursor: rows.length > limit ? (page.at(-1)?.email ?? null) : null };
  },

  /**
   * Changes all cells in one transaction, or none. Cells that already have the requested value stay unchanged.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` on `cells`
   */
  update: (actor: Actor, client: number, cells: readonly Cell[]) =>
    em.transactional(async (tx) => {
      await readManagedClient(tx, actor, client, 'manage-grants');
      const emails = [...new Set(cells.map(({ email }) => email))];
      const now = clock.now();
      const { targets, apps } = await lockTargets(tx, actor, { client, emails, now });
      requireChangeable(actor, cells, targets, apps);

      const changes = planCells(cells, targets, apps);
      const operation = await startOperation(tx, actor, `access of client ${client}`, now);
      await changeAccess(tx, { by: actor.id, now }, changes);
      await recordChanges(
        tx,
        operation.id,
        changes.map((change) => ({ ...change, isActive: null, membersOf: [] })),
        now,
      );
      const newMembers = changes.flatMap(({ userId, joined }) => (joined.length > 0 ? userId : []));
      await enqueueJoinNotices(tx, newMembers, [client], now);
      const events = changes.flatMap(({ userId, email, granted, revoked }) =>
        grantEvents(actor, { id: userId, email }, granted, revoked),
      );
      await audit.withDetails({ operation: operation.id }).record(tx, events);
      const changed = changes.reduce((sum, { granted, revoked }) => sum + granted.length + revoked.length, 0);
      return { operation: operation.id, undo_until: operation.undoUntil, changed };
    }),
});

type Given = { apps: string[]; apps_by_group: string[]; ends: { app: string; expires_at: string }[] };

/** SQL: the apps of a client that a row of `users` has, oldest first; which of them groups give; and when grants end. */
const appsByUser = (client: number, now: Date) => sql<Given>`(
  select json_build_object(
    'apps', coalesce(json_agg(a.id order by a.created_at, a.id), '[]'),
    'apps_by_group', coalesce(json_agg(a.id order by a.created_at, a.id) filter (where given.is_by_group), '[]'),
    'ends', coalesce(json_agg(json_build_object('app', a.id, 'expires_at', given.expires_at))
      filter (where given.expires_at is not null), '[]'))
  from (select app_id, bool_or(is_by_group) as is_by_group, max(expires_at) as expires_at from (
      select app_id, false as is_by_group, expires_at from ${liveGrants(now)} g where g.user_id = users.id
      union all select app_id, true, null from ${GROUP_ACCESS} g where g.user_id = users.id) as ways group by app_id) as given
    join apps a on a.id = given.app_id and a.client_id = ${client})`;

/** SQL: the ids of the groups of a client that a row of `users` is in. */
const groupsByUser = (client: number) => sql<number[]>`array(
  select gr.id from group_members gm join groups gr on gr.id = gm.group_id
  where gm.user_id = users.id and gr.client_id = ${client} order by gr.id)`;

/** SQL: the roles of a row of `users` in the apps of a client that declare any. */
const appRolesByUser = (client: number, now: Date) => sql<{ app: string; roles: string[] }[]>`(
  select coalesce(json_agg(json_build_object('app', app_id, 'roles', roles) order by app_id), '[]') from (
    select r.app_id, array_agg(distinct r.role order by r.role) as roles
    from ${givenAppRoles(now)} r join apps a on a.id = r.app_id
    where r.user_id = users.id and a.client_id = ${client} group by r.app_id) by_app)`;

const MAX_FAULTS = 100;

type Targets = ReadonlyMap<string, Target>;
type Apps = ReadonlyMap<string, GrantableApp>;

/** @throws Problem `invalid-input` with the errors of all cells, as `cells.{index}.{field}` */
const requireChangeable = (actor: Actor, cells: readonly Cell[], targets: Targets, apps: Apps): void => {
  const refusals = new Map(
    [...targets].map(([email, target]) => [email, userUpdateRefusal(actor, target)?.message]),
  );
  const seen = new Set<string>();
  const fields: FieldErrors = {};
  for (const [index, { email, app_id, granted }] of cells.entries()) {
    const refusal = targets.has(email) ? refusals.get(email) : 'No such user.';
    if (refusal) fields[`cells.${index}.email`] = [refusal];
    if (!apps.has(app_id)) fields[`cells.${index}.app_id`] = ['No app of this client has this id.'];
    const groups = granted ? undefined : targets.get(email)?.groups.get(app_id);
    if (groups) fields[`cells.${index}`] = [givenByGroups(groups)];
    if (seen.has(`${app_id} ${email}`)) fields[`cells.${index}`] = ['Another cell has this user and app.'];
    seen.add(`${app_id} ${email}`);
    if (Object.keys(fields).length >= MAX_FAULTS) break;
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
};

type CellChanges = AccessChange & { email: string; granted: GrantableApp[]; revoked: GrantableApp[] };

const planCells = (cells: readonly Cell[], targets: Targets, apps: Apps): CellChanges[] => {
  const changes = new Map<string, CellChanges>();
  for (const { email, app_id, granted } of cells) {
    const [target, app] = [targets.get(email), apps.get(app_id)];
    if (!target || !app || target.grants.has(app_id) === granted || target.groups.has(app_id)) continue;
    const change = changes.get(email) ?? { email, userId: target.id, granted: [], revoked: [], joined: [] };
    changes.set(email, change);
    if (granted) change.granted.push(app);
    else change.revoked.push({ ...app, terms: target.grants.get(app_id) });
    if (granted && !target.clientIds.includes(app.client_id)) change.joined = [app.client_id];
  }
  return [...changes.values()];
};

/** A locked user with their roles, and, by app id, their grants and the names of their groups in the client. */
type Target = TargetRoles & {
  grants: ReadonlyMap<string, GrantTerms>;
  groups: ReadonlyMap<string, string[]>;
};

type TargetKeys = { client: number; emails: readonly string[]; now: Date };

/**
 * Locks the users whom the actor may see, superusers first and each group by id, and reads them and the apps of the client.
 * @throws Problem `unauthenticated`, as `lockSuperusers`
 */
const lockTargets = async (tx: Em, actor: Actor, { client, emails, now }: TargetKeys) => {
  const db = kysely(tx);
  const visible = db
    .selectFrom('users')
    .where(isAnyOf('users.email', emails, 'varchar'))
    .where(userVisibleTo(actor));
  const superuser = visible.select('users.id').where(condition`users.is_superuser`).limit(1);
  if (await superuser.executeTakeFirst()) await lockSuperusers(tx, actor);
  const locked = await visible.select('users.id').orderBy('users.id').forUpdate('users').execute();
  const ids = locked.map(({ id }) => id);
  // A separate statement: a statement that waits for a lock sees the other tables as they were before it waited.
  const rows = await usersWithRoles(tx)
    .select([
      sql<Record<string, GrantTerms> | null>`(select json_object_agg(g.app_id, ${GRANT_TERMS})
        from ${liveGrants(now)} g join apps a on a.id = g.app_id
        where g.user_id = users.id and a.client_id = ${client})`.as('grants'),
      groupsByApp(sql`users.id`, client).as('groups'),
    ])
    .where(isAnyOf('users.id', ids, 'int'))
    .execute();
  const apps = await db
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where('client_id', '=', client)
    .execute();
  return {
    targets: new Map(
      rows.map(({ grants, groups, ...user }): [string, Target] => [
        user.email,
        {
          ...user,
          grants: new Map(Object.entries(grants ?? {})),
          groups: new Map(Object.entries(groups ?? {})),
        },
      ]),
    ),
    apps: new Map(apps.map((app) => [app.id, app])),
  };
};
