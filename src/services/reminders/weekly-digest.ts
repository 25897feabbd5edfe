import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { midnightBefore } from '../../lib/clock.ts';
import { isUnusedSince, UNUSED_DAYS } from '../apps/app-rows.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import { ADMINS_OF_DUE, endingGrants } from './reminder-rules.ts';

/** The facts of a digest about a client. They name apps, but no people. */
export type DigestFacts = {
  new_people: number;
  left_people: number;
  ending_grants: number;
  waiting_invitations: number;
  /** The bounced ones among these. */
  bounced_invitations: number;
  waiting_requests: number;
  used_apps: { label: string; actions: number }[];
  unused_apps: string[];
};

const WEEK = sql`interval '168 hours'`;
const SHOWN_APPS = 3;

/** Midnight UTC of the Monday on or before this time: the week before has ended, and its digest is due. */
export const mondayOf = (now: Date): Date => midnightBefore(now, (now.getUTCDay() + 6) % 7);

/** SQL: `mondayOf`. */
export const mondayBefore = (at: RawBuilder<unknown>): RawBuilder<Date> =>
  sql`(date_trunc('week', ${at} at time zone 'UTC') at time zone 'UTC')`;

/** SQL: what happened in a client in the seven days before a time, and what is due in the next seven. */
export const digestFacts = (client: RawBuilder<number>, until: RawBuilder<Date>, now: Date) => {
  const isWithin = (at: RawBuilder<unknown>) => sql`${at} >= ${until} - ${WEEK} and ${at} < ${until}`;
  const isPresent = sql`m.client_id = ${client} and m.is_active_member and u.is_active`;
  const count = (rows: RawBuilder<unknown>) => sql`(select count(*) from ${rows})`;
  const waiting = sql`invitations i where i.client_id = ${client} and i.status = 'pending'
    and i.expires_at > ${now}::timestamptz`;
  const day = (at: RawBuilder<unknown>) => sql`((${at}) at time zone 'UTC')::date`;
  return sql<DigestFacts>`json_build_object(
    'new_people', ${count(sql`memberships m join users u on u.id = m.user_id
      where ${isPresent} and ${isWithin(sql`m.joined_at`)}`)},
    'left_people', (select count(distinct left_entry.target_id) from audit_entries left_entry
      where left_entry.action in ('membership.suspend', 'membership.remove', 'user.deactivate')
        and ${isWithin(sql`left_entry.occurred_at`)} and ${client} = any(left_entry.client_ids)
        and not exists (select from memberships m join users u on u.id = m.user_id
          where u.id::text = left_entry.target_id and ${isPresent})),
    'ending_grants', ${count(sql`${endingGrants(now)} e
      where e.client_id = ${client} and e.expires_at < ${until} + ${WEEK}`)},
    'waiting_invitations', ${count(waiting)},
    'bounced_invitations', ${count(sql`${waiting} and (select mail.failed_at is not null from outbox_mails mail
      where mail.invitation_id = i.id order by mail.id desc limit 1)`)},
    'waiting_requests', ${count(sql`access_requests q join apps a on a.id = q.app_id
      where q.status = 'pending' and a.client_id = ${client}`)},
    'used_apps', coalesce((select json_agg(used) from (
      select a.label, sum(d.actions)::bigint as actions from apps a join usage_app_days d on d.app_id = a.id
      where a.client_id = ${client} and d.day >= ${day(sql`${until} - ${WEEK}`)} and d.day < ${day(until)} and d.actions > 0
      group by a.id order by actions desc, a.label limit ${SHOWN_APPS}) used), '[]'),
    'unused_apps', coalesce((select json_agg(label order by label) from apps
      where client_id = ${client} and ${isUnusedSince(sql`(${day(until)} - ${UNUSED_DAYS}::int)`)}), '[]'))`;
};

/** SQL: whether facts are worth a mail. Unused apps alone are not news. */
export const hasNews = (facts: RawBuilder<DigestFacts>): RawBuilder<boolean> => {
  const numbers = ['new_people', 'left_people', 'ending_grants', 'waiting_invitations', 'waiting_requests'];
  const sum = sql.join(
    numbers.map((name) => sql`(${facts} ->> ${sql.lit(name)})::int`),
    sql` + `,
  );
  return condition`(${sum} > 0 or json_array_length(${facts} -> 'used_apps') > 0)`;
};

/** Mails the digest of last week to the admins of each client that has turned it on, once a week, from Monday on. */
export const enqueueDigests = async (em: Em, now: Date, signal?: AbortSignal): Promise<void> => {
  const monday = mondayOf(now);
  const isDue = condition`r.weekly_digest and c.is_open and (r.digest_for is null or r.digest_for < ${monday}::timestamptz)`;
  const clients = await kysely(em)
    .selectFrom('client_reminders as r')
    .innerJoin('clients as c', 'c.id', 'r.client_id')
    .select('c.id')
    .where(isDue)
    .orderBy('c.id')
    .execute();
  for (const { id } of clients) {
    signal?.throwIfAborted();
    // The row is stamped in the transaction that enqueues: another instance skips it while it is locked, and then finds it stamped.
    await sql`
      with due as materialized (
        select r.client_id from client_reminders r join clients c on c.id = r.client_id
        where r.client_id = ${id} and ${isDue} for update of r skip locked),
      stamped as (
        update client_reminders set digest_for = ${monday}::timestamptz from due
        where client_reminders.client_id = due.client_id),
      news as materialized (
        select ${digestFacts(sql`due.client_id`, sql`${monday}::timestamptz`, now)} as facts from due)
      insert into outbox_mails (kind, recipient, client_id, user_id, ${NEW_MAIL})
      select 'weekly-digest', u.email, m.client_id, u.id, ${newMailValues(now)}
      from ${ADMINS_OF_DUE} join news on ${hasNews(sql`news.facts`)} order by u.id`.execute(kysely(em));
  }
};
