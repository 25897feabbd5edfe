import { type InferResult, type RawBuilder, sql } from 'kysely';
import { Membership } from '../../../entities/client.ts';
import type { User } from '../../../entities/user.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireAccessAdmin, type TargetRoles } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { CLIENT_ADMIN, can } from '../access/permissions.ts';
import { userClientVisibleTo } from '../access/visibility.ts';
import { readUserId } from '../accounts/addresses.ts';
import { lockUser, readTarget } from '../accounts/user-locks.ts';
import { type AuditEvent, ofUser, type Transaction } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess, grantEvents, readGrantedApps } from './app-grants.ts';
import { endMemberAccess, leaveClient, noteLeft } from './member-access.ts';
import { countEnded } from './offboarding-preview.ts';
import { closeRequestsOf } from './request-closing.ts';
import { deactivate, type UserChanges, updateUser } from './user-update.ts';

type MembershipChanges = Pick<UserChanges, 'is_active' | 'extra' | 'is_demo_user'>;

/** The clients to which a user belongs, and the user's data in each of them. */
export const createMemberships = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * The memberships of a user that the actor may see.
   * @throws Problem `not-found`
   */
  list: async (actor: Actor, email: string): Promise<MembershipRow[]> => {
    return membershipsOf(em, await readUserId(em, actor, email))
      .where(userClientVisibleTo(actor, sql`m.user_id`, sql`m.client_id`))
      .execute();
  },

  /**
   * Changes the data of one membership, even of people who belong to no other client.
   * @throws the problems of `updateUser`
   */
  update: (actor: Actor, client: number, email: string, changes: MembershipChanges): Promise<MembershipRow> =>
    em.transactional(async (tx) => {
      await readManagedClient(tx, actor, client, 'manage-people');
      const { id, clientIds } = await readTarget(tx, actor, email);
      if (!clientIds.includes(client)) throw notFound('membership');
      const deps = { tx, now: clock.now(), audit };
      await updateUser(deps, actor, email, { ...changes, members_of: [client] });
      return membershipsOf(tx, id)
        .where('m.client_id', '=', client)
        .executeTakeFirstOrThrow(() => notFound('membership'));
    }),

  /**
   * Previews what `remove` would end.
   * @throws the problems of `remove`
   */
  previewRemoval: async (actor: Actor, clientId: number, email: string) => {
    await readManagedClient(em, actor, clientId, 'manage-people');
    const user = await readTarget(em, actor, email);
    requireRemovable(actor, clientId, user);
    const scope = { isAccount: false, isConcerned: isClient(clientId), now: clock.now() };
    const { groups, access_views } = await countEnded(em, user, scope);
    const apps = await readGrantedApps(em, user.id, clock.now(), isClient(clientId));
    return { apps, groups, access_views, deactivates_account: isLastMembership(user) };
  },

  /**
   * Ends a membership with its grants and launches. If the user belongs to no other client and has no role, the account is deactivated.
   * @throws Problem `not-found`, `forbidden`, `client-admin-locked`, `self-modification`
   */
  remove: (actor: Actor, clientId: number, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      await readManagedClient(tx, actor, clientId, 'manage-people');
      const { user, ...target } = await lockUser(tx, actor, email, requireAccessAdmin);
      requireRemovable(actor, clientId, target);
      const isDeactivated = isLastMembership(target);
      await endMembership({ tx, now: clock.now(), audit }, actor, clientId, user, { isDeactivated });
    }),
});

/** Ends a membership of a locked user, with its grants and launches. @param isDeactivated whether the account is deactivated, too */
export const endMembership = async (
  { tx, now, audit }: Transaction,
  actor: Actor,
  clientId: number,
  user: User,
  { isDeactivated }: { isDeactivated: boolean },
): Promise<void> => {
  const apps = await readGrantedApps(tx, user.id, now, isClient(clientId));
  const revoked = apps.map(({ id }) => ({ id, client_id: clientId }));
  await changeAccess(tx, { by: actor.id, now }, [{ userId: user.id, granted: [], revoked, joined: [] }]);
  await endMemberAccess(tx, user, [clientId], now);
  await leaveClient(tx, user.id, clientId);
  const membership = await tx.findOneOrFail(Membership, { client: clientId, user: user.id });
  await tx.remove(membership).flush();
  const deactivates = isDeactivated && user.isActive;
  if (deactivates) await deactivate(tx, actor, user, now);
  await tx.flush();
  await noteLeft(tx, [user.id]);
  const closed = await closeRequestsOf(tx, actor, user.id, now);
  await lockAccessChange(tx, user.id, actor);

  const about = { actor, target: ofUser(user), clients: [clientId] };
  const events: AuditEvent[] = [
    ...grantEvents(actor, user, [], revoked),
    { action: 'membership.remove', ...about },
    ...closed,
  ];
  if (deactivates) events.push({ action: 'user.deactivate', ...about });
  await audit.record(tx, events);
};

/** @throws Problem `not-found`, `forbidden`, `self-modification`, `client-admin-locked` */
const requireRemovable = (actor: Actor, clientId: number, target: TargetRoles): void => {
  const { id, clientIds } = target;
  if (!clientIds.includes(clientId)) throw notFound('membership');
  requireAccessAdmin(actor, target);
  if (id === actor.id) throw new Problem('self-modification');
  if (target.inClients[clientId]?.includes(CLIENT_ADMIN) && !can(actor, 'administer'))
    throw new Problem('client-admin-locked');
};

const isClient = (id: number) => (clientId: RawBuilder<number>) => condition`${clientId} = ${id}`;

const isLastMembership = ({ clientIds, isSuperuser, isStaff }: TargetRoles): boolean =>
  clientIds.length === 1 && !isSuperuser && !isStaff;

const membershipsOf = (em: Em, userId: number) =>
  kysely(em)
    .selectFrom('memberships as m')
    .innerJoin('users', 'users.id', 'm.user_id')
    .innerJoin('clients', 'clients.id', 'm.client_id')
    .select(['m.client_id as client', 'clients.name as client_name', 'm.is_active_member as is_active'])
    .select(['m.is_admin', 'm.roles'])
    .select(['m.extra', 'm.is_demo_user', 'm.ended_at'])
    .select(({ fn }) => fn.coalesce('m.joined_at', 'users.date_joined').as('joined_at'))
    .where('m.user_id', '=', userId)
    .orderBy('m.client_id');

type MembershipRow = InferResult<ReturnType<typeof membershipsOf>>[number];
