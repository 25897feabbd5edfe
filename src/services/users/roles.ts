import { Membership } from '../../../entities/client.ts';
import { Problem } from '../../lib/problems.ts';
import {
  type Actor,
  accountUpdateRefusal,
  requireConfirmedSession,
  strangerRefusal,
  userAdminRefusal,
  userUpdateRefusal,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { CLIENT_ADMIN } from '../access/permissions.ts';
import { endUndo, unlinkFromClient } from '../accounts/access-ends.ts';
import { lockUser, readTarget, requireAnotherSuperuser } from '../accounts/user-locks.ts';
import { readUser, type UserDetail } from '../accounts/user-rows.ts';
import { type AuditEvent, diffColumns, isEmpty, ofUser } from '../audit/audit.ts';
import { endWeakerLogins } from '../auth/credentials.ts';
import { readClient } from '../clients/clients.ts';
import { enqueueJoinNotices } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess } from './app-grants.ts';
import { switchMemberships } from './member-access.ts';
import { closeRequestsOf } from './request-closing.ts';

type RoleChanges = { is_staff?: boolean | undefined; is_superuser?: boolean | undefined };

/** Grants and revokes roles, and tells what they allow. Routers let only superusers change roles. */
export const createRoles = ({ em, clock, audit, staffSecondFactor }: UnitOfWork) => ({
  /** @throws Problem `not-found` */
  get: async (actor: Actor, email: string) => {
    const { isStaff, isSuperuser } = await readTarget(em, actor, email);
    return { is_staff: isStaff, is_superuser: isSuperuser };
  },

  /**
   * Grants or revokes staff and superuser.
   * @throws Problem `not-found`, `self-modification`, `last-superuser`, `reauthentication-required` to grant
   */
  update: (actor: Actor, email: string, changes: RoleChanges): Promise<UserDetail> =>
    em.transactional(async (tx) => {
      if (changes.is_staff || changes.is_superuser) requireConfirmedSession(actor, clock.now());
      const { user, clientIds: clients } = await lockUser(tx, actor, email);
      const before = { isStaff: user.isStaff, isSuperuser: user.isSuperuser };
      if (changes.is_superuser === false && user.isSuperuser) {
        if (user.id === actor.id) throw new Problem('self-modification');
        await requireAnotherSuperuser(tx, user);
      }
      if (changes.is_staff || changes.is_superuser) await endUndo(tx, user.id);
      user.setRoles({ isStaff: changes.is_staff, isSuperuser: changes.is_superuser });
      await tx.flush();
      if ((user.isStaff && !before.isStaff) || (user.isSuperuser && !before.isSuperuser))
        await endWeakerLogins(tx, user.id, staffSecondFactor);
      // The connections of the installation are for people with a role in all clients.
      if (!user.isStaff && !user.isSuperuser) await unlinkFromClient(tx, user.id, null);
      const closed = await closeRequestsOf(tx, actor, user.id, clock.now());
      await lockAccessChange(tx, user.id, actor);
      const details = diffColumns(before, user, ['isStaff', 'isSuperuser']);
      const event: AuditEvent = {
        action: 'user.update-roles',
        actor,
        target: ofUser(user),
        clients,
        details,
      };
      await audit.record(tx, [...(isEmpty(details) ? [] : [event]), ...closed]);
      return readUser(tx, actor, clock.now(), email);
    }),

  /**
   * Makes a user an admin and member of a client, or revokes the admin role; the user stays a member.
   * @throws Problem `not-found`, `reauthentication-required` to grant
   */
  setClientAdmin: (actor: Actor, clientId: number, email: string, isAdmin: boolean): Promise<UserDetail> =>
    em.transactional(async (tx) => {
      if (isAdmin) requireConfirmedSession(actor, clock.now());
      await readClient(tx, actor, clientId);
      const { user, adminOf, clientIds } = await lockUser(tx, actor, email);
      if (isAdmin === adminOf.includes(clientId)) return readUser(tx, actor, clock.now(), email);
      if (isAdmin) await endUndo(tx, user.id);
      const joined = clientIds.includes(clientId) ? [] : [clientId];
      const granting = { by: actor.id, now: clock.now() };
      await changeAccess(tx, granting, [{ userId: user.id, granted: [], revoked: [], joined }]);
      if (isAdmin) await switchMemberships(tx, user.id, [clientId], true, clock.now());
      await tx.nativeUpdate(Membership, { client: clientId, user: user.id }, { isAdmin });
      await enqueueJoinNotices(tx, [user.id], joined, clock.now());
      const closed = await closeRequestsOf(tx, actor, user.id, clock.now());
      await lockAccessChange(tx, user.id, actor);
      const action = isAdmin ? CLIENT_ADMIN.given : CLIENT_ADMIN.ended;
      const about = { actor, target: ofUser(user), clients: [clientId] };
      await audit.record(tx, [{ action, ...about }, ...closed]);
      return readUser(tx, actor, clock.now(), email);
    }),

  /**
   * What the actor may do with a user, by the rules of the corresponding procedures.
   * @throws Problem `not-found`
   */
  readPermissions: async (actor: Actor, email: string) => {
    const user = await readTarget(em, actor, email);
    const refusal = userAdminRefusal(actor, user);
    return {
      can_update: accountUpdateRefusal(actor, user) === null,
      can_update_apps: userUpdateRefusal(actor, user) === null,
      can_revoke: refusal === null,
      can_deactivate: user.id !== actor.id && strangerRefusal(actor, user) === null,
      is_shared: refusal?.code === 'shared-user',
    };
  },
});
