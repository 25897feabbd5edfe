import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { NEW_MAIL, newMailValues, spreadBy } from '../outbox/enqueue-mails.ts';
import {
  ADMINS_OF_DUE,
  dueGrants,
  dueInvitations,
  horizonOf,
  isReportDue,
  isWarningDue,
  STORED,
} from './reminder-rules.ts';

/**
 * Functions that enqueue the mails that are due. Each batch stamps its rows in the statement that enqueues their mails: a crash neither
 * loses nor repeats a mail. Two instances may run at the same time:
 *
 *     A: finds grant 1, locks it, stamps it, enqueues its mail, commits
 *     B: finds grant 1, and skips it: it is locked, or its stamp has changed
 *
 * Users are locked together with their rows, because the foreign key of their mail locks them anyway. Nothing waits for a lock: the next
 * run finds the skipped rows.
 */

/** Rows per transaction. */
const BATCH = 1_000;

type Batch = { em: Em; now: Date; signal?: AbortSignal | undefined };

/** Runs a statement that returns the number of its rows, until it finds fewer rows than a batch. */
const inBatches = async ({ em, signal }: Batch, statement: RawBuilder<{ count: number }>): Promise<void> => {
  for (let count = BATCH; count >= BATCH; ) {
    signal?.throwIfAborted();
    const { rows } = await statement.execute(kysely(em));
    count = rows[0]?.count ?? 0;
  }
};

/** Mails people which of their grants end soon, one mail per client. Once a day, also mails the admins who want to know. */
export const enqueueAccessReminders = async (batch: Batch): Promise<void> => {
  const { em, now } = batch;
  await inBatches(
    batch,
    sql`
    with due as materialized (
      select user_id, app_id, client_id, email, expires_at from (${dueGrants(STORED, now)}) each
      -- All that end at the same time for a person are in one batch.
      order by expires_at, user_id fetch first ${sql.lit(BATCH)} rows with ties),
    locked as materialized (
      select g.user_id, g.app_id from due
        join app_grants g on g.user_id = due.user_id and g.app_id = due.app_id and g.expires_at = due.expires_at
        join users u on u.id = g.user_id
      where g.reminded_for is distinct from g.expires_at
      order by g.user_id, g.app_id for update of g skip locked for key share of u skip locked),
    stamped as (
      update app_grants g set reminded_for = g.expires_at from locked
      where g.user_id = locked.user_id and g.app_id = locked.app_id returning g.user_id, g.app_id),
    enqueued as (
      insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
      select 'access-ending', email, client_id, user_id, ${newMailValues(now, spreadBy('user_id'))}
      from (select distinct client_id, user_id, email from due join stamped using (user_id, app_id)) people
      order by user_id)
    select count(*)::int as count from stamped`,
  );
  await sql`
    with due as materialized (
      select r.client_id from client_reminders r where ${isReportDue(now)} for update of r skip locked),
    stamped as (
      update client_reminders r set access_told_until = ${horizonOf(now, sql`r.access_days`)} from due
      where r.client_id = due.client_id)
    insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
    select 'access-ending-report', u.email, m.client_id, u.id, ${newMailValues(now)}
    from ${ADMINS_OF_DUE} order by u.id`.execute(kysely(em));
};

/** Reminds people of invitations that expire soon. */
export const enqueueInvitationReminders = (batch: Batch): Promise<void> =>
  inBatches(
    batch,
    sql`
    with due as materialized (
      select id from (${dueInvitations(STORED, batch.now)}) each order by expires_at, id limit ${BATCH}),
    locked as materialized (
      select i.id from due join invitations i on i.id = due.id
      where i.reminded_at is null and i.status = 'pending' and i.expires_at > ${batch.now}::timestamptz
      order by i.id for update of i skip locked),
    stamped as (
      update invitations i set reminded_at = ${batch.now}::timestamptz from locked where i.id = locked.id
      returning i.id, i.email, i.client_id),
    enqueued as (
      insert into outbox_mails (kind, recipient, client_id, invitation_id, ${NEW_MAIL})
      select 'invitation-reminder', email, client_id, id, ${newMailValues(batch.now, spreadBy('id'))}
      from stamped order by id)
    select count(*)::int as count from stamped`,
  );

type Page = { last: number | null };

/** Warns the inactive members of a client. Reads its members in batches, by id. */
export const enqueueInactivityWarnings = async ({ em, now, signal }: Batch, client: number) => {
  for (let after: number | null = 0; after !== null; ) {
    signal?.throwIfAborted();
    const { rows }: { rows: Page[] } = await sql<Page>`
      with page as materialized (
        select client_id, user_id from memberships where client_id = ${client} and user_id > ${after}
        order by user_id limit ${BATCH}),
      due as materialized (
        select m.user_id, m.client_id, users.email
        from page join memberships m on m.client_id = page.client_id and m.user_id = page.user_id
          join users on users.id = m.user_id join client_reminders r on r.client_id = m.client_id
        where ${isWarningDue(now)} order by m.user_id
        for update of m skip locked for key share of users skip locked),
      stamped as (
        update memberships m set inactivity_warned_at = ${now}::timestamptz from due
        where m.client_id = due.client_id and m.user_id = due.user_id),
      enqueued as (
        insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
        select 'inactivity-warning', email, client_id, user_id, ${newMailValues(now, spreadBy('user_id'))}
        from due order by user_id)
      select max(user_id) as last from page`.execute(kysely(em));
    after = rows[0]?.last ?? null;
  }
};
