import { LockMode } from '@mikro-orm/postgresql';
import { expressionBuilder, type InferResult, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { Invitation, type InvitationStatus } from '../../../entities/invitation.ts';
import { arrayOf, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { type Action, can, canAllOf, namedRoles } from '../access/permissions.ts';
import { clientVisibleTo, hasGlobalRole, isServiceAccount, userVisibleTo } from '../access/visibility.ts';
import { addressKnownTo } from '../accounts/addresses.ts';
import { type UserRow, userRows } from '../accounts/user-rows.ts';
import type { MailRoute } from '../outbox/mail-status.ts';

/** Ids or slugs of the apps of an invitation, by age of the app. */
export const appsInvitedTo = (column: 'id' | 'slug') =>
  arrayOf(
    expressionBuilder<Database, 'invitations'>()
      .selectFrom('invitation_apps as ia')
      .innerJoin('apps as a', 'a.id', 'ia.app_id')
      .select(`a.${column}`)
      .whereRef('ia.invitation_id', '=', 'invitations.id')
      .orderBy('a.created_at')
      .orderBy('a.id'),
  );

/** SQL: the labels of all apps that an invitation gives, including apps by groups, by age of the app. */
export const appLabelsInvitedTo = (invitationId: RawBuilder<unknown>) =>
  sql<string[]>`array(select a.label from apps a where a.id in (
      select app_id from invitation_apps where invitation_id = ${invitationId}
      union select ga.app_id from invitation_groups ig join group_apps ga on ga.group_id = ig.group_id
        where ig.invitation_id = ${invitationId})
    order by a.created_at, a.id)`;

/** SQL: the ids of the groups of an invitation. */
export const groupsInvitedTo = arrayOf(
  expressionBuilder<Database, 'invitations'>()
    .selectFrom('invitation_groups')
    .select('group_id')
    .whereRef('invitation_id', '=', 'invitations.id')
    .orderBy('group_id'),
);

type Offer = { groups?: readonly number[] | undefined; roles?: readonly string[] | undefined };

/** The part of an audit entry that names groups and roles, each only if there are any. */
export const namedOffer = ({ groups = [], roles = [] }: Offer) => ({
  ...(groups.length > 0 && { groups }),
  ...(roles.length > 0 && { roles }),
});

/** Invitations with the ids of their apps. */
export const invitationRows = (em: Em) =>
  kysely(em)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'email', 'key', 'inviter_id', 'extra', 'date_invited', 'email_count'])
    .select(['is_demo_user', appsInvitedTo('id').as('initial_apps')]);

export type InvitationRow = InferResult<ReturnType<typeof invitationRows>>[number] & { inviter: UserRow };

/** Pending invitations expire by the clock. The stored status changes only when another invitation replaces them. */
export const hasStatus = (status: InvitationStatus | 'all', now: Date) => {
  if (status === 'all') return condition`true`;
  // Exactly the conditions of the partial indexes.
  if (status === 'pending') return condition`(status = 'pending' and expires_at > ${now})`;
  return condition`${statusAt(now)} = ${status}`;
};

export const statusAt = (now: Date) => sql<InvitationStatus>`
  case when invitations.status = 'pending' and invitations.expires_at <= ${now} then 'expired'
  else invitations.status end`;

/** When an invitation that is mailed at this time expires: its lifetime starts again with each mail. */
export const invitationEnd = (mailedAt: Date, lifetimeMs: number): Date =>
  new Date(mailedAt.getTime() + lifetimeMs);

/** Invitations with their inviters, ordered by id. */
export const readInvitations = async (em: Em, actor: Actor, now: Date, ids: readonly number[]) => {
  const rows = await withInviters(
    em,
    actor,
    now,
    await invitationRows(em)
      .where(isAnyOf('id', ids, 'int'))
      .execute(),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
};

/** @throws Problem `not-found` */
export const readInvitation = async (em: Em, actor: Actor, now: Date, id: number): Promise<InvitationRow> => {
  const [row] = await readInvitations(em, actor, now, [id]);
  if (!row) throw notFound('invitation');
  return row;
};

/** Adds to each invitation the inviter as the actor may see them, with one statement. */
export const withInviters = async <T extends { inviter_id: number; date_invited: Date }>(
  em: Em,
  actor: Actor,
  now: Date,
  rows: T[],
) => {
  const lastInvited = new Map<number, Date>();
  for (const { inviter_id: id, date_invited: at } of rows)
    if (at > (lastInvited.get(id) ?? 0)) lastInvited.set(id, at);
  const ids = [...lastInvited.keys()];
  const times = JSON.stringify(Object.fromEntries(lastInvited));
  const invitedAt = sql`(${times}::json ->> users.id::text)::timestamptz`;
  const inviters = await userRows(em, actor, now)
    .select([userVisibleTo(actor).as('is_seen'), addressKnownTo(actor, invitedAt).as('known_address')])
    .select(condition`(${hasGlobalRole()} or ${isServiceAccount()})`.as('is_operator'))
    .where(isAnyOf('users.id', ids, 'int'))
    .execute();
  const byId = new Map(inviters.map((user) => [user.id, user.is_seen ? user : nameOnly(user)]));
  return rows.flatMap((row) => {
    const inviter = byId.get(row.inviter_id);
    return inviter ? [{ ...row, inviter }] : [];
  });
};

type UnseenInviter = UserRow & { known_address: string | null; is_operator: boolean };

/**
 * Identifies an inviter whom the actor may not see: superusers and staff by name; people who have left by address, if they had it at that
 * time already. The rest of their account may reveal what they do elsewhere. Lists each column, so that no new one leaks.
 */
const nameOnly = (user: UnseenInviter): UserRow => ({
  id: user.id,
  email: user.known_address ?? '',
  handle: user.handle,
  first_name: user.is_operator ? user.first_name : '',
  last_name: user.is_operator ? user.last_name : '',
  extra: {},
  is_active: user.is_operator && user.is_active,
  is_demo_user: user.is_operator && user.is_demo_user,
  profile_color: user.profile_color,
  profile_avatar: user.is_operator ? user.profile_avatar : null,
  last_login: null,
  date_joined: user.date_joined,
  last_activated: null,
  last_deactivated: null,
  last_password_set: user.is_operator ? user.last_password_set : user.date_joined,
  apps: user.apps,
  clientadmin_of: user.clientadmin_of,
});

/**
 * Locks an invitation of a client that the actor administers.
 * @throws Problem `not-found`, `forbidden`
 */
export const lockInvitation = async (
  tx: Em,
  actor: Actor,
  id: number,
  action: Action = 'manage-people',
): Promise<Invitation> => {
  const row = await kysely(tx)
    .selectFrom('invitations')
    .select('client_id')
    .where('id', '=', id)
    .where(clientVisibleTo(actor, sql`client_id`))
    .executeTakeFirstOrThrow(() => notFound('invitation'));
  requireIn(actor, action, row.client_id);
  return tx.findOneOrFail(Invitation, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
};

type PendingKey = { email: string; client: number | undefined; now: Date };

/**
 * Finds the pending invitation of an address. Among several that the actor manages, prefers the newest that the actor created; several by
 * others are ambiguous. If there is none, uses invitations that the actor may see but does not manage.
 * @throws Problem `not-found`, `ambiguous-invitation`
 */
export const findPending = async (em: Em, actor: Actor, { email, client, now }: PendingKey) => {
  let pending = kysely(em)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'inviter_id'])
    .where('email', '=', email)
    .where(hasStatus('pending', now))
    .where(clientVisibleTo(actor, sql`client_id`))
    .orderBy('id', 'desc');
  if (client !== undefined) pending = pending.where('client_id', '=', client);
  const visible = await pending.execute();
  const managed = visible.filter((row) => can(actor, 'manage-people', row.client_id));
  const candidates = managed.length > 0 ? managed : visible;
  const [first, second] = candidates;
  if (!first) throw notFound('pending invitation');
  const invitedByActor = candidates.find((row) => row.inviter_id === actor.id);
  if (!invitedByActor && second) throw new Problem('ambiguous-invitation');
  return invitedByActor ?? first;
};

/**
 * Finds and locks one invitation. Locking several in another order than bulk requests could deadlock.
 * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`
 */
export const lockPending = async (tx: Em, actor: Actor, key: PendingKey): Promise<Invitation> => {
  const { id, client_id } = await findPending(tx, actor, key);
  requireIn(actor, 'manage-people', client_id);
  const invitation = await tx.findOne(Invitation, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
  // It may have been closed while this transaction waited for the lock.
  if (!invitation?.isOpen(key.now)) throw notFound('pending invitation');
  return invitation;
};

/**
 * Whether the actor may see the link of an invitation. The link proves access to the mailbox: an inviter who has it could create the
 * account themselves and wait until others trust it, or take the roles that the invitation gives.
 */
export const showsInvitationLink = (
  actor: Actor,
  { clientId, roles }: { clientId: number; roles: readonly string[] },
  { hasServer }: MailRoute,
): boolean =>
  hasServer
    ? can(actor, 'administer')
    : can(actor, 'manage-people', clientId) && canAllOf(actor, namedRoles(roles, clientId));
