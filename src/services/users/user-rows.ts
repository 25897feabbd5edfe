import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { compiledOnce } from '../../db/compiled-query.ts';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';

/**
 * Users as an actor sees them: `apps` (by age) and `clientadmin_of` hold only what belongs to clients that the
 * actor may see; of oneself one sees everything. Ordered by id.
 */
export const userRows = (em: SqlEntityManager, actor: Actor) => rowsSeenBy(tables(em), actor);

export const rowsSeenBy = (db: Kysely<Database>, actor: Actor) => {
  const seenApp = isSeenOf(actor, sql`users.id`, sql`a.client_id`);
  const seenAdmin = isSeenOf(actor, sql`users.id`, sql`m.client_id`);
  return db
    .selectFrom('users')
    .select([
      'users.id',
      'users.email',
      'users.handle',
      'users.first_name',
      'users.last_name',
      'users.extra',
      'users.is_active',
      'users.is_demo_user',
      'users.profile_color',
      'users.profile_avatar',
      'users.last_login',
      'users.date_joined',
      'users.last_activated',
      'users.last_deactivated',
      'users.last_password_set',
    ])
    .select([
      sql<string[]>`array(select a.id from app_grants g join apps a on a.id = g.app_id
        where g.user_id = users.id and ${seenApp} order by a.created_at, a.id)`.as('apps'),
      sql<number[]>`array(select m.client_id from memberships m
        where m.user_id = users.id and m.is_admin and ${seenAdmin} order by m.client_id)`.as(
        'clientadmin_of',
      ),
    ])
    .orderBy('users.id');
};
export type UserRow = Awaited<ReturnType<ReturnType<typeof userRows>['execute']>>[number];

/** SQL that holds where an actor may see what ties a user to a client. */
export const isSeenOf = (
  actor: Actor,
  userId: RawBuilder<number>,
  clientId: RawBuilder<number>,
): RawBuilder<boolean> => sql`(${userId} = ${actor.id} or ${clientVisibleTo(actor, clientId)})`;

/** SQL that holds for the users an actor may see: themselves, and those who share a client with their office. */
export const isSeenUser = (actor: Actor) =>
  canViewAll(actor)
    ? sql<boolean>`true`
    : sql<boolean>`(users.id = ${actor.id} or exists (select from memberships m
        where m.user_id = users.id and m.client_id = any(${actor.adminOf}::int[])))`;

/** @throws Problem `not-found`, also for a user the actor may not see */
export const userRow = async (em: SqlEntityManager, actor: Actor, email: string): Promise<UserRow> => {
  const { rows } = await tables(em).executeQuery(userSeen(em, actor, email));
  return found(rows[0]);
};

/** @throws Problem `not-found` */
export const found = (row: UserRow | undefined): UserRow => {
  if (!row) throw notFound('user');
  return row;
};

type Sought = Pick<Actor, 'id' | 'adminOf'> & { emails: readonly string[] };

const usersSeenBy = (isStaff: boolean) =>
  compiledOnce((db, { id, adminOf, emails }: Sought) => {
    const actor = { id, adminOf, isStaff, isSuperuser: false, email: '', credential: null };
    return rowsSeenBy(db, actor)
      .where(sql<boolean>`users.email = any(${emails}::varchar[])`)
      .where(isSeenUser(actor));
  });

/** Statement for the user of this address, if the actor may see them. */
export const userSeen = (em: SqlEntityManager, actor: Actor, email: string) =>
  (canViewAll(actor) ? ANY_USERS : USERS_OF_OFFICE)(em, { ...actor, emails: [email] });

/** Statement for the users of these addresses, as whoever sees all sees them. */
export const anyUsers = (em: SqlEntityManager, emails: readonly string[]) =>
  ANY_USERS(em, { id: 0, adminOf: [], emails });

const ANY_USERS = usersSeenBy(true);
const USERS_OF_OFFICE = usersSeenBy(false);
