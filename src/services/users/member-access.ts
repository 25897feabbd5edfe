import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { endLaunches } from '../gate/ticket-revocations.ts';
import { supersedeOperations } from '../operations/operation-log.ts';
import { unlinkFromClient } from '../sso/identities.ts';

type Member = { id: number; email: string };

/**
 * Ends what a locked user could still use of clients that suspend or remove them: launches, embedded pages, and invitations, which would
 * bring them back. No undo of an earlier operation gives their apps of these clients again. Grants are revoked by the caller.
 */
export const endMemberAccess = async (
  tx: Em,
  { id: userId, email }: Member,
  clientIds: readonly number[],
  now: Date,
): Promise<void> => {
  const apps = await kysely(tx)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(isAnyOf('client_id', clientIds, 'int'))
    .execute();
  await supersedeOperations(tx, [{ userId, granted: [], revoked: apps, joined: clientIds }]);
  await endLaunches(tx, userId, clientIds);
  await kysely(tx)
    .updateTable('invitations')
    .set({ status: 'revoked', closed_at: now })
    .where('email', '=', email)
    .where('status', '=', 'pending')
    .where(isAnyOf('client_id', clientIds, 'int'))
    .execute();
};

/** A membership that was deleted. */
export type EndedMembership = { user_id: number; joined_at: Date | null };

/**
 * Call it when memberships have been deleted. Clears `extra` and `is_demo_user` of accounts whose last membership that used them has ended,
 * so that neither the next client nor the next holder of the account sees them. What happened to the account in the meantime stays hidden
 * from admins of its other clients: see `isOutsideSharedTime`.
 */
export const forgetClients = async (tx: Em, memberships: readonly EndedMembership[], now: Date) => {
  await sql`
    update users set last_left = ${now}::timestamptz,
      shared_since = least(coalesce(users.shared_since, ended.since), ended.since)
    from (select user_id, min(coalesce(joined_at, 'epoch')) as since
      from json_to_recordset(${JSON.stringify(memberships)}::json) as m (user_id int, joined_at timestamptz)
      group by user_id) as ended
    where users.id = ended.user_id`.execute(kysely(tx));
  const userIds = memberships.map((membership) => membership.user_id);
  const counts = (column: 'extra' | 'is_demo_user') =>
    condition`exists (select from memberships m where m.user_id = users.id and ${sql.ref(`m.${column}`)} is null)`;
  const users = kysely(tx)
    .updateTable('users')
    .where(isAnyOf('id', userIds, 'int'));
  await users
    .set({ extra: {} })
    .where(condition`not ${counts('extra')}`)
    .execute();
  await users
    .set({ is_demo_user: false })
    .where(condition`not ${counts('is_demo_user')}`)
    .execute();
};

/** Ends the access views that open apps of the client as the user, their part in its groups, and their logins with its providers. */
export const leaveClient = async (tx: Em, userId: number, clientId: number): Promise<void> => {
  await sql`
    update access_views v set is_active = false from apps
    where apps.id = v.app_id and apps.client_id = ${clientId}
      and v.user_id = ${userId} and v.is_active`.execute(kysely(tx));
  await sql`
    delete from group_members gm using groups
    where groups.id = gm.group_id and groups.client_id = ${clientId}
      and gm.user_id = ${userId}`.execute(kysely(tx));
  await unlinkFromClient(tx, userId, clientId);
};
