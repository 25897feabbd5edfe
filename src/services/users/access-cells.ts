import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import type { Actor, TargetRoles } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { supersedeOperations } from '../operations/operation-log.ts';
import { joinNotices } from '../passwords/password-expiry.ts';
import type { CellChanges } from './access-update.ts';
import { lockSuperusers } from './user-locks.ts';

/** A locked user with their roles and their apps of the client. */
export type Target = TargetRoles & { apps: Set<string> };

/**
 * Locks those of the users whom the actor may see, superusers first and each by id, and reads them and the apps of the client.
 * @throws Problem `unauthenticated` as `lockSuperuser`
 */
export const lockTargets = async (tx: Db, actor: Actor, client: number, emails: readonly string[]) => {
  const db = tables(tx);
  const visible = db
    .selectFrom('users')
    .where(sql<boolean>`users.email = any(${[...emails]}::varchar[])`)
    .where(userVisibleTo(actor));
  const superuser = visible.select('users.id').where(sql<boolean>`users.is_superuser`).limit(1);
  if (await superuser.executeTakeFirst()) await lockSuperusers(tx, actor);
  const locked = await visible.select('users.id').orderBy('users.id').forUpdate('users').execute();
  const ids = locked.map(({ id }) => id);
  // A separate statement: one that waits for a lock sees the other tables as they were before it waited.
  const rows = await db
    .selectFrom('users')
    .select(['users.id', 'users.email', 'is_superuser as isSuperuser', 'is_staff as isStaff'])
    .select([
      sql<number[]>`array(select m.client_id from memberships m where m.user_id = users.id)`.as('clientIds'),
      sql<
        number[]
      >`array(select m.client_id from memberships m where m.user_id = users.id and m.is_admin)`.as('adminOf'),
      sql<string[]>`array(select g.app_id from app_grants g join apps a on a.id = g.app_id
        where g.user_id = users.id and a.client_id = ${client})`.as('apps'),
    ])
    .where(sql<boolean>`users.id = any(${ids}::int[])`)
    .execute();
  const apps = await db
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where('client_id', '=', client)
    .execute();
  return {
    targets: new Map(rows.map((row): [string, Target] => [row.email, { ...row, apps: new Set(row.apps) }])),
    apps: new Map(apps.map((app) => [app.id, app])),
  };
};

/** Writes the cells of all users, and what undoing them needs. */
export const writeCells = async (
  tx: Db,
  operationId: string,
  changes: readonly CellChanges[],
  now: Date,
): Promise<void> => {
  const rows = changes.map(({ target, granted, revoked, joined }) => ({
    user_id: target.id,
    granted: granted.map(({ id }) => id),
    revoked: revoked.map(({ id }) => id),
    joined,
  }));
  const db = tables(tx);
  const changed = sql`json_to_recordset(${JSON.stringify(rows)}::json)
    as changed (user_id int, granted varchar[], revoked varchar[], joined int[])`;
  await supersedeOperations(
    tx,
    changes.map(({ target, granted, revoked }) => ({
      userId: target.id,
      apps: [...granted, ...revoked].map(({ id }) => id),
      clients: granted.map((app) => app.client_id),
    })),
  );
  await sql`
    with revoked as (
      delete from app_grants g using ${changed}
      where g.user_id = changed.user_id and g.app_id = any(changed.revoked)
    ),
    granted as (
      insert into app_grants (user_id, app_id) select user_id, unnest(granted) from ${changed}
      on conflict do nothing
    ),
    joined as (
      insert into memberships (client_id, user_id) select unnest(joined), user_id from ${changed}
      on conflict do nothing
    )
    insert into operation_changes (operation_id, user_id, granted, revoked, joined, changed_at)
    select ${operationId}, user_id, granted, revoked, joined, ${now}::timestamptz from ${changed}`.execute(
    db,
  );
  const newMembers = changes.flatMap(({ target, joined }) => (joined.length > 0 ? target.id : []));
  const clientIds = [...new Set(changes.flatMap(({ joined }) => joined))];
  for (const notice of joinNotices(tx, newMembers, clientIds, now)) await db.executeQuery(notice);
};
