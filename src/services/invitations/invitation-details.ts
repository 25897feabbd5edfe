import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { afterCursor, type PageRequest, readPage } from '../../db/pagination.ts';
import { hasWords } from '../../db/search.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import {
  hasStatus,
  type InvitationRow,
  type InvitationStatus,
  invitationRows,
  statusAt,
  withInviters,
} from './invitation-rows.ts';

export type InvitationDetails = InvitationRow & {
  status: InvitationStatus;
  expires_at: Date;
  closed_at: Date | null;
};

export type InvitationSearch = {
  status: InvitationStatus | 'all';
  client?: number | undefined;
  search?: string | undefined;
  /** Id of the last invitation of the previous page. */
  cursor?: number | undefined;
};

/** Invitations with their status, for viewers of their client. */
const detailedRows = (em: SqlEntityManager, actor: Actor, now: Date) =>
  invitationRows(em)
    .clearOrderBy()
    .select(['expires_at', 'closed_at', statusAt(now).as('status')])
    .where(clientVisibleTo(actor, sql`client_id`))
    .orderBy('id', 'desc');

/** @throws Problem `not-found` */
export const invitationDetails = async (
  em: SqlEntityManager,
  actor: Actor,
  id: number,
  now: Date,
): Promise<InvitationDetails> => {
  const row = await detailedRows(em, actor, now).where('id', '=', id).executeTakeFirst();
  const [details] = row ? await detailed(em, actor, [row]) : [];
  if (!details) throw notFound('invitation');
  return details;
};

/** Newest first. */
export const searchInvitations = async (
  em: SqlEntityManager,
  actor: Actor,
  { status, client, search, cursor }: InvitationSearch,
  part: PageRequest,
  now: Date,
): Promise<InvitationDetails[]> => {
  let rows = afterCursor(detailedRows(em, actor, now), 'id', cursor, 'desc').where(hasStatus(status, now));
  if (client !== undefined) rows = rows.where('client_id', '=', client);
  if (search !== undefined) rows = rows.where(hasWords(sql`email`, search));
  return detailed(em, actor, await readPage(rows, 'id', part));
};

type DetailedRow = Awaited<ReturnType<ReturnType<typeof detailedRows>['execute']>>[number];

const detailed = async (
  em: SqlEntityManager,
  actor: Actor,
  rows: DetailedRow[],
): Promise<InvitationDetails[]> => {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return (await withInviters(em, actor, rows)).flatMap((invitation) => {
    const row = byId.get(invitation.id);
    return row
      ? [{ ...invitation, status: row.status, expires_at: row.expires_at, closed_at: row.closed_at }]
      : [];
  });
};
