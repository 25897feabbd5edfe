import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { type UserRow, userRows } from '../users/user-rows.ts';

export type InvitationStatus = 'pending' | 'accepted' | 'expired' | 'revoked';

/** Invitations with the ids of their apps, ordered by id. */
export const invitationRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('invitations')
    .select([
      'id',
      'client_id',
      'email',
      'key',
      'inviter_id',
      'extra',
      'date_invited',
      'email_count',
      'is_demo_user',
    ])
    .select(
      sql<string[]>`array(select a.id from invitation_apps ia join apps a on a.id = ia.app_id
        where ia.invitation_id = invitations.id order by a.created_at, a.id)`.as('initial_apps'),
    )
    .orderBy('id');

export type BareInvitation = Awaited<ReturnType<ReturnType<typeof invitationRows>['execute']>>[number];
export type InvitationRow = BareInvitation & { inviter: UserRow };

/** Pending invitations expire by the clock; the stored status changes only when another invitation replaces them. */
export const hasStatus = (status: InvitationStatus | 'all', now: Date) => {
  if (status === 'all') return sql<boolean>`true`;
  if (status === 'pending') return sql<boolean>`(status = 'pending' and expires_at > ${now})`;
  if (status === 'expired') {
    return sql<boolean>`(status = 'expired' or (status = 'pending' and expires_at <= ${now}))`;
  }
  return sql<boolean>`status = ${status}`;
};

/** The status at `now`. */
export const statusAt = (now: Date) => sql<InvitationStatus>`
  case when invitations.status = 'pending' and invitations.expires_at <= ${now} then 'expired'
  else invitations.status end`;

/** Invitations by id. */
export const bareRows = async (em: SqlEntityManager, ids: readonly number[]): Promise<BareInvitation[]> =>
  ids.length === 0
    ? []
    : invitationRows(em)
        .where(sql<boolean>`id = any(${[...ids]}::int[])`)
        .execute();

export const rowsOf = async (
  em: SqlEntityManager,
  actor: Actor,
  ids: readonly number[],
): Promise<InvitationRow[]> => withInviters(em, actor, await bareRows(em, ids));

/** Adds to each invitation its inviter as visible to the actor, with one statement. */
export const withInviters = async (
  em: SqlEntityManager,
  actor: Actor,
  rows: BareInvitation[],
): Promise<InvitationRow[]> => {
  const ids = [...new Set(rows.map((row) => row.inviter_id))];
  const inviters = await userRows(em, actor)
    .select(userVisibleTo(actor).as('is_seen'))
    .where(sql<boolean>`users.id = any(${ids}::int[])`)
    .execute();
  const byId = new Map(inviters.map((user) => [user.id, user.is_seen ? user : nameOnly(user)]));
  return rows.flatMap((row) => {
    const inviter = byId.get(row.inviter_id);
    return inviter ? [{ ...row, inviter }] : [];
  });
};

/** Identifies an inviter who is not visible to the actor, such as a superuser, without further data. */
const nameOnly = (user: UserRow): UserRow => ({
  ...user,
  extra: {},
  last_login: null,
  last_activated: null,
  last_deactivated: null,
});
