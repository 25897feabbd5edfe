import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { handleBase, lockAllHandles } from '../../services/users/new-user.ts';
import { createHandleAllocator } from './handles.ts';
import type { StagedUser } from './staging.ts';

export type InsertOptions = {
  /** the client that the users become members of */
  clientId: number | null;
  now: Date;
};

/**
 * Makes users of staged ones whose addresses are free, some at a time. Until the end of the transaction nobody else
 * can be added.
 */
export const openUserInserter = async (tx: SqlEntityManager, placing: InsertOptions) => {
  await lockAllHandles(tx);
  const allocateHandles = createHandleAllocator((handles) => takenAmong(tx, handles));

  return async (users: readonly StagedUser[]): Promise<void> => {
    const given = await allocateHandles(
      users.filter(({ handle }) => handle === null).map(({ email }) => handleBase(email)),
    );
    const rest = given.values();
    const handles = users.map(({ handle }) => handle ?? rest.next().value ?? '');
    await insert(
      tx,
      users.map(({ position }) => position),
      handles,
      placing,
    );
  };
};

/** In use, or of a staged user. */
const takenAmong = async (tx: SqlEntityManager, handles: string[]): Promise<string[]> => {
  const { rows } = await sql<{ handle: string }>`
    select handle from users where handle = any(${handles}::varchar[])
    union
    select handle from dumped_users where handle = any(${handles}::varchar[])`.execute(tables(tx));
  return rows.map(({ handle }) => handle);
};

/** When a password was set is not in a dump of Django's own user model. */
const insert = (
  tx: SqlEntityManager,
  positions: number[],
  handles: string[],
  { clientId, now }: InsertOptions,
) =>
  sql`
    with added as (
      insert into users (email, handle, extra, profile_color, profile_avatar, password_hash, first_name, last_name,
        is_active, is_demo_user, is_staff, is_superuser, last_login, date_joined, last_activated, last_deactivated,
        last_password_set)
      select email, placed.handle, extra, profile_color, profile_avatar, password_hash, first_name, last_name,
        is_active, is_demo_user, is_staff, is_superuser, last_login, coalesce(date_joined, ${now}::timestamptz),
        last_activated, last_deactivated, coalesce(last_password_set, ${now}::timestamptz)
      from dumped_users
      join unnest(${positions}::int[], ${handles}::varchar[]) as placed (position, handle) using (position)
      order by position
      returning id
    )
    insert into memberships (client_id, user_id)
    select ${clientId}::int, id from added where ${clientId}::int is not null`.execute(tables(tx));
