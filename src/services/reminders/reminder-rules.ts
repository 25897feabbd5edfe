import { type RawBuilder, sql } from 'kysely';
import { condition } from '../../db/kysely.ts';
import { DAY_MS, midnightBefore } from '../../lib/clock.ts';
import { GROUP_ACCESS, hasGlobalRole, opensByRole } from '../access/visibility.ts';
import { isUnseenSince } from '../users/idleness.ts';

/**
 * Who is due for which reminder, in SQL. Used for the mails of the next run and for their previews. Days are UTC days. `r` is a row of
 * `client_reminders`, or one with proposed settings.
 */

/** SQL: the stored settings. */
export const STORED = sql`client_reminders`;

/** After a change of the settings, warned people are warned again, but not earlier than after these days. */
const WARNING_DAYS = 7;

/** SQL: the end of the day that is `days` days after today. Everything that ends before it is due. */
export const horizonOf = (now: Date, days: RawBuilder<unknown>): RawBuilder<Date> =>
  sql`(${midnightBefore(now, -1)}::timestamptz + ${days} * interval '24 hours')`;

/**
 * SQL: a table of the grants of active people whose end takes away an app of an open client. Excludes apps that a role or a group also
 * gives.
 */
export const endingGrants = (now: Date) => sql`(
  select g.user_id, g.app_id, a.client_id, a.label, u.email, u.first_name, u.last_name, g.expires_at, g.reminded_for
  from app_grants g join apps a on a.id = g.app_id join clients c on c.id = a.client_id
    join users u on u.id = g.user_id join memberships m on m.client_id = a.client_id and m.user_id = g.user_id
  where g.expires_at > ${now}::timestamptz and c.is_open and u.is_active and m.is_active_member
    and not ${opensByRole('u', 'm')}
    and not exists (select from ${GROUP_ACCESS} b where b.user_id = g.user_id and b.app_id = g.app_id))`;

/** SQL: the grants `e` that are due for a mail to their people. */
export const dueGrants = (settings: RawBuilder<unknown>, now: Date) => sql`
  select e.* from ${endingGrants(now)} e join ${settings} r on r.client_id = e.client_id
  where r.access_days > 0 and e.reminded_for is distinct from e.expires_at
    -- A bound that is the same for all rows, for the index.
    and e.expires_at < ${horizonOf(now, sql`(select max(access_days) from ${settings} each)`)}
    and e.expires_at < ${horizonOf(now, sql`r.access_days`)}`;

/** SQL: whether a mail to admins of the client of `r` about ending grants is due. Once a day, so that they get one mail. */
export const isReportDue = (now: Date) => condition`(r.access_admins and r.access_days > 0
  and r.access_told_until is distinct from ${horizonOf(now, sql`r.access_days`)}
  and exists (select from ${endingGrants(now)} e where e.client_id = r.client_id
    and e.expires_at >= coalesce(r.access_told_until, '-infinity') and e.expires_at < ${horizonOf(now, sql`r.access_days`)}))`;

/**
 * SQL: the invitations that are due for a reminder. None on the day of another mail of the invitation. None if no mail has arrived:
 * an admin must check the address first.
 */
export const dueInvitations = (settings: RawBuilder<unknown>, now: Date) => sql`
  select i.id, i.client_id, i.email, i.first_name, i.last_name, i.expires_at
  from ${settings} r join clients c on c.id = r.client_id and c.is_open join invitations i on i.client_id = r.client_id
  where r.invitation_days > 0 and i.status = 'pending' and i.reminded_at is null and i.email_count > 0 and i.expires_at > ${now}::timestamptz
    and i.expires_at < ${horizonOf(now, sql`(select max(invitation_days) from ${settings} each)`)}
    and i.expires_at < ${horizonOf(now, sql`r.invitation_days`)}
    and not exists (select from outbox_mails mail where mail.invitation_id = i.id
      and coalesce(mail.sent_at, mail.created_at) >= ${midnightBefore(now, 0)}::timestamptz)`;

/**
 * SQL: whether member `m` has not used the client since a time: has not used its apps, and has neither joined nor been reactivated since.
 * For members of no other client, sessions and tokens count too; otherwise they may be used for another client, which this one must not
 * learn. Each `not exists` is separate, so that PostgreSQL joins many members at once.
 */
export const isInactive = (since: RawBuilder<Date>, users = 'users'): RawBuilder<boolean> => {
  const of = (column: string) => sql.ref(`${users}.${column}`);
  const isOnlyHere = sql`not exists (
    select from memberships other where other.user_id = m.user_id and other.client_id <> m.client_id)`;
  return condition`(${isUnseenSince(since, sql`app_id in (select id from apps where client_id = m.client_id)`, users)}
    and coalesce(m.joined_at < ${since}, true) and coalesce(m.reactivated_at < ${since}, true)
    and coalesce(${of('last_activated')} < ${since}, true)
    and not exists (select from sessions s where s.user_id = m.user_id and s.last_used >= ${since} and ${isOnlyHere})
    and not exists (select from api_tokens t where t.user_id = m.user_id and t.last_used >= ${since} and ${isOnlyHere}))`;
};

/** SQL: whether member `m` may be warned and suspended at all: not people with a role in all clients, and not the last admin. */
export const isSuspendable = (users = 'users'): RawBuilder<boolean> => condition`(
  m.is_active_member and ${sql.ref(`${users}.is_active`)} and not ${hasGlobalRole(users)}
  and (not m.is_admin or exists (select from memberships other join users u on u.id = other.user_id
    where other.client_id = m.client_id and other.user_id <> m.user_id and other.is_admin and other.is_active_member
      and u.is_active and not u.is_superuser and not u.is_staff)))`;

/** SQL: whether a warning of member `m` by `r` is due. */
export const isWarningDue = (now: Date): RawBuilder<boolean> => {
  const since = sql<Date>`(${midnightBefore(now, 0)}::timestamptz - r.inactive_days * interval '24 hours')`;
  const recently = new Date(now.getTime() - WARNING_DAYS * DAY_MS);
  return condition`(r.inactive_days > 0 and ${isSuspendable()}
    and (m.inactivity_warned_at is null
      or m.inactivity_warned_at < r.inactive_since and m.inactivity_warned_at < ${recently}::timestamptz)
    and ${isInactive(since)})`;
};

/**
 * SQL: the members whose suspension is due: they were warned in time, and have not used the client since. Excludes members whose warning is
 * not sent yet.
 * @param members the memberships to look at
 */
export const dueSuspensions = (
  settings: RawBuilder<unknown>,
  now: Date,
  members: RawBuilder<unknown> = sql`memberships`,
) => sql`
  select m.user_id, m.client_id, users.email, users.first_name, users.last_name, m.is_admin, m.inactivity_warned_at
  from ${settings} r join clients c on c.id = r.client_id and c.is_open join ${members} m on m.client_id = r.client_id
    join users on users.id = m.user_id
  where r.inactive_days > 0 and r.suspend_days > 0 and m.inactivity_warned_at >= coalesce(r.inactive_since, '-infinity')
    and m.inactivity_warned_at <= ${now}::timestamptz - r.suspend_days * interval '24 hours'
    and ${isSuspendable()} and ${isInactive(sql`m.inactivity_warned_at`)}
    and not exists (select from outbox_mails mail where mail.user_id = m.user_id and mail.client_id = m.client_id
      and mail.kind = 'inactivity-warning' and mail.sent_at is null and mail.failed_at is null)`;

/** SQL: the admins of the clients in a table `due` with a `client_id`; they get the mails about these clients. */
export const ADMINS_OF_DUE = sql`due join memberships m on m.client_id = due.client_id and m.is_admin and m.is_active_member
  join users u on u.id = m.user_id and u.is_active`;
