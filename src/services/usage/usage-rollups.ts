import { type RawBuilder, sql } from 'kysely';

/** `retention_histogram` looks back as far as the longest window, see entities/usage-totals.ts. */
export const LONGEST_WINDOW_DAYS = 90;

const PLACES = Array.from({ length: LONGEST_WINDOW_DAYS }, (_, index) => index + 1);
const LONGEST = sql.lit(LONGEST_WINDOW_DAYS);

/** Days since the user's previous day, at most 90; 90 for the user's first day. */
export const daysSinceVisit = (day: RawBuilder<unknown>, before: RawBuilder<unknown>) =>
  sql`coalesce(least(${day} - ${before}, ${LONGEST}), ${LONGEST})`;

/** `retention_histogram` of rows with the number of `people` that had been `away` for a number of days. */
export const retentionHistogram = sql`array[${sql.join(
  PLACES.map((place) => sql`coalesce(sum(people) filter (where away >= ${sql.lit(place)}), 0)::int`),
)}]`;

/**
 * Runs `written` (an `insert … returning email, day, stack` for one app) and adds its rows to the totals by user, app and
 * stack of each day. Requires the lock of the app. Returns the number of entries.
 *
 * A new day of a user falls between two other days of theirs. An absence (`away`) precedes it, and it shortens the absence
 * that precedes the later one. Only the nearest days count, and only within a window.
 */
export const insertWithRollups = (appId: string, written: RawBuilder<unknown>) => sql<{ entries: number }>`
    with written as (${written}),
    days as (select email, day, count(*)::int as actions from written group by email, day),
    into_days as (
      insert into usage_days (app_id, email, day, actions)
      select ${appId}, email, day, actions from days
      on conflict (app_id, email, day) do update set actions = usage_days.actions + excluded.actions
      returning email, day, actions
    ),
    -- A day that had actions before has more than were added now.
    new_days as (select email, day from into_days join days using (email, day, actions)),
    neighbours as (
      select email, day, false as is_new, bool_or(is_next) as is_next from (
        select new.email, before.day, false as is_next from new_days new cross join lateral (
          select day from usage_days known
          where app_id = ${appId} and email = new.email and day < new.day and day > new.day - ${LONGEST}
          order by day desc limit 1) before
        union all
        select new.email, next.day, true from new_days new cross join lateral (
          select day from usage_days known
          where app_id = ${appId} and email = new.email and day > new.day and day < new.day + ${LONGEST}
          order by day limit 1) next
      ) as near group by email, day
    ),
    around as (
      select email, day, is_new, is_next,
        lag(day) over person as previous,
        max(day) filter (where not is_new)
          over (person rows between unbounded preceding and 1 preceding) as previous_before
      from (select email, day, true as is_new, false as is_next from new_days
            union all select email, day, is_new, is_next from neighbours) as both_kinds
      window person as (partition by email order by day)
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
