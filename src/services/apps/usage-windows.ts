import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';

const WINDOW_DAYS = [30, 60, 90] as const;
/** `retention_histogram` covers the same number of days: see entities/usage.ts. */
export const LONGEST_WINDOW_DAYS = 90;

/** The last 30, 60 and 90 days; each window contains the shorter ones. Empty for callers who may not see usage. */
export type UsageWindows = Partial<
  Record<`${(typeof WINDOW_DAYS)[number]}`, { actions: number; users: number }>
>;

const WINDOWS_JSON = `{${WINDOW_DAYS.map((days) => `"${days}":{"actions":%s,"users":%s}`)}}`;

/** From `usage_windows`, joined to apps; apps that were never used have no row there. The JSON has no spaces, like all responses. */
export const usageWindows = (isVisible: RawBuilder<boolean>) => {
  const counts = WINDOW_DAYS.flatMap((days) => [`actions${days}`, `users${days}`]);
  const values = counts.map((count) => sql`coalesce(${sql.ref(count)}, 0)`);
  return sql<UsageWindows>`
    case when ${isVisible} then format(${sql.lit(WINDOWS_JSON)}, ${sql.join(values)})::json else '{}' end`;
};

/** `YYYY-MM-DD` in UTC */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/** Whether the row of `usage_windows` must be computed again: its day is in the past. */
export const isStaleWindow = (today: string) => condition`usage_windows.day < ${today}::date`;

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
    select id as app_id, greatest(known.day, ${dayOf(now)}::date) as today
    from unnest(${[...appIds]}::varchar[]) as id left join usage_windows known on known.app_id = id
  ) as apps
  left join usage_app_days days on days.app_id = apps.app_id and days.day > today - ${sql.lit(LONGEST_WINDOW_DAYS)} and days.day <= today
  group by apps.app_id, today
  on conflict (app_id) do update set (day, actions30, users30, actions60, users60, actions90, users90) = (
    excluded.day, excluded.actions30, excluded.users30, excluded.actions60, excluded.users60,
    excluded.actions90, excluded.users90)`;

/**
 * Statements to run after a write, under the lock of the app. The first one locks the row, so that a reader cannot move the window to the
 * next day before the second one.
 */
export const refreshWindow = (appId: string, now: Date) => [
  sql`select from usage_windows where app_id = ${appId} for update`,
  sql`${upsertWindows([appId], now)} where usage_windows.day <= excluded.day`,
];

/** Computes stale windows for the current day. First waits for concurrent writers, so that their entries are counted. */
export const refreshStaleWindows = (em: Em, appIds: readonly string[], now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    const lock = sql`select from usage_windows where app_id = any(${[...appIds]}::varchar[]) order by app_id for update`;
    await lock.execute(kysely(tx));
    await sql`${upsertWindows(appIds, now)} where ${isStaleWindow(dayOf(now))}`.execute(kysely(tx));
  });
