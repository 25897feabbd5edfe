import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { notFound } from '../../lib/problems.ts';
import type { Actor, TargetRoles } from '../access/actor.ts';
import { preparedForViewer } from '../access/viewer-query.ts';
import type { KnownApp } from './app-access.ts';
import { type UserRow, userRowsIn } from './user-rows.ts';

/** All that decides about a change of a user. */
export type UserFacts = {
  row: UserRow;
  standing: TargetRoles;
  /** The user's apps, and those of the asked ones that there are: by age, as in `row.apps`. */
  apps: KnownApp[];
};

/**
 * Reads them in one statement. Under the lock of the user, and not along with it: a statement that waited for a lock
 * shows the other tables as they were before.
 * @throws Problem `not-found`
 */
export const userFacts = async (
  tx: SqlEntityManager,
  actor: Actor,
  email: string,
  appIds: readonly string[],
): Promise<UserFacts> => {
  const [found] = await READ.run(tx, actor, { email, appIds });
  if (!found) throw notFound('user');
  return factsOf(found);
};

/** The statement of `userFacts`, to be sent along with others. */
export const factsStatement = (
  em: SqlEntityManager,
  actor: Actor,
  email: string,
  appIds: readonly string[],
) => READ.bound(em, actor, { email, appIds });

export const factsOf = (found: FactsRow): UserFacts => {
  const { is_superuser: isSuperuser, is_staff: isStaff, client_ids, admin_of, known_apps, ...row } = found;
  const standing = { isSuperuser, isStaff, clientIds: client_ids, adminOf: admin_of };
  return { row, standing, apps: known_apps };
};

const READ = preparedForViewer(
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

type FactsRow = Awaited<ReturnType<typeof READ.run>>[number];
