import { sql } from 'kysely';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import type { Mail } from '../../adapters/mail/mailer.ts';
import { clientIdsOf, condition, type Em, hasWords, isAnyOf, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { invalid, notFound, roleRequired } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { type Action, can, clientsWhere } from '../access/permissions.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { findUserId } from '../accounts/addresses.ts';
import type { ItemPageRequest } from '../apps/app-rows.ts';
import { type ActionOn, ofAddress, ofUser } from '../audit/audit.ts';
import { invitationEnd, showsInvitationLink, withInviters } from '../invitations/invitation-rows.ts';
import { detailedInvitations, type InvitationDetails } from '../invitations/invitations.ts';
import { isAboutAccount, type MailRoute, type MailStatus, mailStatus } from '../outbox/mail-status.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type MailContext, type MailRow, mailContexts, mailRows, wasNeeded } from './mail-context.ts';
import type { MailOptions } from './mail-variables.ts';

/** SQL over the alias `mail`: whether it is the latest mail of its invitation. Failures of earlier mails no longer count. */
const isNotSuperseded = condition`(mail.invitation_id is null or not exists (
  select from outbox_mails later where later.invitation_id = mail.invitation_id and later.id > mail.id))`;

type MailFilter = {
  status: MailStatus | 'all';
  client?: number | undefined;
  /** An address in lower case. */
  recipient?: string | undefined;
  /** Words that the recipient must contain. */
  search?: string | undefined;
  /** Mails of one request have the same time. */
  created_at?: Date | undefined;
  /** The id of the last mail of the previous page. */
  cursor?: number | undefined;
};

/** A mail with its rendered text. `is_own`: whether it concerns a client that the actor administers. */
export type ReadableMail = { row: MailRow & { is_own: boolean; is_as_sent: boolean }; mail: Mail };

/** Queued, sent and failed mails, for administrators. */
export const createMails = ({ em, clock, audit, invitationMs, mailWriter, mailRoute }: UnitOfWork) => {
  const options = () => ({ now: clock.now(), invitationMs });

  const visibleMail = (tx: Em, actor: Actor, id: number) =>
    mailContexts(tx, options())
      .select(concerns(actor, 'manage-credentials').as('is_own'))
      .where('mail.id', '=', id)
      .where(mailVisibleTo(actor))
      .executeTakeFirstOrThrow(() => notFound('mail'));

  /** The mails to the account with this address, and to the address. */
  const isRecipient = async (actor: Actor, email: string) =>
    condition`(mail.recipient = ${email} or mail.user_id = ${(await findUserId(em, actor, email)) ?? null}::int)`;

  const record = async (tx: Em, action: ActionOn<'mail'>, actor: Actor, row: MailRow) => {
    const clients = row.client_id === null ? await clientIdsOf(tx, row.user_id ?? 0) : [row.client_id];
    const { id, kind, recipient, user_id: userId } = row;
    const target = userId === null ? ofAddress(recipient) : ofUser({ id: userId, email: recipient });
    await audit.record(tx, [{ action, actor, target, clients, details: { id, kind } }]);
  };

  type VisibleMail = Awaited<ReturnType<typeof visibleMail>>;

  /** Records that a link was read. */
  const show = async (tx: Em, actor: Actor, row: VisibleMail): Promise<ReadableMail> => {
    const isShown = showsLink(actor, row, mailRoute);
    if (isShown) {
      await record(tx, 'mail.read-link', actor, row);
      const invitation = kysely(tx).updateTable('invitations').set({ is_link_shown: true });
      await invitation.where('id', '=', row.invitation_id).execute();
    }
    return { row, mail: mailWriter.write(row, { showsLink: isShown }) };
  };

  return {
    /** Whether mails leave the queue: without a mail server, administrators read and copy their links. */
    isSending: (): boolean => mailRoute.hasServer,

    /** Newest first. */
    list: async (actor: Actor, filter: MailFilter, page: PageRequest): Promise<MailRow[]> => {
      let rows = afterCursor(mailRows(em, options()), 'mail.id', filter.cursor, 'desc')
        .where(mailVisibleTo(actor))
        .orderBy('mail.id', 'desc');
      if (filter.status !== 'all') rows = rows.where(mailStatus, '=', filter.status);
      if (filter.recipient !== undefined) rows = rows.where(await isRecipient(actor, filter.recipient));
      if (filter.search !== undefined) rows = rows.where(hasWords(sql`mail.recipient`, filter.search));
      if (filter.created_at !== undefined) rows = rows.where('mail.created_at', '=', filter.created_at);
      // The first is implied by the status, and the condition of an index.
      if (filter.status === 'failed')
        rows = rows.where('mail.failed_at', 'is not', null).where(isNotSuperseded).where(wasNeeded);
      // A mail about a user concerns all clients of the user, some of which the actor may not see.
      if (filter.client !== undefined) {
        const isVisible = clientVisibleTo(actor, sql`${filter.client}::int`);
        rows = rows.where(isOfClients([filter.client])).where(isVisible);
      }
      return readPage(rows, 'mail.id', page);
    },

    /** The mail as it was sent, or as it would be sent now. Showing a link is audited. @throws Problem `not-found` */
    get: (actor: Actor, id: number): Promise<ReadableMail> =>
      em.transactional(async (tx) => show(tx, actor, await visibleMail(tx, actor, id))),

    /**
     * Makes a failed or waiting mail due now.
     * @throws Problem `not-found`, `forbidden`, `invalid-input` on `id` if the mail was sent or is obsolete
     */
    retry: (actor: Actor, id: number): Promise<ReadableMail> =>
      em.transactional(async (tx) => {
        await lockVisible(tx, actor, id);
        const row = await visibleMail(tx, actor, id);
        // Staff can read all mails, but retry only mails of clients that they administer.
        if (!row.is_own)
          throw roleRequired('client admin of the client that this mail concerns, or superuser');
        if (row.sent_at) throw invalid({ id: ['This mail has already been sent.'] });
        if (row.obsolete !== null) throw invalid({ id: [row.obsolete] });

        const now = clock.now();
        if (!isBeingSent(row, now)) {
          const mail = await tx.findOneOrFail(OutboxMail, id);
          mail.retry(now);
          await tx.flush();
          await sql`select pg_notify('outbox_mails', '')`.execute(kysely(tx));
          await record(tx, 'mail.retry', actor, row);
        }
        return show(tx, actor, await visibleMail(tx, actor, id));
      }),

    /** The invitation mail of a client, with some texts replaced. @throws Problem `not-found` */
    previewInvitation: async (actor: Actor, clientId: number, { name, ...texts }: Texts): Promise<Mail> => {
      const now = clock.now();
      const variables = await kysely(em)
        .selectFrom('clients as client')
        .select(['client.name as client_name', 'client.default_from_email', 'client.support_email'])
        .select(['client.invitation_subject', 'client.invitation_body'])
        .where('client.id', '=', clientId)
        .where(clientVisibleTo(actor, sql`client.id`))
        .executeTakeFirstOrThrow(() => notFound('client'));
      const link_expires_at = invitationEnd(now, invitationMs).toISOString();
      const replaced = pickDefined({ client_name: name, ...texts });
      const written = { ...EXAMPLE, created_at: now, written_at: now };
      return mailWriter.write({ ...written, variables: { ...variables, link_expires_at, ...replaced } });
    },

    /**
     * The mails and invitations of an address, newest first. The address need not have an account.
     * @throws Problem `invalid-input` on `cursor`
     */
    timeline: async (actor: Actor, email: string, page: ItemPageRequest): Promise<TimelineEntry[]> => {
      let rows = entryKeys(em, actor, { email, id: (await findUserId(em, actor, email)) ?? null });
      if (page.cursor !== undefined) {
        const { at, type, id } = await cursorRow(rows.where('key', '=', page.cursor));
        rows = rows.where(condition`(at, type, id) < (${at}, ${type}, ${id})`);
      }
      return readEntries(em, actor, await readPage(rows, 'key', page), options());
    },
  };
};

const showsLink = (actor: Actor, mail: MailContext, route: MailRoute): boolean => {
  const { kind, client_id, link, change } = mail;
  if (kind === 'invitation' || kind === 'invitation-reminder')
    return (
      client_id !== null &&
      showsInvitationLink(actor, { clientId: client_id, roles: mail.invitation_roles ?? [] }, route)
    );
  // A link to set a password or to change the address gives access to the account.
  return (link ?? change) !== null && can(actor, 'administer') && !route.hasServer;
};

/** A mail that names no client concerns all clients to which its user belonged at that time, unless the account was shared. */
const isOfClients = (clientIds: readonly number[]) => condition`
  (mail.client_id = any(${[...clientIds]}::int[]) or mail.client_id is null and ${IS_UNSHARED} and exists (
    select from memberships m where m.user_id = mail.user_id and m.client_id = any(${[...clientIds]}::int[])
      and coalesce(m.joined_at <= mail.created_at, true)))`;

const IS_UNSHARED = condition`not exists (select from users u where u.id = mail.user_id and u.was_shared)`;

/** Admins see a mail about an account, such as a password link, only if the account was never shared with other clients. */
const concerns = (actor: Actor, action: Action) => {
  const clients = clientsWhere(actor, action);
  return clients === 'all'
    ? condition`true`
    : condition`(${isOfClients(clients)} and (not ${isAboutAccount('mail')} or ${IS_UNSHARED}))`;
};

/** Rows of the alias `mail` that the actor may see. */
const mailVisibleTo = (actor: Actor) => concerns(actor, 'view');

/** Locks the invitation of a mail, then the mail: the same order as in all other changes of an invitation. */
const lockVisible = async (tx: Em, actor: Actor, id: number): Promise<void> => {
  const mails = kysely(tx)
    .selectFrom('outbox_mails as mail')
    .where('mail.id', '=', id)
    .where(mailVisibleTo(actor));
  const invitation = mails.innerJoin('invitations as i', 'i.id', 'mail.invitation_id').select('i.id');
  await invitation.forUpdate('i').execute();
  await mails.select('mail.id').forUpdate().execute();
};

/** A claimed mail whose delivery has no result yet. */
const isBeingSent = (row: MailRow, now: Date): boolean =>
  row.failed_at === null && row.attempts > 0 && row.last_error === null && row.next_attempt_at > now;

type Texts = {
  [Text in 'name' | 'default_from_email' | 'support_email' | 'invitation_subject' | 'invitation_body']?:
    | string
    | undefined;
};

/** An example of an invitation. */
const EXAMPLE = {
  id: 0,
  kind: 'invitation' as const,
  recipient: 'ada@example.com',
  invitation_key: 'preview',
  request_address: null,
  link: null,
  change: null,
};

/** `key` identifies the entry in the list: `mail-12`. */
type EntryKey = { key: string; type: 'mail' | 'invitation'; id: number; at: Date };

type TimelineContent = { mail: MailRow; invitation: null } | { mail: null; invitation: InvitationDetails };
export type TimelineEntry = { key: string; at: Date } & TimelineContent;

const entryKeys = (em: Em, actor: Actor, { email, id }: { email: string; id: number | null }) =>
  kysely(em)
    .selectFrom(
      sql<EntryKey>`(
        select 'mail-' || mail.id as key, 'mail' as type, mail.id, mail.created_at as at
        from outbox_mails mail where (mail.recipient = ${email} or mail.user_id = ${id}::int) and ${mailVisibleTo(actor)}
        union all
        select 'invitation-' || i.id, 'invitation', i.id, i.date_invited
        from invitations i where (i.email = ${email} or i.user_id = ${id}::int) and ${clientVisibleTo(actor, sql`i.client_id`)}
      )`.as('entry'),
    )
    .select(['key', 'type', 'id', 'at'])
    .orderBy('at', 'desc')
    .orderBy('type', 'desc')
    .orderBy('id', 'desc');

const readEntries = async (em: Em, actor: Actor, keys: readonly EntryKey[], options: MailOptions) => {
  const idsOf = (type: EntryKey['type']) => keys.flatMap((key) => (key.type === type ? key.id : []));
  const mails = mailRows(em, options).where(isAnyOf('mail.id', idsOf('mail'), 'bigint'));
  const invitations = await detailedInvitations(em, actor, options.now)
    .where(isAnyOf('invitations.id', idsOf('invitation'), 'int'))
    .execute();
  const contents = new Map<string, TimelineContent>();
  for (const mail of await mails.execute()) contents.set(`mail-${mail.id}`, { mail, invitation: null });
  for (const invitation of await withInviters(em, actor, options.now, invitations))
    contents.set(`invitation-${invitation.id}`, { mail: null, invitation });
  return keys.flatMap(({ key, at }): TimelineEntry[] => {
    const content = contents.get(key);
    // The row may have been deleted since the keys were read.
    return content ? [{ key, at, ...content }] : [];
  });
};
