import { sql } from 'kysely';
import type { Membership } from '../../../entities/client.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { CLIENT_ADMIN } from '../access/permissions.ts';
import { endLaunches, unlinkFromClient } from '../accounts/access-ends.ts';
import type { AuditEvent } from '../audit/audit.ts';

type Member = { id: number; email: string };

/**
 * Ends what a locked user could still use of clients that suspend or remove them: launches, embedded pages, and invitations, which would
 * reactivate them.
 */
export const endMemberAccess = async (
  tx: Em,
  { id: userId, email }: Member,
  clientIds: readonly number[],
  now: Date,
): Promise<void> => {
  await endLaunches(tx, userId, clientIds);
  await kysely(tx)
    .updateTable('invitations')
    .set({ status: 'revoked', closed_at: now })
    .where('email', '=', email)
    .where('status', '=', 'pending')
    .where(isAnyOf('client_id', clientIds, 'int'))
    .execute();
};

/** The names of all roles of a membership. */
export const heldRoles = ({ isAdmin, roles }: Pick<Membership, 'isAdmin' | 'roles'>): string[] => [
  ...(isAdmin ? [CLIENT_ADMIN] : []),
  ...roles,
];

export const setHeldRoles = (membership: Membership, names: readonly string[]): void => {
  membership.isAdmin = names.includes(CLIENT_ADMIN);
  membership.roles = names.filter((name) => name !== CLIENT_ADMIN);
};

/** Roles in a client, before and after a change. */
export type RolesChange = { client: number; from: string[]; to: string[] };

export const rolesEvent = (
  about: Pick<AuditEvent, 'actor' | 'target'>,
  { client, from, to }: RolesChange,
): AuditEvent => ({
  action: 'membership.set-roles',
  ...about,
  clients: [client],
  details: { roles: { from, to } },
});

/** Suspends or reactivates memberships. A suspended one keeps its grants, groups, roles and data, which do not count meanwhile. */
export const switchMemberships = async (
  tx: Em,
  userId: number,
  clientIds: readonly number[],
  isActive: boolean,
  now: Date,
): Promise<void> => {
  const times = isActive ? { reactivated_at: now, ended_at: null } : { ended_at: now };
  await kysely(tx)
    .updateTable('memberships')
    .set({ is_active_member: isActive, ...times })
    .where('user_id', '=', userId)
    .where(isAnyOf('client_id', clientIds, 'int'))
    .where('is_active_member', '=', !isActive)
    .execute();
};

/** Call it when users have joined a client: once an account has had several clients, none of their admins may change it, permanently. */
export const noteShared = async (tx: Em, userIds: readonly number[]): Promise<void> => {
  await kysely(tx)
    .updateTable('users')
    .set({ was_shared: true })
    .where(isAnyOf('id', userIds, 'int'))
    .where('was_shared', '=', false)
    .where(condition`(select count(*) from memberships m where m.user_id = users.id) > 1`)
    .execute();
};

/** Call it when users have left a client: the next client and its admins must not get access to the data of the account. */
export const noteLeft = async (tx: Em, userIds: readonly number[]): Promise<void> => {
  await kysely(tx)
    .updateTable('users')
    .set({ was_shared: true, extra: {}, is_demo_user: false })
    .where(isAnyOf('id', userIds, 'int'))
    .execute();
};

/** Ends the access views that open apps of the client as the user. */
export const endViewsAs = async (tx: Em, userId: number, clientId: number): Promise<void> => {
  await sql`
    update access_views v set is_active = false from apps
    where apps.id = v.app_id and apps.client_id = ${clientId}
      and v.user_id = ${userId} and v.is_active`.execute(kysely(tx));
};

/**
 * Ends the access views that open apps of the client as the user, the user's memberships in its groups, and the logins with its providers.
 */
export const leaveClient = async (tx: Em, userId: number, clientId: number): Promise<void> => {
  await endViewsAs(tx, userId, clientId);
  await sql`
    delete from group_members gm using groups
    where groups.id = gm.group_id and groups.client_id = ${clientId}
      and gm.user_id = ${userId}`.execute(kysely(tx));
  await unlinkFromClient(tx, userId, clientId);
};
