import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Invitation } from '../../../entities/invitation.ts';
import { type Db, tables } from '../../db/kysely.ts';
import { afterCursor, type PageRequest, readPage } from '../../db/pagination.ts';
import { hasWords } from '../../db/search.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import type { AuditAction } from '../audit/audit.ts';
import { enqueueInvitationMails, isMailed, tooManyMails } from '../mail/enqueue-mails.ts';
import { type MailStatus, mailStatus, showsInvitationLink } from '../mail/mail-context.ts';
import type { Unit } from '../unit.ts';
import type { InvitationRow, InvitationSearch } from './invitation-rows.ts';
import { hasStatus, invitationRows, statusAt, withInviters } from './invitation-rows.ts';

/** Exclusive. */
type ExpiryFilter = { expires_before?: Date | undefined };

/** The newest mail of an invitation. */
type InvitationMail = { id: number; status: MailStatus; last_error: string | null };

type DetailedRow = InferResult<ReturnType<typeof detailedInvitations>>[number];
export type InvitationDetails = DetailedRow & Pick<InvitationRow, 'inviter'>;

/** Reads, resends and revokes existing invitations. */
export const createInvitationLifecycle = ({ em, clock, links, audit, invitationDays, mailRoute }: Unit) => {
  const readDetails = async (unit: Db, actor: Actor, id: number) => {
    const rows = await detailedInvitations(unit, actor, clock.now()).where('id', '=', id).execute();
    const [details] = await withInviters(unit, actor, rows);
    if (!details) throw notFound('invitation');
    return details;
  };
  const record = (tx: Db, action: AuditAction, actor: Actor, invitation: Invitation) => {
    const { id, email, client } = invitation;
    return audit.record(tx, [{ action, actor, target: email, clients: [client.id], details: { id } }]);
  };

  return {
    /** @throws Problem `not-found` */
    get: (actor: Actor, id: number) => readDetails(em, actor, id),

    /** Newest first. */
    search: async (actor: Actor, filter: InvitationSearch & ExpiryFilter, part: PageRequest) => {
      const { status, client, search, expires_before: expiresBefore, cursor } = filter;
      const now = clock.now();
      let rows = afterCursor(detailedInvitations(em, actor, now), 'id', cursor, 'desc').where(
        hasStatus(status, now),
      );
      if (client !== undefined) rows = rows.where('client_id', '=', client);
      if (search !== undefined) rows = rows.where(hasWords(sql`email`, search));
      if (expiresBefore !== undefined) rows = rows.where('expires_at', '<', expiresBefore);
      return withInviters(em, actor, await readPage(rows, 'id', part));
    },

    /**
     * Sends the mail again and restarts the lifetime, also of an expired invitation; once per operation.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`, `throttled`
     */
    resend: (actor: Actor, id: number, operationId?: string): Promise<InvitationDetails> =>
      em.transactional(async (tx) => {
        const invitation = await lockInvitation(tx, actor, id);
        if (operationId && (await isMailed(tx, operationId, { invitation_id: id })))
          return readDetails(tx, actor, id);
        const now = clock.now();
        const expiresAt = new Date(now.getTime() + invitationDays * DAY_MS);
        if (!invitation.renew(expiresAt)) throw new Problem('invitation-closed');
        await tx.flush();
        const mail = { id, client: invitation.client.id, email: invitation.email };
        const [rejected] = await enqueueInvitationMails(tx, [mail], now, operationId);
        if (rejected) throw tooManyMails(rejected);
        await record(tx, 'invitation.resend', actor, invitation);
        return readDetails(tx, actor, id);
      }),

    /**
     * Invalidates the link. Idempotent.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed` if it was accepted
     */
    revoke: (actor: Actor, id: number): Promise<InvitationDetails> =>
      em.transactional(async (tx) => {
        const invitation = await lockInvitation(tx, actor, id);
        if (invitation.status === 'accepted') throw new Problem('invitation-closed');
        if (invitation.revoke(clock.now())) {
          await tx.flush();
          await record(tx, 'invitation.revoke', actor, invitation);
        }
        return readDetails(tx, actor, id);
      }),

    /**
     * Returns the mailed link, to pass it on by other means. This is audited. With the link one can create an account for
     * that address, so only superusers get it if a mail server is configured.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`
     */
    copyLink: (actor: Actor, id: number): Promise<{ url: string; expiresAt: Date }> =>
      em.transactional(async (tx) => {
        const invitation = await lockInvitation(tx, actor, id);
        if (!invitation.isOpen(clock.now())) throw new Problem('invitation-closed');
        if (!showsInvitationLink(actor, invitation.client.id, mailRoute))
          throw roleRequired('superuser: the invitee receives the link by email');
        await record(tx, 'invitation.copy-link', actor, invitation);
        return { url: links.invitation(invitation.key), expiresAt: invitation.expiresAt };
      }),
  };
};

/** Invitations with their status and newest mail, newest first, for viewers of their client. */
export const detailedInvitations = (em: Db, actor: Actor, now: Date) =>
  invitationRows(em)
    .clearOrderBy()
    .select(['expires_at', 'closed_at', statusAt(now).as('status')])
    .select(
      sql<InvitationMail | null>`(
        select json_build_object('id', mail.id, 'status', ${mailStatus}, 'last_error', mail.last_error)
        from outbox_mails mail where mail.invitation_id = invitations.id order by mail.id desc limit 1)`.as(
        'mail',
      ),
    )
    .where(clientVisibleTo(actor, sql`client_id`))
    .orderBy('id', 'desc');

/** @throws Problem `not-found`, `forbidden` */
const lockInvitation = async (tx: Db, actor: Actor, id: number): Promise<Invitation> => {
  const row = await tables(tx)
    .selectFrom('invitations')
    .select('client_id')
    .where('id', '=', id)
    .where(clientVisibleTo(actor, sql`client_id`))
    .executeTakeFirstOrThrow(() => notFound('invitation'));
  requireClientAdmin(actor, row.client_id);
  return tx.findOneOrFail(Invitation, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
};
