import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Membership } from '../../../entities/client.ts';
import { Invitation } from '../../../entities/invitation.ts';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { findJsonProblem } from '../../lib/json-value.ts';
import { Problem } from '../../lib/problems.ts';
import { can } from '../access/permissions.ts';
import { hasGlobalRole } from '../access/visibility.ts';
import { claimAddress } from '../accounts/addresses.ts';
import { addUser } from '../accounts/new-accounts.ts';
import { actingUsers } from '../accounts/user-locks.ts';
import {
  type Audit,
  type AuditEvent,
  type Changes,
  isEmpty,
  ofInvitation,
  ofUser,
  type Person,
  type Transaction,
} from '../audit/audit.ts';
import { setPassword } from '../auth/credentials.ts';
import { enqueueJoinNotices } from '../policies/password-expiry.ts';
import { changeAccess } from '../users/app-grants.ts';
import { giveInvitedRoles } from '../users/client-roles.ts';
import { addToGroups } from '../users/group-joining.ts';
import { heldRoles, rolesEvent, setHeldRoles, switchMemberships } from '../users/member-access.ts';
import { closeObsoleteRequests, requestsIn } from '../users/request-closing.ts';
import { appLabelsInvitedTo, groupsInvitedTo, namedOffer, statusAt } from './invitation-rows.ts';

type ProviderAcceptance = {
  clientId: number;
  email: string;
  /** The locked user who accepts; null: the user must not exist, and is created. */
  userId: number | null;
  firstName: string;
  lastName: string;
  now: Date;
};

/** Locks the open invitation of a client to an address, then its groups, before the user is locked. */
export const lockInvitation = async (tx: Em, { clientId, email }: { clientId: number; email: string }) => {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const locked = await tx.findOne(Invitation, { client: clientId, email, status: 'pending' }, { lockMode });
  if (locked) await lockGroups(tx, locked.id);
};

/**
 * Accepts the open invitation to the address of a person whom the identity provider of the client has logged in. Call `lockInvitation`
 * first.
 * @returns the user
 * @throws Problem `invitation-closed`, `login-required`, `account-inactive`
 */
export const acceptWithProvider = async (
  { tx, audit }: { tx: Em; audit: Audit },
  { clientId, email, userId, firstName, lastName, now }: ProviderAcceptance,
): Promise<{ id: number; email: string }> => {
  const locked = await tx.findOne(Invitation, { client: clientId, email, status: 'pending' });
  if (!locked?.accept(now)) throw new Problem('invitation-closed');
  await tx.flush();
  const invitation = await invitationDetails(tx, now)
    .where('invitations.id', '=', locked.id)
    .executeTakeFirstOrThrow();
  const deps = { tx, now, audit };
  if (userId !== null) {
    const user = { id: userId, email };
    await extendInvitee(deps, invitation, user);
    return user;
  }
  const names = { firstName: firstName || invitation.first_name, lastName: lastName || invitation.last_name };
  return createInvitee(deps, invitation, { ...names, hash: null });
};

/** Invitations with the contents of their pages. */
export const invitationDetails = (em: Em, now: Date) =>
  kysely(em)
    .selectFrom('invitations')
    .innerJoin('clients', 'clients.id', 'invitations.client_id')
    .innerJoin('users as inviter', 'inviter.id', 'invitations.inviter_id')
    .leftJoin('users as invitee', 'invitee.email', 'invitations.email')
    .select([
      'invitations.id',
      'invitations.client_id',
      'invitations.inviter_id',
      'invitations.email',
      'invitations.extra',
    ])
    .select(['invitations.first_name', 'invitations.last_name'])
    .select(['invitations.is_demo_user', 'invitations.expires_at', 'invitations.closed_at'])
    .select(['invitations.apps_expire_at', 'invitations.roles', 'invitations.roles_by'])
    .select(groupsInvitedTo.as('groups'))
    .select(['clients.name as client_name', 'invitation_body', 'support_email', 'home_location'])
    .select(ifStillThere('first_name').as('inviter_first_name'))
    .select(ifStillThere('last_name').as('inviter_last_name'))
    /** Null if no user has this address yet. */
    .select(['invitee.is_active as user_is_active', NEEDS_ACTIVATION.as('needs_activation')])
    .select([statusAt(now).as('status'), appLabelsInvitedTo(sql`invitations.id`).as('app_labels')]);

/**
 * SQL: whether the account of the invitee is inactive and belongs to this client alone. The page must not reveal what other clients did to
 * an account: in that case, the login fails.
 */
const NEEDS_ACTIVATION = condition`coalesce(not invitee.is_active and not invitee.was_shared
  and exists (select from memberships m where m.user_id = invitee.id and m.client_id = invitations.client_id), false)`;

/** SQL: a name of the inviter; empty if the inviter has left the client, because others may have changed it since. */
const ifStillThere = (column: 'first_name' | 'last_name') => sql`
  case when ${hasGlobalRole('inviter')} or exists (select from memberships m
    where m.user_id = inviter.id and m.client_id = invitations.client_id) then ${sql.ref(`inviter.${column}`)} else '' end`;

export type InvitationDetails = InferResult<ReturnType<typeof invitationDetails>>[number];

const acceptEvent = (invitation: InvitationDetails, actor: Person): AuditEvent => ({
  action: 'invitation.accept',
  actor,
  target: ofInvitation(invitation),
  clients: [invitation.client_id],
  details: { id: invitation.id, apps: invitation.app_labels, ...namedOffer(invitation) },
});

/** `hash`: the password hash; null for people who log in with their identity provider. */
type NewInvitee = { firstName: string; lastName: string; hash: string | null };

/**
 * Creates the invited user, with a login at `now`, and records it.
 * @throws Problem `login-required` if another invitation of this address was accepted concurrently
 */
export const createInvitee = async (
  { tx, now, audit }: Transaction,
  invitation: InvitationDetails,
  { firstName, lastName, hash }: NewInvitee,
) => {
  const { email, extra, is_demo_user: isDemoUser, client_id: client } = invitation;
  await claimAddress(tx, now, { to: email }).catch(rethrowAsLoginRequired);
  if ((await tx.count(User, { email })) > 0) throw new Problem('login-required');

  // The provider of a client that has verified the domain proves the address.
  const isEmailVerified = hash === null || (await isByMailboxOnly(tx, invitation.id));
  const person = { email, isEmailVerified, firstName, lastName, extra, isDemoUser };
  const user = await addUser(tx, person, now);
  user.lastLogin = now;
  await tx.flush();
  if (hash !== null) await setPassword(tx, { userId: user.id, hash, now });
  await joinInvited(tx, invitation, user.id, now);
  const roleEvents = await giveInvitedRoles(tx, user, { ...invitation, clientId: client });
  await audit.record(tx, [
    { action: 'user.create', actor: user, target: ofUser(user), clients: [client] },
    acceptEvent(invitation, user),
    ...roleEvents,
  ]);
  return user;
};

/** Whether the mail server has accepted the mail, and its link was not read or copied in Steward. */
const isByMailboxOnly = async (tx: Em, invitationId: number): Promise<boolean> => {
  const mails = kysely(tx)
    .selectFrom('outbox_mails as mail')
    .innerJoin('invitations as i', 'i.id', 'mail.invitation_id')
    .select('mail.id')
    .where('i.id', '=', invitationId)
    .where('i.is_link_shown', '=', false);
  return (await mails.where('mail.sent_at', 'is not', null).limit(1).executeTakeFirst()) !== undefined;
};

/** The address is reserved for the account that had it before. */
const rethrowAsLoginRequired = (error: unknown): never => {
  if (error instanceof Problem && error.code === 'user-exists')
    throw new Problem('login-required', { cause: error });
  throw error;
};

/**
 * Adds the invited access to an existing user, and the invited data to their membership if they have no role in the client. Records both.
 */
export const extendInvitee = async (
  { tx, now, audit }: Transaction,
  invitation: InvitationDetails,
  actor: { id: number; email: string },
): Promise<void> => {
  const { id: userId } = actor;
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const user = await tx.findOne(User, { id: userId, isActive: true }, { lockMode });
  if (!user) throw new Problem('account-inactive');
  // The address may have been changed while this waited for the lock.
  if (user.email !== invitation.email) throw new Problem('login-required');
  const { client_id: clientId } = invitation;
  const roles = await actingUsers(tx).where('users.id', '=', userId).executeTakeFirstOrThrow();
  const clientIds = await clientIdsOf(tx, userId);
  await joinInvited(tx, invitation, userId, now);
  const membership = await tx.findOneOrFail(Membership, { user: userId, client: clientId });
  const ended = membership.isActive ? [] : heldRoles(membership);
  // Who has invited a suspended member may do less than the roles that the member has kept.
  if (ended.length > 0) setHeldRoles(membership, []);
  await tx.flush();
  await switchMemberships(tx, userId, [clientId], true, now);
  const details = can(roles, 'view', clientId) ? {} : applyInvited(membership, invitation);
  await tx.flush();
  if (!clientIds.includes(clientId)) await enqueueJoinNotices(tx, [userId], [clientId], now);
  const events = [acceptEvent(invitation, actor)];
  const about = { actor, target: ofUser(user), clients: [clientId] };
  if (!isEmpty(details)) events.push({ action: 'membership.update', ...about, details });
  if (ended.length > 0) events.push(rolesEvent(about, { client: clientId, from: ended, to: [] }));
  events.push(...(await giveInvitedRoles(tx, actor, { ...invitation, clientId })));
  await audit.record(tx, events);
};

/** @returns the changed columns, without values: they may be sensitive */
const applyInvited = (membership: Membership, invitation: InvitationDetails): Changes => {
  const changes: Changes = {};
  const extra = { ...membership.extra, ...invitation.extra };
  // If the merged data exceeds the limit, the data stays unchanged.
  if (findJsonProblem(extra) === null && JSON.stringify(extra) !== JSON.stringify(membership.extra)) {
    membership.extra = extra;
    changes.extra = { from: null, to: null };
  }
  if (invitation.is_demo_user && !membership.isDemoUser) {
    membership.isDemoUser = true;
    changes.is_demo_user = { from: false, to: true };
  }
  return changes;
};

/** Before the user: changes of a group also lock the group before its members. */
export const lockGroups = (tx: Em, invitationId: number) =>
  sql`select from groups where id in (select group_id from invitation_groups where invitation_id = ${invitationId})
    order by id for key share`.execute(kysely(tx));

/** The user is new or locked. */
const joinInvited = async (tx: Em, invitation: InvitationDetails, userId: number, now: Date) => {
  const { id, client_id, inviter_id, apps_expire_at: end } = invitation;
  await kysely(tx).updateTable('invitations').set({ user_id: userId }).where('id', '=', id).execute();
  const apps = await kysely(tx)
    .selectFrom('invitation_apps')
    .innerJoin('apps', 'apps.id', 'invitation_apps.app_id')
    .select(['apps.id', 'apps.client_id'])
    .where('invitation_id', '=', id)
    .execute();
  const joined = [...new Set([client_id, ...apps.map((app) => app.client_id)])];
  const terms = {
    granted_by: inviter_id,
    granted_at: now.toISOString(),
    expires_at: end?.toISOString() ?? null,
    reason: '',
  };
  const granted = end && end <= now ? [] : apps.map((app) => ({ ...app, terms }));
  await changeAccess(tx, { by: inviter_id, now }, [{ userId, granted, revoked: [], joined }]);
  const groups = await kysely(tx)
    .selectFrom('invitation_groups')
    .select('group_id')
    .where('invitation_id', '=', id)
    .execute();
  const groupIds = groups.map(({ group_id }) => group_id);
  await addToGroups(tx, { userId, by: inviter_id, now }, groupIds);
  await closeObsoleteRequests(
    tx,
    requestsIn(userId, (clientId) => condition`${clientId} = any(${joined}::int[])`),
    inviter_id,
    now,
  );
};
