import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { notFound } from '../../lib/problems.ts';
import type { Actor, TargetRoles } from '../access/actor.ts';
import { preparedForViewer } from '../access/viewer-query.ts';
import type { KnownApp } from './app-access.ts';
import { type UserRow, userRowsIn } from './user-rows.ts';

/** What an update needs to know about a user. */
export type UpdateContext = {
  user: UserRow;
  roles: TargetRoles;
  /** The user's apps and the requested apps that exist, by age, like `user.apps`. */
  apps: KnownApp[];
};

/**
 * Reads the context in one statement. Must run after the statement that locks the user: a statement that waits for a lock
 * still sees the other tables as they were before it waited.
 * @throws Problem `not-found`
 */
export const readUpdateContext = async (
  tx: SqlEntityManager,
  actor: Actor,
  email: string,
  appIds: readonly string[],
): Promise<UpdateContext> => {
  const [row] = await UPDATE_CONTEXT.run(tx, actor, { email, appIds });
  if (!row) throw notFound('user');
  return toContext(row);
};

const toContext = (row: ContextRow): UpdateContext => {
  const { is_superuser: isSuperuser, is_staff: isStaff, client_ids, admin_of, known_apps, ...user } = row;
  const roles = { isSuperuser, isStaff, clientIds: client_ids, adminOf: admin_of };
  return { user, roles, apps: known_apps };
};

const UPDATE_CONTEXT = preparedForViewer(
  (db, viewer, { email, appIds }: { email: string; appIds: readonly string[] }) =>
    userRowsIn(db, viewer)
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
      .where('users.email', '=', email),
);

type ContextRow = Awaited<ReturnType<typeof UPDATE_CONTEXT.run>>[number];
