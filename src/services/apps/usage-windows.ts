import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';

const WINDOW_DAYS = [30, 60, 90] as const;
/** `retention_histogram` looks back as far, see entities/usage.ts. */
export const LONGEST_WINDOW_DAYS = 90;

/** The last 30, 60 and 90 days: each window contains the shorter ones. Empty for those who may not see usage. */
export type UsageWindows = Partial<
  Record<`${(typeof WINDOW_DAYS)[number]}`, { actions: number; users: number }>
>;

const WINDOWS_JSON = `{${WINDOW_DAYS.map((days) => `"${days}":{"actions":%s,"users":%s}`)}}`;

/**
 * From `usage_windows` joined to apps, which has no row for apps that were never used. The text of the JSON has no spaces, as
 * that of all responses.
 */
export const usageWindows = (isVisible: RawBuilder<boolean>) => {
  const counts = WINDOW_DAYS.flatMap((days) => [`actions${days}`, `users${days}`]);
  const values = counts.map((count) => sql`coalesce(${sql.ref(count)}, 0)`);
  return sql<UsageWindows>`
    case when ${isVisible} then format(${sql.lit(WINDOWS_JSON)}, ${sql.join(values)})::json else '{}' end`;
};

/** `YYYY-MM-DD` in UTC */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/**
 * Whether a window is of a day that is not possible, because the clock was ahead when it was computed. Tomorrow is possible,
 * for an instance that is past midnight already.
 */
export const isFutureWindow = (today: string, day: RawBuilder<unknown> = sql`usage_windows.day`) =>
  condition`${day} > ${today}::date + 1`;

/** Whether the row of `usage_windows` has to be computed again: it is of an earlier day, or of the future. */
export const isStaleWindow = (today: string) =>
  condition`(usage_windows.day < ${today}::date or ${isFutureWindow(today)})`;

/** Computes windows from 90 rows per app. They never move back a day, even if instances disagree about midnight. */
const upsertWindows = (appIds: readonly string[], now: Date) => sql`
  insert into usage_windows (app_id, day, actions30, users30, actions60, users60, actions90, users90)
  select apps.app_id, today, ${sql.join(
    WINDOW_DAYS.flatMap((window) =>
      // A user counts on their first day in the window.
      [sql`days.actions`, sql`days.retention_histogram[${sql.lit(window)} - (today - days.day)]`].map(
        (counted) => sql`coalesce(sum(${counted}) filter (where today - days.day < ${sql.lit(window)}), 0)`,
      ),
    ),
  )}
  from (
    select id as app_id, case when ${isFutureWindow(dayOf(now), sql`known.day`)} then ${dayOf(now)}::date
      else greatest(known.day, ${dayOf(now)}::date) end as today
    from unnest(${[...appIds]}::varchar[]) as id left join usage_windows known on known.app_id = id
  ) as apps
  left join usage_app_days days on days.app_id = apps.app_id and days.day > today - ${sql.lit(LONGEST_WINDOW_DAYS)} and days.day <= today
  group by apps.app_id, today
  on conflict (app_id) do update set (day, actions30, users30, actions60, users60, actions90, users90) = (
    excluded.day, excluded.actions30, excluded.users30, excluded.actions60, excluded.users60,
    excluded.actions90, excluded.users90)`;

/**
 * Statements to run after a write, under the lock of the app. The first locks the row, so that a reader cannot move the window
 * to the next day between the two.
 */
export const refreshWindow = (appId: string, now: Date) => [
  sql`select from usage_windows where app_id = ${appId} for update`,
  sql`${upsertWindows([appId], now)} where usage_windows.day <= excluded.day or ${isStaleWindow(dayOf(now))}`,
];

/** Computes stale windows for the current day. Waits for concurrent writers first, so that their entries are counted. */
export const refreshStaleWindows = (em: Em, appIds: readonly string[], now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    const lock = sql`select from usage_windows where app_id = any(${[...appIds]}::varchar[]) order by app_id for update`;
    await lock.execute(kysely(tx));
    await sql`${upsertWindows(appIds, now)} where ${isStaleWindow(dayOf(now))}`.execute(kysely(tx));
  });
