import { type RawBuilder, sql } from 'kysely';
import { hasWords } from '../../db/search.ts';
import { clientVisibleTo, type Viewer } from '../access/visibility.ts';

export type AppFilter = {
  /** Words that must all occur in the label or the slug. */
  search?: string | undefined;
  client?: number | undefined;
  in_maintenance?: boolean | undefined;
  /** Apps older than the window without use in it, as far as the viewer may see their usage. */
  is_unused?: boolean | undefined;
  /** The window of `is_unused` in days, up to today. Without `is_unused`, it selects the unused apps. */
  unused_days?: number | undefined;
};

/** Apps count as unused after it, where the caller does not choose a window. */
export const UNUSED_DAYS = 30;

const SEARCHED = sql<string>`lower(apps.label || ' ' || apps.slug)`;

/**
 * Condition on rows of `apps`.
 * @param today `YYYY-MM-DD` in UTC
 */
export const appMatches = (viewer: Viewer, filter: AppFilter, today: string): RawBuilder<boolean> => {
  const conditions: RawBuilder<boolean>[] = [sql`true`];
  if (filter.search !== undefined) conditions.push(hasWords(SEARCHED, filter.search));
  if (filter.client !== undefined) conditions.push(sql`apps.client_id = ${filter.client}`);
  if (filter.in_maintenance !== undefined)
    conditions.push(sql`apps.in_maintenance = ${filter.in_maintenance}`);
  const { unused_days: unusedDays, is_unused: isUnused = unusedDays === undefined ? undefined : true } =
    filter;
  if (isUnused !== undefined) {
    const isMatch = isUnusedFor(viewer, unusedDays ?? UNUSED_DAYS, today);
    conditions.push(isUnused ? isMatch : sql`not ${isMatch}`);
  }
  return sql`(${sql.join(conditions, sql` and `)})`;
};

const isUnusedFor = (viewer: Viewer, days: number, today: string): RawBuilder<boolean> => {
  const since = sql`(${today}::date - ${days}::int)`;
  return sql`
    (${clientVisibleTo(viewer, sql`apps.client_id`)} and apps.created_at < ${since} at time zone 'UTC'
      and not exists (select from usage_app_days d
        where d.app_id = apps.id and d.day > ${since} and d.actions > 0))`;
};
