import { type RawBuilder, sql } from 'kysely';
import { condition } from '../../db/kysely.ts';

/** SQL over `users`, or this alias. Users who never logged in have the earliest time, because an index cannot continue after a null. */
export const lastLoginKey = (users = 'users') =>
  sql`coalesce(${sql.ref(`${users}.last_login`)}, '-infinity'::timestamptz)`;

/**
 * SQL: whether a row of `users`, or of this alias, is idle: has neither logged in nor used an app since the start of the UTC day of
 * this time. New users count as seen when they joined. Members use the index `usage_days_user_id_email_day_index`.
 * @param isCounted the usage that counts: a condition on `app_id`
 */
export const isUnseenSince = (
  since: RawBuilder<Date>,
  isCounted: RawBuilder<unknown>,
  users = 'users',
): RawBuilder<boolean> => condition`
  (${lastLoginKey(users)} < ${since} and ${sql.ref(`${users}.date_joined`)} < ${since} and not exists (
    select from usage_days d where d.user_id = ${sql.ref(`${users}.id`)}
      and d.day >= (${since} at time zone 'UTC')::date and ${isCounted}))`;
