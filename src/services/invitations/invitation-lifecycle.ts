import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { PageRequest } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import type { AuditAction } from '../audit/actions.ts';
import { enqueueInvitationMails, tooManyMails } from '../mail/enqueue-mails.ts';
import { showsInvitationLink } from '../mail/mail-links.ts';
import type { Unit } from '../unit.ts';
import {
  type InvitationDetails,
  type InvitationSearch,
  invitationDetails,
  searchInvitations,
} from './invitation-details.ts';

type Deps = Pick<Unit, 'em' | 'clock' | 'links' | 'audit' | 'invitationDays' | 'mailRoute'>;

/** Reads, resends and revokes existing invitations. */
export const createInvitationLifecycle = ({ em, clock, links, audit, invitationDays, mailRoute }: Deps) => {
  const details = (tx: SqlEntityManager, actor: Actor, id: number) =>
    invitationDetails(tx, actor, id, clock.now());

  return {
    /** @throws Problem `not-found` */
    get: (actor: Actor, id: number): Promise<InvitationDetails> => details(em, actor, id),

    /** Newest first. */
    search: (actor: Actor, search: InvitationSearch, part: PageRequest): Promise<InvitationDetails[]> =>
      searchInvitations(em, actor, search, part, clock.now()),

    /**
     * Sends the mail again and restarts the lifetime, also of an expired invitation.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`, `throttled`
     */
    resend: (actor: Actor, id: number): Promise<InvitationDetails> =>
      em.transactional(async (tx) => {
        const invitation = await lockPending(tx, actor, id);
        const now = clock.now();
        await tables(tx)
          .updateTable('invitations')
          .set({ expires_at: new Date(now.getTime() + invitationDays * DAY_MS) })
          .where('id', '=', id)
          .execute();
        const invitationMail = { ...invitation, client: invitation.client_id };
        const [rejected] = await enqueueInvitationMails(tx, [invitationMail], now);
        if (rejected) throw tooManyMails(rejected);
        await audit.record(tx, [eventOf('invitation.resend', actor, invitation)]);
        return details(tx, actor, id);
      }),

    /**
     * Invalidates the link. Idempotent.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed` if it was accepted
     */
    revoke: (actor: Actor, id: number): Promise<InvitationDetails> =>
      em.transactional(async (tx) => {
        const invitation = await lockVisible(tx, actor, id);
        if (invitation.status === 'accepted') throw new Problem('invitation-closed');
        if (invitation.status !== 'revoked') {
          await tables(tx)
            .updateTable('invitations')
            .set({ status: 'revoked', closed_at: clock.now() })
            .where('id', '=', id)
            .execute();
          await audit.record(tx, [eventOf('invitation.revoke', actor, invitation)]);
        }
        return details(tx, actor, id);
      }),

    /**
     * Returns the mailed link, to pass it on by other means. This is audited. With the link one can create an account for
     * that address, so only superusers get it if a mail server is configured.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`
     */
    copyLink: (actor: Actor, id: number): Promise<{ url: string; expiresAt: Date }> =>
      em.transactional(async (tx) => {
        const invitation = await lockPending(tx, actor, id);
        if (!showsInvitationLink(actor, invitation.client_id, mailRoute))
          throw roleRequired('superuser: the invitee receives the link by email');
        if (invitation.expires_at <= clock.now()) throw new Problem('invitation-closed');
        await audit.record(tx, [eventOf('invitation.copy-link', actor, invitation)]);
        return { url: links.invitation(invitation.key), expiresAt: invitation.expires_at };
      }),
  };
};

/** @throws Problem `not-found`, `forbidden` */
const lockVisible = async (tx: SqlEntityManager, actor: Actor, id: number) => {
  const row = await tables(tx)
    .selectFrom('invitations')
    .select(['id', 'client_id', 'email', 'key', 'status', 'expires_at'])
    .where('id', '=', id)
    .where(clientVisibleTo(actor, sql`client_id`))
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw notFound('invitation');
  requireClientAdmin(actor, row.client_id);
  return row;
};

/** Locks a pending invitation, which may have passed its expiry date. */
const lockPending = async (tx: SqlEntityManager, actor: Actor, id: number) => {
  const row = await lockVisible(tx, actor, id);
  if (row.status !== 'pending') throw new Problem('invitation-closed');
  return row;
};

const eventOf = (
  action: AuditAction,
  actor: Actor,
  { id, email, client_id }: Awaited<ReturnType<typeof lockVisible>>,
) => ({
  action,
  actor,
  target: email,
  clients: [client_id],
  details: { id },
});
