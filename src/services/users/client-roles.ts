import { Membership } from '../../../entities/client.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { type PageRequest, readPage } from '../../db/pagination.ts';
import { notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession, requireRoleAdmin } from '../access/actor.ts';
import { lockAccess, lockAccessChange } from '../access/locks.ts';
import { CLIENT_ADMIN, can, mayGiveRoles, rolesThatMay } from '../access/permissions.ts';
import { EVERYWHERE } from '../access/scope.ts';
import { hasRoles, isPerson } from '../access/visibility.ts';
import { endUndo } from '../accounts/access-ends.ts';
import { lockAdmins, lockUser } from '../accounts/user-locks.ts';
import { readUser, type UserDetail } from '../accounts/user-rows.ts';
import { type AuditEvent, ofUser, type Person } from '../audit/audit.ts';
import { reloadActor } from '../auth/authentication.ts';
import { readClient, readManagedClient } from '../clients/clients.ts';
import { enqueueJoinNotices } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess } from './app-grants.ts';
import { endViewsAs, heldRoles, rolesEvent, setHeldRoles } from './member-access.ts';
import { closeRequestsOf } from './request-closing.ts';

/**
 * Roles in single clients. Admins of a client give the delegated ones; superusers also make admins, and add people to a client by a role.
 * No one changes their own roles, or roles that allow more than their own.
 */
export const createClientRoles = ({ em, clock, audit }: UnitOfWork) => {
  /** @throws Problem `not-found`, `forbidden`, `self-modification`, `last-client-admin`, `reauthentication-required` to give a role */
  const change = async (
    tx: Em,
    actor: Actor,
    { clientId, email }: { clientId: number; email: string },
    newRoles: (held: readonly string[]) => readonly string[],
  ): Promise<UserDetail> => {
    const now = clock.now();
    await readManagedClient(tx, actor, clientId, 'configure');
    await lockAdmins(tx, clientId);
    const { user, clientIds } = await lockUser(tx, actor, email, requireRoleAdmin);
    const isMember = clientIds.includes(clientId);
    if (!isMember && !can(actor, 'administer')) throw notFound('membership');
    const membership = await tx.findOne(Membership, { client: clientId, user: user.id }, { refresh: true });
    const from = membership ? heldRoles(membership) : [];
    const to = [...new Set(newRoles(from))];
    const given = to.filter((name) => !from.includes(name));
    const ended = from.filter((name) => !to.includes(name));
    if (given.length + ended.length === 0) return readUser(tx, actor, now, email);

    if (user.id === actor.id) throw new Problem('self-modification');
    if (!mayGiveRoles(actor, [...given, ...ended], clientId)) throw roleRequired(rolesThatMay('administer'));
    if (ended.includes(CLIENT_ADMIN)) await requireAnotherAdmin(tx, clientId, user.id);
    // Who made them may do less than the person now.
    if (given.includes(CLIENT_ADMIN)) await endViewsAs(tx, user.id, clientId);
    if (given.length > 0) {
      requireConfirmedSession(actor, now);
      await endUndo(tx, user.id);
      const joined = isMember ? [] : [clientId];
      await changeAccess(tx, { by: actor.id, now }, [{ userId: user.id, granted: [], revoked: [], joined }]);
      await enqueueJoinNotices(tx, [user.id], joined, now);
    }
    setHeldRoles(await tx.findOneOrFail(Membership, { client: clientId, user: user.id }), to);
    await tx.flush();
    const closed = await closeRequestsOf(tx, actor, user.id, now);
    await lockAccessChange(tx, user.id, actor);
    const event = rolesEvent({ actor, target: ofUser(user) }, { client: clientId, from, to });
    await audit.record(tx, [event, ...closed]);
    return readUser(tx, actor, now, email);
  };

  return {
    /**
     * The people with a role in a client, by email address.
     * @throws Problem `not-found`
     */
    list: async (actor: Actor, clientId: number, page: PageRequest & { cursor?: string | undefined }) => {
      await readClient(em, actor, clientId);
      const people = kysely(em)
        .selectFrom('memberships as m')
        .innerJoin('users', 'users.id', 'm.user_id')
        .select(['users.email', 'users.first_name', 'users.last_name', 'm.is_admin', 'm.roles'])
        .where('m.client_id', '=', clientId)
        .where(hasRoles('m'))
        .where(isPerson)
        .where(page.cursor === undefined ? condition`true` : condition`users.email > ${page.cursor}`)
        .orderBy('users.email');
      return readPage(people, 'users.email', page);
    },

    /** Replaces the delegated roles of a member. @throws the problems of `change` */
    set: (actor: Actor, clientId: number, email: string, roles: readonly string[]): Promise<UserDetail> =>
      em.transactional((tx) =>
        change(tx, actor, { clientId, email }, (held) => [
          ...held.filter((name) => name === CLIENT_ADMIN),
          ...roles,
        ]),
      ),

    /** Makes a user an admin and member of a client, or revokes the admin role. @throws the problems of `change` */
    setAdmin: (actor: Actor, clientId: number, email: string, isAdmin: boolean): Promise<UserDetail> =>
      em.transactional((tx) =>
        change(tx, actor, { clientId, email }, (held) => [
          ...(isAdmin ? [CLIENT_ADMIN] : []),
          ...held.filter((name) => name !== CLIENT_ADMIN),
        ]),
      ),
  };
};

type InvitedRoles = { clientId: number; roles: readonly string[]; roles_by: number | null };

/**
 * Gives a locked member the roles of an invitation, unless who invited with them may not give them any more. Call it after all other
 * changes: it keeps the rights of that account as they are.
 */
export const giveInvitedRoles = async (
  tx: Em,
  user: Person,
  { clientId, roles, roles_by: by }: InvitedRoles,
): Promise<AuditEvent[]> => {
  if (roles.length === 0 || by === null) return [];
  await lockAccess(tx, by);
  // Not `usersWithRoles`: the roles of a suspended membership do not count, and service accounts have theirs elsewhere.
  const giver = await reloadActor(tx, { id: by, credential: null, scope: EVERYWHERE });
  if (!giver || !mayGiveRoles(giver, roles, clientId)) return [];
  const membership = await tx.findOneOrFail(
    Membership,
    { client: clientId, user: user.id },
    { refresh: true },
  );
  const from = heldRoles(membership);
  const to = [...new Set([...from, ...roles])];
  if (to.length === from.length) return [];
  if (!membership.isAdmin && to.includes(CLIENT_ADMIN)) await endViewsAs(tx, user.id, clientId);
  await endUndo(tx, user.id);
  setHeldRoles(membership, to);
  await tx.flush();
  return [rolesEvent({ actor: giver, target: ofUser(user) }, { client: clientId, from, to })];
};

/** Requires the lock of all admins of the client. @throws Problem `last-client-admin` */
const requireAnotherAdmin = async (tx: Em, clientId: number, userId: number): Promise<void> => {
  await kysely(tx)
    .selectFrom('memberships as m')
    .innerJoin('users', 'users.id', 'm.user_id')
    .select('m.user_id')
    .where('m.client_id', '=', clientId)
    .where('m.user_id', '<>', userId)
    .where(condition`m.is_admin and m.is_active_member and users.is_active`)
    .limit(1)
    .executeTakeFirstOrThrow(() => new Problem('last-client-admin'));
};
