import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import {
  type Actor,
  type TargetRoles,
  userAdminRefusal,
  userAppsRefusal,
  userUpdateRefusal,
} from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { Unit } from '../unit.ts';

/** What the actor may do with a user, by the rules of the procedures that do it. */
export const createUserPermissions = ({ em }: Pick<Unit, 'em'>) => ({
  /** @throws Problem `not-found` */
  read: async (actor: Actor, email: string) => {
    const user = await readTarget(em, actor, email);
    const refusal = userAdminRefusal(actor, user);
    return {
      can_update: userUpdateRefusal(actor, user) === null,
      can_update_apps: userAppsRefusal(actor, user) === null,
      can_revoke: refusal === null,
      is_shared: refusal?.code === 'shared-user',
    };
  },
});

/**
 * The roles of a user whom the actor may see. Locks nothing.
 * @throws Problem `not-found`
 */
export const readTarget = (db: Db, actor: Actor, email: string): Promise<TargetRoles> =>
  tables(db)
    .selectFrom('users')
    .select(['id', 'email', 'is_superuser as isSuperuser', 'is_staff as isStaff'])
    .select([
      sql<number[]>`array(select m.client_id from memberships m where m.user_id = users.id)`.as('clientIds'),
      sql<
        number[]
      >`array(select m.client_id from memberships m where m.user_id = users.id and m.is_admin)`.as('adminOf'),
    ])
    .where('email', '=', email)
    .where(userVisibleTo(actor))
    .executeTakeFirstOrThrow(() => notFound('user'));
