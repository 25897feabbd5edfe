import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type Actor, administersClient } from '../access/actor.ts';
import { userAppsManagedBy } from '../access/visibility.ts';
import type { Unit } from '../unit.ts';
import { findUsers, type Listing } from './user-listing.ts';

/** The members of a client as rows and its apps as columns. */
export const createAccessMatrix = ({ em, clock }: Pick<Unit, 'em' | 'clock'>) => ({
  /**
   * A page of the matrix. `is_changeable`: whether the actor may change the cells of this user.
   * @throws Problem `not-found`, also for a client the actor may not see, `invalid-input` on `cursor`
   */
  read: async (actor: Actor, filter: Listing & { client: number }, limit: number) => {
    const { client } = filter;
    const isChangeable = administersClient(actor, client) ? userAppsManagedBy(actor) : sql<boolean>`false`;
    const { users } = await findUsers(em, actor, filter, clock.now());
    const [apps, rows] = await Promise.all([
      tables(em)
        .selectFrom('apps')
        .select(['id', 'slug', 'label', 'in_maintenance'])
        .where('client_id', '=', client)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
      users
        .clearSelect()
        .select(['users.email', 'users.first_name', 'users.last_name', 'users.is_active'])
        .select([
          isChangeable.as('is_changeable'),
          sql<boolean>`exists (select from memberships m
            where m.user_id = users.id and m.client_id = ${client} and m.is_admin)`.as('is_admin'),
          sql<string[]>`array(select a.id from app_grants g join apps a on a.id = g.app_id
            where g.user_id = users.id and a.client_id = ${client} order by a.created_at, a.id)`.as('apps'),
        ])
        .limit(limit + 1)
        .execute(),
    ]);
    const page = rows.slice(0, limit);
    return { apps, users: page, next_cursor: rows.length > limit ? (page.at(-1)?.email ?? null) : null };
  },
});
