import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { REMINDER_KINDS } from '../reminders/reminder-facts.ts';
import { type MailContext, needsLink } from './mail-context.ts';

/** An arbitrary key for the advisory lock, the same in every instance. */
const RATE_LIMIT_LOCK = 7_305_130_502;

/** `perMinute`: delivery attempts of all instances together in any minute; 0 means no limit. */
type DueOptions = { now: Date; limit: number; perMinute: number };

/**
 * Locks mails that are due: password mails first, then notices, then invitations. A transaction that holds a mail must not wait for other
 * locks: a change of a person holds the person while it waits for their mails.
 * @returns their ids
 */
export const lockDue = async (tx: Em, options: DueOptions): Promise<number[]> => {
  // Under the lock, the next statement sees the claims of the other instances.
  if (options.perMinute > 0)
    await sql`select pg_advisory_xact_lock(${RATE_LIMIT_LOCK}::bigint)`.execute(kysely(tx));
  const isUrgent = sql`(kind = 'invitation') is false and not ${isNotice}`;
  const urgent = await lockInOrder(tx, options, [], isUrgent);
  return urgent.length === options.limit
    ? urgent
    : [...urgent, ...(await lockInOrder(tx, options, urgent, sql`true`))];
};

/** Nobody is waiting for these mails. A change of a policy enqueues one for each member of a client. */
const isNotice = sql`(kind in ('password-expiry', 'failed-logins', 'failed-codes', 'access-requested', 'access-decided',
  'second-factor-required', 'second-factor-reminder', 'webhook-disabled') or kind in ${REMINDER_KINDS})`;

/** Locks due mails in the order of their index, except mails that others have locked. */
const lockInOrder = async (
  tx: Em,
  { now, limit, perMinute }: DueOptions,
  locked: readonly number[],
  condition: RawBuilder<unknown>,
): Promise<number[]> => {
  const minuteAgo = new Date(now.getTime() - MINUTE_MS);
  const isRateLimited = perMinute > 0;
  const left = sql`${limit - locked.length}::int`;
  // A row stores only its last attempt: two attempts within a minute would count once.
  const hasNoRecentAttempt = isRateLimited
    ? sql`(last_attempt_at is null or last_attempt_at <= ${minuteAgo}::timestamptz)`
    : sql`true`;
  const availableSlots = isRateLimited
    ? sql`(select greatest(0, least(${left}, ${perMinute - locked.length}::int - count(*))) from outbox_mails
        where ${isRecentAttempt(now)})`
    : left;
  const { rows } = await sql<{ id: number }>`
    select id from outbox_mails
    where sent_at is null and failed_at is null and next_attempt_at <= ${now}::timestamptz
      and not ${needsLink} and ${hasNoRecentAttempt} and ${condition} and id <> all(${[...locked]}::bigint[])
    order by (kind = 'invitation'), next_attempt_at, id
    limit ${availableSlots}
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

/** When the next mail can be sent, by its schedule and the rate limit; null if none is queued. */
export const nextDue = async (em: Em, now: Date, perMinute: number): Promise<Date | null> => {
  const queued = sql`outbox_mails where sent_at is null and failed_at is null`;
  // Each half of the index is ordered by time.
  const { rows } = await sql<{ due: Date | null }>`
    select case when due is not null then greatest(due, (
      select case when ${perMinute}::int between 1 and count(*) then min(last_attempt_at) + interval '1 minute' end
      from outbox_mails where ${isRecentAttempt(now)})) end as due
    from (select least(
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is false),
      (select min(next_attempt_at) from ${queued} and (kind = 'invitation') is true)
    ) as due) next`.execute(kysely(em));
  return rows[0]?.due ?? null;
};

const isRecentAttempt = (now: Date) =>
  sql`last_attempt_at > ${new Date(now.getTime() - MINUTE_MS)}::timestamptz`;

/** The longest pause between two attempts. */
export const MAX_BACKOFF_MS = 240 * MINUTE_MS;

/** Marks obsolete mails as failed. They were not sent, so they do not count against the rate limit. Skips mails that others have locked. */
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
