import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type CompiledQuery, sql } from 'kysely';
import { runStatements, tables } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, isSharedUser, requireUserAppsAdmin } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import { requireExpected } from '../expected-values.ts';
import { supersedeStatements } from '../operations/operation-log.ts';
import { joinNotices, reactivationNotice } from '../passwords/password-expiry.ts';
import type { Unit } from '../unit.ts';
import {
  type KnownApp,
  namedApps,
  planUpdate,
  type UpdateContext,
  type UpdatePlan,
  type UserChanges,
} from './update-plan.ts';
import { deactivateUser, lockUser, lockVisibleUser } from './user-locks.ts';
import { userRows } from './user-rows.ts';

type Deps = { tx: SqlEntityManager; now: Date; audit: Audit };
/** Further statements of the transaction that writes the plan. */
type Also = (tx: SqlEntityManager, plan: UpdatePlan) => CompiledQuery[];

/**
 * Changes a user: lock, read, write, audit. The result is computed from what was read instead of being read again, and the write
 * is one statement instead of a flush of entities, because clients update users in bulk. `is_active` is changed through entities.
 * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`, `last-superuser`,
 * `precondition-failed`, `invalid-input` on `apps`
 */
export const updateUser = async (
  { tx, now, audit }: Deps,
  actor: Actor,
  email: string,
  requested: UserChanges,
  also: Also = () => [],
): Promise<UpdatePlan> => {
  const context = await readUpdatable(tx, actor, email, namedApps(requested));
  requireExpected(context.user, requested.expected);
  const changes = permittedChanges(actor, context, requested);
  const access = await changeAccess(tx, actor, email, changes.is_active, now);
  const plan = planUpdate(actor, context, changes, access);
  const { values, events } = plan;
  const { id: userId, granted, revoked, openedClients: clients } = values;
  const decision = { userId, apps: [...granted, ...revoked], clients };
  await runStatements(tx, [
    writeUser(tx, values),
    ...supersedeStatements(tx, [decision]),
    ...joinNotices(tx, [values.id], values.joined, now),
    ...(plan.isActive ? [reactivationNotice(tx, values.id, now)] : []),
    ...audit.statementsOf(tx, events),
    ...also(tx, plan),
  ]);
  return plan;
};

type UpdateDeps = Pick<Unit, 'em' | 'clock' | 'audit'>;

/** Changes a user in a separate transaction. @throws as `updateUser` */
export const updateInTransaction = (
  { em, clock, audit }: UpdateDeps,
  actor: Actor,
  email: string,
  changes: UserChanges,
  also?: Also,
): Promise<UpdatePlan> =>
  em.transactional((tx) => updateUser({ tx, now: clock.now(), audit }, actor, email, changes, also));

/**
 * Locks the user, and reads them in a separate statement: one that waits for a lock still sees the other tables as they were
 * before it waited.
 * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`
 */
const readUpdatable = async (
  tx: SqlEntityManager,
  actor: Actor,
  email: string,
  appIds: readonly string[],
): Promise<UpdateContext> => {
  await lockVisibleUser(tx, actor, email);
  const [row] = await updateContext(tx, actor, email, appIds).execute();
  if (!row) throw notFound('user');
  const { is_superuser: isSuperuser, is_staff: isStaff, client_ids, admin_of, known_apps, ...user } = row;
  requireUserAppsAdmin(actor, {
    id: user.id,
    email,
    isSuperuser,
    isStaff,
    clientIds: client_ids,
    adminOf: admin_of,
  });
  return { user, clientIds: client_ids, apps: known_apps };
};

/** What all clients of a user share. */
const SHARED_FIELDS = ['first_name', 'last_name', 'extra', 'is_active', 'is_demo_user'] as const;

/**
 * Of a shared user, the actor may change the apps only. Values that are as they were may be sent along: callers send back whole
 * objects.
 * @throws Problem `shared-user`
 */
const permittedChanges = (
  actor: Actor,
  { user, clientIds }: UpdateContext,
  changes: UserChanges,
): UserChanges => {
  if (!isSharedUser(actor, { id: user.id, clientIds })) return changes;
  const differs = (field: (typeof SHARED_FIELDS)[number]): boolean =>
    changes[field] !== undefined && canonicalJson(changes[field]) !== canonicalJson(user[field]);
  if (SHARED_FIELDS.some(differs)) throw new Problem('shared-user');
  const { apps, grant, revoke } = changes;
  return { apps, grant, revoke };
};

const updateContext = (tx: SqlEntityManager, actor: Actor, email: string, appIds: readonly string[]) =>
  userRows(tx, actor)
    .select(['users.is_superuser', 'users.is_staff'])
    .select([
      sql<number[]>`array(select m.client_id from memberships m where m.user_id = users.id
          order by m.client_id)`.as('client_ids'),
      sql<number[]>`array(select m.client_id from memberships m where m.user_id = users.id and m.is_admin
          order by m.client_id)`.as('admin_of'),
      sql<KnownApp[]>`(
          select coalesce(json_agg(json_build_object('id', a.id, 'client_id', a.client_id,
            'is_granted', exists (select from app_grants g where g.user_id = users.id and g.app_id = a.id))
            order by a.created_at, a.id), '[]')
          from apps a where a.id in (
            select g.app_id from app_grants g where g.user_id = users.id
            union all select unnest(${appIds}::varchar[])))`.as('known_apps'),
    ])
    .where('users.email', '=', email);

/** Activates or deactivates a user if requested, and returns the changed columns. */
const changeAccess = async (
  tx: SqlEntityManager,
  actor: Actor,
  email: string,
  isActive: boolean | undefined,
  now: Date,
) => {
  if (isActive === undefined) return {};
  const locked = await lockUser(tx, actor, email);
  if (isActive) locked.user.activate(now);
  else await deactivateUser(tx, actor, locked, now);
  await tx.flush();
  const { lastActivated = null, lastDeactivated = null } = locked.user;
  return { is_active: isActive, last_activated: lastActivated, last_deactivated: lastDeactivated };
};

/** Writes a user, app grants and memberships in one statement. Skips the row of the user if it would not change. */
const writeUser = (tx: SqlEntityManager, to: ReturnType<typeof planUpdate>['values']) =>
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
      on conflict do nothing`.compile(tables(tx));
