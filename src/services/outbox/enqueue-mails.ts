import { type RawBuilder, sql } from 'kysely';
import type { MailKind } from '../../../entities/outbox-mail.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { tracing } from '../../lib/tracing.ts';

/** The common columns of new mails. A new mail is due at once, and its delivery belongs to the trace of the request that caused it. */
export const newMail = (now: Date) => ({
  createdAt: now,
  nextAttemptAt: now,
  traceparent: tracing.traceparent(),
});

/** SQL: the columns of `newMail`. */
export const NEW_MAIL = sql`created_at, next_attempt_at, traceparent`;

/** SQL: a delay that spreads mails to many people, in the order of this column: one a second, or all within an hour. */
export const spreadBy = (column: string) => sql`(row_number() over (order by ${sql.ref(column)}) - 1)
  * least(interval '1 second', interval '1 hour' / count(*) over ())`;

export const SPREAD = spreadBy('user_id');

/** SQL: the values of `newMail`. @param wait an interval until the mail is due */
export const newMailValues = (now: Date, wait: RawBuilder<unknown> = sql`interval '0'`) => sql`
  ${now}::timestamptz, ${now}::timestamptz + ${wait}, ${tracing.traceparent()}::varchar`;

type InvitationMail = { id: number; client: number; email: string };

/**
 * Invitation mails that one client may send to one address in an hour. Counted by address, because a client admin can revoke an invitation
 * and create another; and by client, because otherwise one client could use up, and so detect, the mails of another.
 */
const MAILS_PER_HOUR = 20;
const RETRY_AFTER_SECONDS = 3_600;

export const tooManyMails = ({ email }: InvitationMail): Problem => {
  const detail = `${email} was mailed ${MAILS_PER_HOUR} invitations by this client within an hour. Try again in an hour.`;
  return new Problem('throttled', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
};

/**
 * Enqueues a mail for each invitation in the transaction that creates or renews it. The caller holds the pending invitation
 * of each client and address (it inserted or locked the row), so two transactions cannot count at the same time.
 * @param operationId the bulk request that sends each invitation once
 * @returns the invitations that exceed the limit and get no mail
 */
export const enqueueInvitationMails = async <T extends InvitationMail>(
  tx: Em,
  invitations: readonly T[],
  now: Date,
  operationId: string | null = null,
): Promise<T[]> => {
  const hourAgo = new Date(now.getTime() - 60 * MINUTE_MS);
  const rows = invitations.map(({ email, client, id }) => ({ email, client, id }));
  const { rows: rejected } = await sql<{ n: number }>`
    with requested as (
      select requested.*, (select count(*) from outbox_mails earlier
        where earlier.kind = 'invitation' and earlier.client_id = requested.client_id
          and earlier.recipient = requested.email and earlier.created_at > ${hourAgo}::timestamptz) as earlier
      from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as (email varchar, client int, id int))
        with ordinality as requested (email, client_id, invitation_id, n)),
    enqueued as (
      insert into outbox_mails (kind, recipient, client_id, invitation_id, operation_id, ${NEW_MAIL})
      select 'invitation', email, client_id, invitation_id, ${operationId}::uuid, ${newMailValues(now)}
      from requested where earlier < ${MAILS_PER_HOUR} order by n)
    select n::int - 1 as n from requested where earlier >= ${MAILS_PER_HOUR} order by n`.execute(kysely(tx));
  return rejected.flatMap(({ n }) => invitations[n] ?? []);
};

/**
 * Whether a bulk request has mailed a person or an invitation. The caller holds the lock of the user or the invitation, so that
 * two transactions cannot both find that it has not.
 */
export const isMailed = async (
  tx: Em,
  operationId: string,
  to: { recipient: string } | { invitation_id: number },
): Promise<boolean> => {
  const mails = kysely(tx).selectFrom('outbox_mails').select('id').where('operation_id', '=', operationId);
  return (await mails.where((row) => row.and(to)).executeTakeFirst()) !== undefined;
};

/** `address`: the address of the request, which the mail mentions. */
type Notice = { userId: number; now: Date; address: string | null };

/** `changeId`: null for a mail without a link. */
type EmailMail = Notice & { changeId: number | null; recipient: string };

/** Enqueues a mail about a change of an address, to the new or the old one. */
export const enqueueEmailMail = async (
  tx: Em,
  kind: 'email-confirmation' | 'email-changed',
  { userId, changeId, recipient, now, address }: EmailMail,
): Promise<void> => {
  await sql`
    insert into outbox_mails (kind, recipient, user_id, email_change_id, request_address, ${NEW_MAIL})
    values (${kind}, ${recipient}, ${userId}, ${changeId}, ${address},
      ${newMailValues(now)})`.execute(kysely(tx));
};

type RequestRow = { id: number; app: string; client: number; user_id: number };

/** Requests for one app within these minutes cause one mail to each admin, who sees all of them in the list. */
export const REQUEST_MAIL_MINUTES = 10;

/** Enqueues a mail to each admin who may decide the request. The app is locked, so that two requests do not both find no earlier mail. */
export const enqueueRequestMails = async (
  tx: Em,
  { id, app, client, user_id: userId }: RequestRow,
  now: Date,
): Promise<void> => {
  const since = new Date(now.getTime() - REQUEST_MAIL_MINUTES * MINUTE_MS);
  await sql`
    insert into outbox_mails
      (kind, recipient, client_id, user_id, access_request_id, ${NEW_MAIL})
    select 'access-requested', u.email, m.client_id, u.id, ${id}::int, ${newMailValues(now)}
    from memberships m join users u on u.id = m.user_id
    where m.client_id = ${client}::int and m.is_admin and m.is_active_member and u.is_active
      and u.id <> ${userId}::int and not exists (
        select from outbox_mails earlier join access_requests r on r.id = earlier.access_request_id
        where earlier.kind = 'access-requested' and earlier.user_id = u.id and r.app_id = ${app}::varchar
          and earlier.created_at > ${since}::timestamptz)
    order by u.id`.execute(kysely(tx));
};

/** Enqueues the mail that informs a person of the decision about their request. */
export const enqueueDecisionMail = async (tx: Em, requestId: number, now: Date): Promise<void> => {
  await sql`
    insert into outbox_mails
      (kind, recipient, client_id, user_id, access_request_id, ${NEW_MAIL})
    select 'access-decided', u.email, a.client_id, u.id, r.id, ${newMailValues(now)}
    from access_requests r join users u on u.id = r.user_id join apps a on a.id = r.app_id
    where r.id = ${requestId}::int`.execute(kysely(tx));
};

/** Enqueues a mail that informs a user about their account. @param isDue SQL over the user */
export const enqueueNotice = async (
  tx: Em,
  kind: MailKind,
  { userId, now, address }: Notice,
  isDue: RawBuilder<boolean> = sql`true`,
): Promise<void> => {
  await sql`
    insert into outbox_mails (kind, recipient, user_id, request_address, ${NEW_MAIL})
    select ${kind}, email, id, ${address}::varchar, ${newMailValues(now)}
    from users where id = ${userId}::int and ${isDue}`.execute(kysely(tx));
};

/**
 * Enqueues the mail that informs a user of a password change. Call it before the new password is set, in the same transaction: setting the
 * first password is not a change.
 */
export const enqueuePasswordNotice = (tx: Em, change: Notice): Promise<void> =>
  enqueueNotice(tx, 'password-changed', change, condition`password_hash is not null`);

/**
 * Enqueues a mail about failed attempts, at most one a day: an attack must not flood the mailbox. Inserts nothing for an unknown or
 * inactive account.
 */
export const enqueueDailyNotice = (tx: Em, kind: 'failed-logins' | 'failed-codes', notice: Notice) => {
  const dayAgo = new Date(notice.now.getTime() - DAY_MS);
  const isFirst = condition`is_active and not exists (select from outbox_mails earlier
    where earlier.user_id = users.id and earlier.kind = ${kind} and earlier.created_at > ${dayAgo})`;
  return enqueueNotice(tx, kind, notice, isFirst);
};
