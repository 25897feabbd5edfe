import { Problem } from '../../lib/problems.ts';
import {
  type Actor,
  accessRefusal,
  accountUpdateRefusal,
  requireConfirmedSession,
  roleAdminRefusal,
  userAdminRefusal,
  userUpdateRefusal,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { endUndo, unlinkFromClient } from '../accounts/access-ends.ts';
import { lockUser, readTarget, requireAnotherSuperuser } from '../accounts/user-locks.ts';
import { readUser, type UserDetail } from '../accounts/user-rows.ts';
import { type AuditEvent, diffColumns, isEmpty, ofUser } from '../audit/audit.ts';
import { endWeakerLogins } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { closeRequestsOf } from './request-closing.ts';

type RoleChanges = { is_staff?: boolean | undefined; is_superuser?: boolean | undefined };

/** Grants and revokes roles in all clients, and reads what roles allow. Routers let only superusers change them. */
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
   * What the actor may do with a user, by the rules of the corresponding procedures.
   * @throws Problem `not-found`
   */
  readPermissions: async (actor: Actor, email: string) => {
    const user = await readTarget(em, actor, email);
    const refusal = accountUpdateRefusal(actor, user);
    return {
      can_update: refusal === null,
      can_update_apps: userUpdateRefusal(actor, user) === null,
      can_revoke: userAdminRefusal(actor, user) === null,
      can_deactivate: user.id !== actor.id && accessRefusal(actor, user) === null,
      can_set_roles: user.id !== actor.id && roleAdminRefusal(actor, user) === null,
      is_shared: refusal?.code === 'shared-user',
    };
  },
});
