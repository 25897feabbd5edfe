import { type InferResult, sql } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import type { Invitation, InvitationStatus } from '../../../entities/invitation.ts';
import { condition, type Em, hasWords, isAnyOf, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type PageRequest, readPage } from '../../db/pagination.ts';
import { invalid, notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { mayGiveRoles } from '../access/permissions.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { requireViewableAppId } from '../apps/app-rows.ts';
import { ofInvitation } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  findPending,
  groupsInvitedTo,
  hasStatus,
  type InvitationRow,
  invitationRows,
  lockInvitation,
  lockPending,
  readInvitation,
  showsInvitationLink,
  statusAt,
  withInviters,
} from './invitation-rows.ts';

export { INVITATION_STATUSES } from '../../../entities/invitation.ts';

import { mailStatus } from '../outbox/mail-status.ts';
import {
  cannotGiveRoles,
  type InvitationElement,
  type InvitationInput,
  invite,
  inviteToClient,
  renewInvitation,
} from './invite.ts';

type Search = {
  status: InvitationStatus | 'all';
  client?: number | undefined;
  search?: string | undefined;
  /** Id of the last invitation of the previous page. */
  cursor?: number | undefined;
};
type ListFilter = Search & { app?: string | undefined };
type SearchFilter = Search & {
  /** Exclusive. */
  expires_before?: Date | undefined;
  /** The time of the request that created or renewed the invitations. */
  invited_at?: Date | undefined;
};

type InvitationChanges = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  extra?: Record<string, unknown> | undefined;
  initial_apps?: string[] | undefined;
  groups?: number[] | undefined;
  apps_expire_at?: Date | null | undefined;
  /** Replaces the names of the roles. */
  roles?: string[] | undefined;
};

type DetailedRow = InferResult<ReturnType<typeof detailedInvitations>>[number];
export type InvitationDetails = DetailedRow & Pick<InvitationRow, 'inviter'>;

/** Reads and changes invitations, for viewers and admins of their client. */
export const createInvitations = (unit: UnitOfWork) => {
  const { em, clock, links, audit, mailRoute } = unit;

  const readDetails = async (tx: Em, actor: Actor, id: number) => {
    const rows = await detailedInvitations(tx, actor, clock.now()).where('id', '=', id).execute();
    const [details] = await withInviters(tx, actor, clock.now(), rows);
    if (!details) throw notFound('invitation');
    return details;
  };
  const record = (tx: Em, action: PlainAction, actor: Actor, invitation: Invitation) =>
    audit.record(tx, [eventOf(action, actor, invitation)]);

  return {
    /**
     * Invitations of a client, to an app (by slug), or without both by the actor, oldest first.
     * @throws Problem `not-found` if the actor may not see the app or client
     */
    list: async (actor: Actor, filter: ListFilter, page: PageRequest): Promise<InvitationRow[]> => {
      const { client, app, cursor } = filter;
      let rows = afterCursor(invitationRows(em).orderBy('id'), 'id', cursor)
        .where(clientVisibleTo(actor, sql`client_id`))
        .where(isMatch(filter, clock.now()));
      if (client !== undefined) await readClient(em, actor, client);
      else if (app === undefined) rows = rows.where('inviter_id', '=', actor.id);
      else {
        const appId = await requireViewableAppId(em, actor, clock.now(), app);
        rows = rows.where(condition`exists (select from invitation_apps ia
          where ia.invitation_id = invitations.id and ia.app_id = ${appId})`);
      }
      return withInviters(em, actor, clock.now(), await readPage(rows, 'id', page));
    },

    /** Newest first. */
    search: async (actor: Actor, filter: SearchFilter, page: PageRequest) => {
      const { expires_before: expiresBefore, invited_at: invitedAt, cursor } = filter;
      const now = clock.now();
      const detailed = detailedInvitations(em, actor, now);
      let rows = afterCursor(detailed, 'id', cursor, 'desc').where(isMatch(filter, now));
      if (expiresBefore !== undefined) rows = rows.where('expires_at', '<', expiresBefore);
      if (invitedAt !== undefined) rows = rows.where(isInvitedAt(invitedAt));
      return withInviters(em, actor, clock.now(), await readPage(rows, 'id', page));
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: number) => readDetails(em, actor, id),

    /**
     * The pending invitation of an address that `update` would change.
     * @throws Problem `not-found`, `ambiguous-invitation`
     */
    pending: async (actor: Actor, email: string, client: number | undefined): Promise<InvitationRow> => {
      const { id } = await findPending(em, actor, { email, client, now: clock.now() });
      return readInvitation(em, actor, clock.now(), id);
    },

    /** See `invite`. */
    create: (actor: Actor, elements: InvitationElement[], options?: { dryRun: boolean }) =>
      invite(unit, actor, elements, options),

    /** See `inviteToClient`. */
    createForClient: (actor: Actor, client: number, input: Omit<InvitationInput, 'client'>) =>
      inviteToClient(unit, actor, client, input),

    /**
     * Changes a pending invitation without sending mail.
     * @throws Problem `not-found`, `forbidden`, `ambiguous-invitation`, `invalid-input` on `initial_apps`, `groups`,
     * `apps_expire_at`, `roles`, `reauthentication-required` to give a role
     */
    update: (
      actor: Actor,
      email: string,
      client: number | undefined,
      { extra, initial_apps: apps, groups, apps_expire_at: end, roles, ...names }: InvitationChanges,
    ): Promise<InvitationRow> =>
      em.transactional(async (tx) => {
        const invitation = await lockPending(tx, actor, { email, client, now: clock.now() });
        if (apps) await replaceListed(tx, invitation, 'initial_apps', apps);
        if (groups) await replaceListed(tx, invitation, 'groups', groups);
        if (end !== undefined) {
          if (end && end <= clock.now()) throw invalid({ apps_expire_at: ['Must be in the future.'] });
          invitation.appsExpireAt = end;
        }
        if (extra) invitation.extra = extra;
        if (roles) giveRoles(actor, invitation, roles, clock.now());
        invitation.firstName = names.first_name ?? invitation.firstName;
        invitation.lastName = names.last_name ?? invitation.lastName;
        await tx.flush();
        const isRenamed = names.first_name !== undefined || names.last_name !== undefined;
        const changed = pickDefined({
          apps,
          groups,
          roles,
          apps_expire_at: end ? end.toISOString() : end,
          extra: extra && CHANGED,
          name: isRenamed ? CHANGED : undefined,
        });
        const event = eventOf('invitation.update', actor, invitation);
        if (changed) await audit.record(tx, [{ ...event, details: { ...event.details, ...changed } }]);
        return readInvitation(tx, actor, clock.now(), invitation.id);
      }),

    /**
     * Sends the mail again and restarts the lifetime, even of an expired invitation.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`, `throttled`
     */
    resend: (actor: Actor, id: number): Promise<InvitationDetails> =>
      em.transactional(async (tx) => {
        await renewInvitation(tx, unit, actor, id);
        return readDetails(tx, actor, id);
      }),

    /**
     * Invalidates the link. Idempotent.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed` if the invitation was accepted
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
     * Returns the mailed link, so that the caller can pass it on by other means. This is audited. With the link anyone can create an
     * account for that address, so only superusers get it if a mail server is configured.
     * @throws Problem `not-found`, `forbidden`, `invitation-closed`
     */
    copyLink: (actor: Actor, id: number): Promise<{ email: string; url: string; expiresAt: Date }> =>
      em.transactional(async (tx) => {
        const invitation = await lockInvitation(tx, actor, id);
        if (!invitation.isOpen(clock.now())) throw new Problem('invitation-closed');
        if (
          !showsInvitationLink(actor, { clientId: invitation.client.id, roles: invitation.roles }, mailRoute)
        )
          throw roleRequired('superuser: the invitee receives the link by email');
        invitation.isLinkShown = true;
        await tx.flush();
        await record(tx, 'invitation.copy-link', actor, invitation);
        const { email, key, expiresAt } = invitation;
        return { email, url: links.invitation(key), expiresAt };
      }),
  };
};

/** Replaces the roles of an invitation. Who may change it may also take them away. */
const giveRoles = (actor: Actor, invitation: Invitation, roles: string[], now: Date): void => {
  const client = invitation.client.id;
  if (roles.length > 0) {
    if (!mayGiveRoles(actor, roles, client)) throw invalid({ roles: [cannotGiveRoles(client)] });
    requireConfirmedSession(actor, now);
  }
  invitation.roles = roles;
  invitation.rolesBy = roles.length > 0 ? actor.id : null;
};

/** Recorded instead of personal data. */
const CHANGED = 'changed' as const;

type PlainAction = 'invitation.copy-link' | 'invitation.revoke' | 'invitation.update';

const eventOf = <A extends PlainAction>(action: A, actor: Actor, invitation: Invitation) => {
  const { id, client } = invitation;
  return { action, actor, target: ofInvitation(invitation), clients: [client.id], details: { id } };
};

const isMatch = ({ status, client, search }: Search, now: Date) => condition`(
  ${hasStatus(status, now)}
  and ${client === undefined ? sql`true` : sql`client_id = ${client}`}
  and ${search === undefined ? sql`true` : hasWords(sql`email`, search)})`;

/** A renewed invitation keeps the time of its creation, so its mail is looked up. */
const isInvitedAt = (time: Date) => condition`(date_invited = ${time} or exists (
  select from outbox_mails mail where mail.invitation_id = invitations.id and mail.created_at = ${time}))`;

/** Invitations with their status and newest mail, newest first, for viewers of their client. */
export const detailedInvitations = (em: Em, actor: Actor, now: Date) =>
  invitationRows(em)
    .select(['first_name', 'last_name', 'expires_at', 'closed_at', statusAt(now).as('status')])
    .select(['apps_expire_at', 'roles', groupsInvitedTo.as('groups')])
    .select(({ selectFrom }) =>
      jsonObjectFrom(
        selectFrom('outbox_mails as mail')
          .select(['mail.id', mailStatus.as('status'), 'mail.last_error'])
          .whereRef('mail.invitation_id', '=', 'invitations.id')
          .orderBy('mail.id', 'desc')
          .limit(1),
      ).as('mail'),
    )
    .where(clientVisibleTo(actor, sql`client_id`))
    .orderBy('id', 'desc');

const LISTS = {
  initial_apps: { noun: 'app', type: 'varchar' },
  groups: { noun: 'group', type: 'int' },
} as const;

/** Replaces the apps or the groups of an invitation. @throws Problem `invalid-input` if any do not belong to its client */
const replaceListed = async (
  tx: Em,
  { id: invitationId, client }: Invitation,
  field: keyof typeof LISTS,
  ids: readonly (string | number)[],
) => {
  const db = kysely(tx);
  const { noun, type } = LISTS[field];
  const { rows } = await sql<{ id: string | number }>`
    select id from ${sql.table(`${noun}s`)}
    where client_id = ${client.id} and ${isAnyOf('id', ids, type)}`.execute(db);
  const foreign = ids.filter((id) => !rows.some((row) => row.id === id));
  if (foreign.length > 0)
    throw invalid({ [field]: foreign.map((id) => `This client has no ${noun} ${id}.`) });
  const links = sql.table(`invitation_${noun}s`);
  await sql`delete from ${links} where invitation_id = ${invitationId}`.execute(db);
  await sql`
    insert into ${links} (invitation_id, ${sql.ref(`${noun}_id`)})
    select ${invitationId}::int, unnest(${rows.map(({ id }) => id)}::${sql.raw(type)}[])`.execute(db);
};
