import { type InferResult, type RawBuilder, sql } from 'kysely';
import { INVITATION_STATUSES } from '../../../entities/invitation.ts';
import { type Db, tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { SignedLinks } from '../auth/signed-links.ts';
import { type UserRow, userRows } from '../users/user-rows.ts';
import type { WrittenInvitation } from './invitation-writes.ts';

export { INVITATION_STATUSES };
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];

export type InvitationSearch = {
  status: InvitationStatus | 'all';
  client?: number | undefined;
  search?: string | undefined;
  /** Id of the last invitation of the previous page. */
  cursor?: number | undefined;
};

/** Ids or labels of the apps of an invitation, by age. */
export const appsInvitedTo = (column: RawBuilder<unknown>, invitationId: RawBuilder<unknown>) =>
  sql<string[]>`array(select ${column} from invitation_apps ia join apps a on a.id = ia.app_id
    where ia.invitation_id = ${invitationId} order by a.created_at, a.id)`;

/** Invitations with the ids of their apps, ordered by id. */
export const invitationRows = (em: Db) =>
  tables(em)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'email', 'key', 'inviter_id', 'extra', 'date_invited', 'email_count'])
    .select(['is_demo_user', appsInvitedTo(sql`a.id`, sql`invitations.id`).as('initial_apps')])
    .orderBy('id');

type BareInvitation = InferResult<ReturnType<typeof invitationRows>>[number];
export type InvitationRow = BareInvitation & { inviter: UserRow };

/** Pending invitations expire by the clock; the stored status changes only when another invitation replaces them. */
export const hasStatus = (status: InvitationStatus | 'all', now: Date) => {
  if (status === 'all') return sql<boolean>`true`;
  // As in the conditions of the partial indexes.
  if (status === 'pending') return sql<boolean>`(status = 'pending' and expires_at > ${now})`;
  return sql<boolean>`${statusAt(now)} = ${status}`;
};

/** The status at `now`. */
export const statusAt = (now: Date) => sql<InvitationStatus>`
  case when invitations.status = 'pending' and invitations.expires_at <= ${now} then 'expired'
  else invitations.status end`;

const readBare = (em: Db, ids: readonly number[]): Promise<BareInvitation[]> =>
  invitationRows(em)
    .where(sql<boolean>`id = any(${[...ids]}::int[])`)
    .execute();

/** @throws Problem `not-found` */
export const readInvitation = async (em: Db, actor: Actor, id: number) => {
  const [row] = await withInviters(em, actor, await readBare(em, [id]));
  if (!row) throw notFound('invitation');
  return row;
};

/**
 * The invitations that the actor wrote at `now`, in the same order. Reads only the renewed ones: a new one has the values that
 * were written.
 */
export const readWritten = async (
  em: Db,
  actor: Actor,
  written: readonly WrittenInvitation[],
  now: Date,
): Promise<InvitationRow[]> => {
  const renewed = written.filter(({ isNew }) => !isNew).map(({ id }) => id);
  const stored = renewed.length > 0 ? await readBare(em, renewed) : [];
  const byId = new Map(stored.map((row) => [row.id, row]));
  const rows = written.flatMap((item) => (item.isNew ? newRow(item, actor, now) : (byId.get(item.id) ?? [])));
  return withInviters(em, actor, rows);
};

const newRow = (item: WrittenInvitation, actor: Actor, now: Date): BareInvitation => ({
  id: item.id,
  client_id: item.client,
  email: item.email,
  key: item.key,
  inviter_id: actor.id,
  extra: { ...item.extra },
  date_invited: now,
  email_count: 0,
  is_demo_user: item.is_demo_user ?? false,
  initial_apps: item.appsByAge,
});

/** Adds to each invitation its inviter as visible to the actor, with one statement. */
export const withInviters = async <T extends { inviter_id: number }>(em: Db, actor: Actor, rows: T[]) => {
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

/** Identifies an inviter who is not visible to the actor, such as a superuser. Each column is listed, so that no new one leaks. */
const nameOnly = (user: UserRow): UserRow => ({
  id: user.id,
  email: user.email,
  handle: user.handle,
  first_name: user.first_name,
  last_name: user.last_name,
  extra: {},
  is_active: user.is_active,
  is_demo_user: user.is_demo_user,
  profile_color: user.profile_color,
  profile_avatar: user.profile_avatar,
  last_login: null,
  date_joined: user.date_joined,
  last_activated: null,
  last_deactivated: null,
  last_password_set: user.last_password_set,
  apps: user.apps,
  clientadmin_of: user.clientadmin_of,
});

type Link = { key: string; signature: string };

/**
 * Finds the invitation of a mailed link, with the contents of its page.
 * @throws Problem `not-found` for an unknown key or a wrong signature
 */
export const findInvitationByLink = async (em: Db, links: SignedLinks, link: Link, now: Date) => {
  if (!links.isInvitationSigned(link.key, link.signature)) throw notFound('invitation');
  return (
    tables(em)
      .selectFrom('invitations')
      .innerJoin('clients', 'clients.id', 'invitations.client_id')
      .innerJoin('users as inviter', 'inviter.id', 'invitations.inviter_id')
      .leftJoin('users as invitee', 'invitee.email', 'invitations.email')
      .select(['invitations.id', 'invitations.client_id', 'invitations.email', 'invitations.extra'])
      .select(['invitations.is_demo_user', 'invitations.expires_at', 'invitations.closed_at'])
      .select(['clients.name as client_name', 'invitation_body', 'support_email', 'home_location'])
      .select(['inviter.first_name as inviter_first_name', 'inviter.last_name as inviter_last_name'])
      /** null if no user has this address yet. */
      .select('invitee.is_active as user_is_active')
      .select([statusAt(now).as('status'), appsInvitedTo(sql`a.label`, sql`invitations.id`).as('app_labels')])
      .where('invitations.key', '=', link.key)
      .executeTakeFirstOrThrow(() => notFound('invitation'))
  );
};

export type InvitationByLink = Awaited<ReturnType<typeof findInvitationByLink>>;
