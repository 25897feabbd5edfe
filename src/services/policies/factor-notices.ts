import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { NEW_MAIL, newMailValues, SPREAD } from '../outbox/enqueue-mails.ts';
import { graceEnd, lackingFrom } from './factor-policy.ts';

/** Days before the end of the grace period at which members without a second factor are reminded. */
const REMINDER_DAYS = 3;

type Notice = { kind: 'second-factor-required' | 'second-factor-reminder'; now: Date };

/** Mails the active members `m` of clients `c` who lack the factor that the clients require, unless such a mail is queued. */
const enqueue = async (tx: Em, { kind, now }: Notice, isWanted: RawBuilder<unknown>): Promise<void> => {
  await sql`
    insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
    select ${kind}::varchar, email, client_id, user_id, ${newMailValues(now, SPREAD)}
    from (
      select users.email, m.client_id, m.user_id
      from memberships m join clients c on c.id = m.client_id join users on users.id = m.user_id
      where c.factor_mails and m.is_active_member and users.is_active and ${lackingFrom('users')} is not null and ${isWanted}
        and not exists (select from outbox_mails queued
          where queued.kind = ${kind} and queued.user_id = m.user_id and queued.client_id = m.client_id
            and queued.sent_at is null and queued.failed_at is null)
    ) affected order by user_id`.execute(kysely(tx));
};

/** `userIds`: null means all. */
type Members = { clientIds: readonly number[]; userIds: readonly number[] | null; now: Date };

/**
 * Informs members without a second factor of the policies of these clients, in the transaction that has written the policies or the
 * memberships.
 */
export const enqueuePolicyNotices = (tx: Em, { clientIds, userIds, now }: Members): Promise<void> =>
  enqueue(
    tx,
    { kind: 'second-factor-required', now },
    sql`m.client_id = any(${[...clientIds]}::int[])
      and (${userIds === null}::boolean or m.user_id = any(${[...(userIds ?? [])]}::int[]))`,
  );

/** Reminds members whose grace period ends soon, once per policy, and not on the day on which they were informed. */
export const enqueuePolicyReminders = (em: Em, now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    // Instances remind one after another, so that each sees the mails of the others.
    const lock = sql`select pg_advisory_xact_lock(hashtextextended('reminders of second factors', 0))`;
    await lock.execute(kysely(tx));
    const within = new Date(now.getTime() + REMINDER_DAYS * DAY_MS);
    const dayAgo = new Date(now.getTime() - DAY_MS);
    await enqueue(
      tx,
      { kind: 'second-factor-reminder', now },
      sql`${graceEnd()} between ${now}::timestamptz and ${within}::timestamptz
        and not exists (select from outbox_mails earlier
          where earlier.user_id = m.user_id and earlier.client_id = m.client_id
            and (earlier.kind = 'second-factor-reminder' and earlier.created_at >= c.factor_policy_since
              or earlier.kind = 'second-factor-required' and earlier.created_at > ${dayAgo}::timestamptz))`,
    );
  });
