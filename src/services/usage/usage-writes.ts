import { type RawBuilder, sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { LONGEST_WINDOW_DAYS, refreshWindow } from '../apps/usage-windows.ts';
import { ensureMonths, logMonths, RETENTION_LOCK } from './usage-months.ts';

/** An entry as the log stores it. */
export type UsageEntryInput = {
  /** The platform's own id. */
  entryKey: string | null;
  email: string;
  fullName: string;
  action: string;
  actionDescription: string;
  stack: string | null;
  /** JSON. */
  extra: string;
  occurredAt: Date;
};

/** SQL over `usage_entries`: the columns `user_id` and `email` of the entry's total. */
const PERSON = sql`coalesce(usage_entries.user_id, 0) as user_id, case when usage_entries.user_id is null then usage_entries.email else '' end as email`;

/** Held while entries of an app are written, because the rollups of one day depend on the rollups of others. */
export const lockUsage = (appId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`usage of ${appId}`}, 0))`;

/** Adds entries to the log of an app and to its rollups. Returns the number of new ones: entries with the same key and time are skipped. */
export const writeUsage = (em: Em, appId: string, entries: readonly UsageEntryInput[], now: Date) =>
  em.transactional(async (tx) => {
    if (entries.length === 0) return 0;
    const times = entries.map(({ occurredAt }) => occurredAt);
    await ensureMonths(tx, times);
    await lockUsage(appId).execute(kysely(tx));
    const { rows } = await insertWithRollups(appId, insertEntries(appId, entries)).execute(kysely(tx));
    for (const statement of refreshWindow(appId, now)) await statement.execute(kysely(tx));
    return rows[0]?.entries ?? 0;
  });

/** Takes a tenth of the time of a write, so it is omitted for entries without keys. */
const SKIP_DUPLICATES = sql`on conflict (app_id, entry_key, occurred_at) where entry_key is not null do nothing`;

/** Binds one array per column, so that the statement is the same for any number of entries. */
const insertEntries = (appId: string, entries: readonly UsageEntryInput[]) => sql`
  insert into usage_entries
    (app_id, entry_key, user_id, email, full_name, action, action_description, stack, extra, occurred_at)
  select ${appId}, entry_key, (select id from users where users.email = given.email), email, full_name, action,
    action_description, stack, extra, occurred_at
  from unnest(
    ${entries.map(({ entryKey }) => entryKey)}::varchar[], ${entries.map(({ email }) => email)}::varchar[],
    ${entries.map(({ fullName }) => fullName)}::varchar[], ${entries.map(({ action }) => action)}::varchar[],
    ${entries.map(({ actionDescription }) => actionDescription)}::text[],
    ${entries.map(({ stack }) => stack)}::varchar[], ${entries.map(({ extra }) => extra)}::json[],
    ${entries.map(({ occurredAt }) => occurredAt.toISOString())}::timestamptz[])
    as given (entry_key, email, full_name, action, action_description, stack, extra, occurred_at)
  ${entries.some(({ entryKey }) => entryKey !== null) ? SKIP_DUPLICATES : sql``}
  returning ${PERSON}, (occurred_at at time zone 'UTC')::date as day, stack`;

/**
 * Recomputes the rollups of an app from its log, in one transaction that blocks writes to this app. Rollups of days before the first month
 * of the log stay unchanged.
 */
export const rebuildUsage = (em: Em, appId: string, now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    const db = kysely(tx);
    // The timeouts are meant for requests.
    await sql`set local statement_timeout = 0`.execute(db);
    await sql`set local lock_timeout = 0`.execute(db);
    // If a month were dropped meanwhile, its rollups would be lost.
    await sql`select pg_advisory_xact_lock(${RETENTION_LOCK})`.execute(db);
    await ensureMonths(tx, await logMonths(tx));
    await lockUsage(appId).execute(db);
    const [first] = await logMonths(tx);
    if (!first) return;

    for (const table of ['usage_days', 'usage_app_days', 'usage_stack_days']) {
      await sql`
        delete from ${sql.table(table)} where app_id = ${appId} and day >= ${first}::date`.execute(db);
    }
    await sql`
      insert into usage_days (app_id, user_id, email, day, actions)
      select app_id, ${PERSON}, (occurred_at at time zone 'UTC')::date, count(*)
      from usage_entries where app_id = ${appId} group by 1, 2, 3, 4`.execute(db);
    // Totals by user go back further than a short log, so the absences before its first days are correct.
    await sql`
      insert into usage_app_days (app_id, day, actions, retention_histogram)
      select ${appId}, day, sum(actions), ${retentionHistogram}
      from (
        -- Grouped first: retention_histogram looks at each row 90 times.
        select day, away, sum(actions) as actions, count(*) as people from (
          select day, actions,
            ${daysSinceVisit(sql`day`, sql`lag(day) over (partition by user_id, email order by day)`)} as away
          from usage_days where app_id = ${appId}
        ) as people group by day, away
      ) as days where day >= ${first}::date group by day`.execute(db);
    await sql`
      insert into usage_stack_days (app_id, day, stack, actions)
      select app_id, (occurred_at at time zone 'UTC')::date, stack, count(*)
      from usage_entries where app_id = ${appId} and stack is not null group by 1, 2, 3`.execute(db);
    for (const statement of refreshWindow(appId, now)) await statement.execute(db);
  });

const PLACES = Array.from({ length: LONGEST_WINDOW_DAYS }, (_, index) => index + 1);
const LONGEST = sql.lit(LONGEST_WINDOW_DAYS);

/** Days since the user's previous day, at most 90; 90 for the user's first day. */
const daysSinceVisit = (day: RawBuilder<unknown>, before: RawBuilder<unknown>) =>
  sql`coalesce(least(${day} - ${before}, ${LONGEST}), ${LONGEST})`;

/** `retention_histogram` of rows with the number of `people` that had been `away` for a number of days. */
const retentionHistogram = sql`array[${sql.join(
  PLACES.map((place) => sql`coalesce(sum(people) filter (where away >= ${sql.lit(place)}), 0)::int`),
)}]`;

/**
 * Runs `written` (an `insert … returning user_id, email, day, stack` for one app) and adds its rows to the totals by user, app and
 * stack of each day. Requires the lock of the app. Returns the number of entries.
 *
 * A new day of a user falls between two other days of theirs. An absence (`away`) precedes it, and it shortens the absence
 * that precedes the later one. Only the nearest days count, and only within a window.
 */
const insertWithRollups = (appId: string, written: RawBuilder<unknown>) => sql<{ entries: number }>`
    with written as (${written}),
    days as (select user_id, email, day, count(*)::int as actions from written group by user_id, email, day),
    into_days as (
      insert into usage_days (app_id, user_id, email, day, actions)
      select ${appId}, user_id, email, day, actions from days
      on conflict (app_id, user_id, email, day) do update set actions = usage_days.actions + excluded.actions
      returning user_id, email, day, actions
    ),
    -- A day that had actions before has more than were added now.
    new_days as (select user_id, email, day from into_days join days using (user_id, email, day, actions)),
    neighbours as (
      select user_id, email, day, false as is_new, bool_or(is_next) as is_next from (
        select new.user_id, new.email, before.day, false as is_next from new_days new cross join lateral (
          select day from usage_days known
          where app_id = ${appId} and user_id = new.user_id and email = new.email and day < new.day and day > new.day - ${LONGEST}
          order by day desc limit 1) before
        union all
        select new.user_id, new.email, next.day, true from new_days new cross join lateral (
          select day from usage_days known
          where app_id = ${appId} and user_id = new.user_id and email = new.email and day > new.day and day < new.day + ${LONGEST}
          order by day limit 1) next
      ) as near group by user_id, email, day
    ),
    around as (
      select user_id, email, day, is_new, is_next,
        lag(day) over person as previous,
        max(day) filter (where not is_new)
          over (person rows between unbounded preceding and 1 preceding) as previous_before
      from (select user_id, email, day, true as is_new, false as is_next from new_days
            union all select user_id, email, day, is_new, is_next from neighbours) as both_kinds
      window person as (partition by user_id, email order by day)
    ),
    absences as (
      select day, away, sum(people) as people from (
        select day, ${daysSinceVisit(sql`day`, sql`previous`)} as away, 1 as people from around where is_new or is_next
        union all
        select day, ${daysSinceVisit(sql`day`, sql`previous_before`)}, -1 from around where is_next
      ) as changes group by day, away
    ),
    into_app_days as (
      insert into usage_app_days (app_id, day, actions, retention_histogram)
      select ${appId}, coalesce(counted.day, met.day), coalesce(counted.actions, 0),
        coalesce(met.retention_histogram, array_fill(0, array[${LONGEST}]))
      from (select day, sum(actions) as actions from days group by day) as counted
      full join (select day, ${retentionHistogram} as retention_histogram from absences group by day) as met using (day)
      on conflict (app_id, day) do update set
        actions = usage_app_days.actions + excluded.actions,
        retention_histogram = array(
          select a + b from unnest(usage_app_days.retention_histogram, excluded.retention_histogram) with ordinality as sums (a, b, place)
          order by place)
    ),
    into_stack_days as (
      insert into usage_stack_days (app_id, day, stack, actions)
      select ${appId}, day, stack, count(*) from written where stack is not null group by day, stack
      on conflict (app_id, day, stack) do update set actions = usage_stack_days.actions + excluded.actions
    )
    select count(*)::int as entries from written`;
