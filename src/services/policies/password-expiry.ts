import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { NEW_MAIL, newMailValues, SPREAD } from '../outbox/enqueue-mails.ts';
import { enqueuePolicyNotices } from './factor-notices.ts';

/** Days between the mail about a policy that shortens the life of passwords and the first expiry by it. */
const NOTICE_DAYS = 7;

const TRUE = condition`true`;

/**
 * SQL: when the policy of client `c`, by membership `m`, expires the password of the user. Not before people who were informed of a shorter
 * period had time to change it. `days` replaces the value of the policy, to compute the time before a change.
 */
const expiryByClient = (user: RawBuilder<unknown>, days = sql`c.password_expiration_days`) => sql`
  greatest(${user}.last_password_set + ${days} * interval '24 hours', m.password_expiry_from)`;

/**
 * SQL: when the password of the user expires by the policies of their clients, or of those clients that meet the condition on `c`. Null:
 * never, or not before a reactivation.
 */
export const passwordExpiresAt = (
  user: 'users' | 'person',
  condition: RawBuilder<boolean> = TRUE,
): RawBuilder<Date | null> => sql`
  (select nullif(min(${expiryByClient(sql.table(user))}), 'infinity') from memberships m join clients c on c.id = m.client_id
    where m.user_id = ${sql.table(user)}.id and c.password_expiration_days > 0 and ${condition})`;

const endOfNotice = (now: Date): Date => new Date(now.getTime() + NOTICE_DAYS * DAY_MS);

/** SQL: the value of `password_expiry_from` for users who cannot be informed before they are reactivated. */
const UNTOLD = sql`'infinity'::timestamptz`;

type Shortened = {
  clientIds: readonly number[];
  /** Null means all members. */
  userIds: readonly number[] | null;
  /** `password_expiration_days` of the clients until now; 0 for new members. */
  daysBefore: number;
  /** Whether passwords stay valid for `NOTICE_DAYS` at least. */
  givesNotice: boolean;
  now: Date;
};

/**
 * Mails the active members whose passwords expire sooner by the policy than before; inactive members are informed when they are
 * reactivated. Ignores policies of other clients, which may be shorter: otherwise, an admin could detect them. Run it after the policy or
 * the membership was written, in the same transaction. The mails are spread over up to an hour, so that they do not flood the mail server.
 * A mail that is still queued states the new date too.
 */
export const enqueueExpiryNotices = async (
  tx: Em,
  { clientIds, userIds, daysBefore, givesNotice, now }: Shortened,
): Promise<void> => {
  const expiry = expiryByClient(sql`users`);
  const before = daysBefore === 0 ? sql`'infinity'` : expiryByClient(sql`users`, sql`${daysBefore}::int`);
  await sql`
    with affected as (
      select m.client_id, m.user_id, users.email, users.is_active
      from memberships m join clients c on c.id = m.client_id join users on users.id = m.user_id
      where m.client_id = any(${[...clientIds]}::int[]) and c.password_expiration_days > 0
        and (${userIds === null}::boolean or m.user_id = any(${[...(userIds ?? [])]}::int[]))
        and users.password_hash is not null
        and ${expiry} < ${before}
      -- As all writers of memberships: users first, by id.
      order by users.id for key share of users
    ),
    deferred as (
      update memberships
      set password_expiry_from = case when affected.is_active then ${endOfNotice(now)}::timestamptz else ${UNTOLD} end
      from affected where ${givesNotice}::boolean
        and (memberships.client_id, memberships.user_id) = (affected.client_id, affected.user_id)
    )
    insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
    select 'password-expiry', email, client_id, user_id, ${newMailValues(now, SPREAD)}
    from affected where affected.is_active and not exists (select from outbox_mails queued
      where queued.kind = 'password-expiry' and queued.user_id = affected.user_id
        and queued.client_id = affected.client_id and queued.sent_at is null and queued.failed_at is null)
    order by user_id`.execute(kysely(tx));
};

/** Informs users of the policies of clients that they have joined. */
export const enqueueJoinNotices = async (
  tx: Em,
  userIds: readonly number[],
  clientIds: readonly number[],
  now: Date,
): Promise<void> => {
  if (clientIds.length === 0 || userIds.length === 0) return;
  await enqueueExpiryNotices(tx, { clientIds, userIds, daysBefore: 0, givesNotice: true, now });
  await enqueuePolicyNotices(tx, { clientIds, userIds, now });
};

/** Informs a user who was reactivated of changes while they were inactive. */
export const enqueueReactivationNotice = async (tx: Em, userId: number, now: Date): Promise<void> => {
  await sql`
    with notified as (
      update memberships m set password_expiry_from = ${endOfNotice(now)}::timestamptz
      from users where users.id = m.user_id and m.user_id = ${userId} and m.password_expiry_from = ${UNTOLD}
      returning m.client_id, m.user_id, users.email
    )
    insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
    select 'password-expiry', email, client_id, user_id, ${newMailValues(now)}
    from notified`.execute(kysely(tx));
};
