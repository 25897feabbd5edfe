import { type RawBuilder, sql } from 'kysely';
import { endingGrants, isInactive, isSuspendable } from './reminder-rules.ts';
import { type TokenFacts, tokenEnding } from './token-endings.ts';
import { type DigestFacts, digestFacts, mondayBefore } from './weekly-digest.ts';

/** A grant that ends. Mails to admins also name its person. Times are ISO 8601. */
type EndingFacts = { app: string; expires_at: string; user_id?: number; email?: string; name?: string };

/** The facts in mails of reminders. */
export type ReminderFacts = {
  grants?: EndingFacts[];
  /** The number of grants that are not listed. */
  more?: number;
  /** When the invitation expires. */
  expires_at?: string;
  inactive_days?: number;
  /** When the membership will be suspended; null: never. */
  suspends_at?: string | null;
  digest?: DigestFacts;
  token?: TokenFacts;
};

/** Limit of grants in a mail to admins. */
const LISTED = 20;

/** SQL over the aliases of `mailRows`: whether the recipient is an admin of the client. */
const IS_ADMIN = sql`exists (select from memberships m where m.user_id = mail.user_id and m.client_id = mail.client_id
  and m.is_admin and m.is_active_member) and person.is_active`;

const ending = (now: Date) => sql`(
  select json_build_object('grants', json_agg(json_build_object('app', e.label, 'expires_at', e.expires_at)
    order by e.expires_at, e.label))
  from ${endingGrants(now)} e
  where e.user_id = mail.user_id and e.client_id = mail.client_id and e.reminded_for = e.expires_at
    and reminders.access_days > 0 having count(*) > 0)`;

const report = (now: Date) => sql`(
  select json_build_object('more', (max(total) - count(*))::int, 'grants', json_agg(json_build_object('user_id', user_id,
    'email', email, 'name', trim(first_name || ' ' || last_name), 'app', label, 'expires_at', expires_at) order by n))
  from (
    select e.*, row_number() over (order by e.expires_at, e.email, e.label) as n, count(*) over () as total
    from ${endingGrants(now)} e
    where e.client_id = mail.client_id and e.expires_at < (date_trunc('day', mail.created_at at time zone 'UTC') at time zone 'UTC')
      + (reminders.access_days + 1) * interval '24 hours') listed
  where n <= ${LISTED} and reminders.access_admins and reminders.access_days > 0 and ${IS_ADMIN} having count(*) > 0)`;

const warning = sql`(
  select json_build_object('inactive_days', r.inactive_days,
    'suspends_at', mail.created_at + nullif(r.suspend_days, 0) * interval '24 hours')
  from memberships m join client_reminders r on r.client_id = m.client_id
  where m.user_id = mail.user_id and m.client_id = mail.client_id and r.inactive_days > 0
    and coalesce(r.inactive_since, '-infinity') <= mail.created_at
    and ${isSuspendable('person')} and ${isInactive(sql`mail.created_at`, 'person')})`;

const digest = (now: Date) => sql`case when reminders.weekly_digest and ${IS_ADMIN}
  then json_build_object('digest', ${digestFacts(sql`mail.client_id`, mondayBefore(sql`mail.created_at`), now)}) end`;

const invitation = sql`case when reminders.invitation_days > 0
  then json_build_object('expires_at', invitation.expires_at) end`;

/**
 * SQL over the aliases of `mailRows`: the present facts of a mail; null if there is nothing to remind of any more, or if the mail is not a
 * reminder.
 */
export const reminderToday = (now: Date): RawBuilder<ReminderFacts | null> => sql`case mail.kind
  when 'access-ending' then ${ending(now)}
  when 'access-ending-report' then ${report(now)}
  when 'invitation-reminder' then ${invitation}
  when 'inactivity-warning' then ${warning}
  when 'weekly-digest' then ${digest(now)}
  when 'token-ending' then ${tokenEnding(now)} end`;

/** The reminders of clients. */
export const REMINDER_KINDS = sql`('access-ending', 'access-ending-report', 'invitation-reminder', 'inactivity-warning',
  'weekly-digest')`;
