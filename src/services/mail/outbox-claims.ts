import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { REMINDER_KINDS } from '../reminders/reminder-facts.ts';
import { type MailContext, needsLink } from './mail-context.ts';

type DueOptions = { now: Date; limit: number };

/**
 * Locks mails that are due: password mails first, then notices, then invitations. A transaction that holds a mail must not wait for other
 * locks: a change of a person holds the person while it waits for their mails.
 * @returns their ids
 */
export const lockDue = async (tx: Em, options: DueOptions): Promise<number[]> => {
  const isUrgent = sql`(kind = 'invitation') is false and not ${isNotice}`;
  const urgent = await lockInOrder(tx, options, [], isUrgent);
  return urgent.length === options.limit
    ? urgent
    : [...urgent, ...(await lockInOrder(tx, options, urgent, sql`true`))];
};

/** No one is waiting for these mails. A change of a policy enqueues one for each member of a client. */
const isNotice = sql`(kind in ('password-expiry', 'failed-logins', 'failed-codes', 'access-requested', 'access-decided',
  'second-factor-required', 'second-factor-reminder', 'webhook-disabled', 'viewed-as', 'directory-held') or kind in ${REMINDER_KINDS})`;

/** Locks due mails in the order of their index, except mails that others have locked. */
const lockInOrder = async (
  tx: Em,
  { now, limit }: DueOptions,
  locked: readonly number[],
  condition: RawBuilder<unknown>,
): Promise<number[]> => {
  const { rows } = await sql<{ id: number }>`
    select id from outbox_mails
    where sent_at is null and failed_at is null and next_attempt_at <= ${now}::timestamptz
      and not ${needsLink} and ${condition} and id <> all(${[...locked]}::bigint[])
    order by (kind = 'invitation'), next_attempt_at, id
    limit ${limit - locked.length}::int
    for update skip locked`.execute(kysely(tx));
  return rows.map(({ id }) => id);
};

type ClaimOptions = {
  now: Date;
  leaseMs: number;
  /** The address in the mail's `From`. */
  senderOf: (mail: MailContext) => string;
};

/**
 * Claims these locked mails for the length of a lease, and stores the variables to be written into them: a later erasure finds these, and
 * an earlier one has replaced the person. If a worker dies, its mails become due again. One statement: if a transaction changes a mail
 * twice, PostgreSQL checks its foreign keys again, and so locks the user and the client.
 */
export const claimMails = async (
  tx: Em,
  mails: readonly MailContext[],
  { now, leaseMs, senderOf }: ClaimOptions,
): Promise<MailContext[]> => {
  const leaseEnd = new Date(now.getTime() + leaseMs);
  const rows = mails.map((mail) => ({
    id: mail.id,
    variables: { ...mail.variables, default_from_email: senderOf(mail) },
  }));
  await sql`
    update outbox_mails set attempts = attempts + 1, last_error = null, last_attempt_at = ${now}::timestamptz,
      next_attempt_at = ${leaseEnd}::timestamptz, variables = claimed.variables
    from json_to_recordset(${JSON.stringify(rows)}::json) as claimed (id bigint, variables jsonb)
    where outbox_mails.id = claimed.id`.execute(kysely(tx));
  return mails.map((mail) => ({
    ...mail,
    attempts: mail.attempts + 1,
    last_error: null,
    last_attempt_at: now,
    written_at: now,
    next_attempt_at: leaseEnd,
  }));
};

/** When the next mail is due; null if none is queued. */
export const nextDue = async (em: Em): Promise<Date | null> => {
  const queued = sql`outbox_mails where sent_at is null and failed_at is null`;
  // Each half of the index is ordered by time.
  const { rows } = await sql<{ due: Date | null }>`
    select least(
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is false),
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is true)
    ) as due`.execute(kysely(em));
  return rows[0]?.due ?? null;
};

/** The longest pause between two attempts. */
export const MAX_BACKOFF_MS = 240 * MINUTE_MS;

/** Marks obsolete mails as failed. Skips mails that others have locked. */
export const failObsolete = async (tx: Em, mails: readonly { id: number; reason: string }[], now: Date) => {
  if (mails.length === 0) return;
  await sql`
    update outbox_mails set failed_at = ${now}::timestamptz, last_error = ended.reason, last_attempt_at = null
    from (
      select mail.id, ended.reason from outbox_mails mail
      join unnest(${mails.map(({ id }) => id)}::bigint[], ${mails.map(({ reason }) => reason)}::text[])
        as ended (id, reason) on ended.id = mail.id
      for update of mail skip locked
    ) as ended
    where outbox_mails.id = ended.id and sent_at is null and failed_at is null`.execute(kysely(tx));
};
