import { type RawBuilder, sql } from 'kysely';
import { matchesPatterns, patternsOf } from '../../db/search.ts';
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

const UNUSED_DAYS = 30;

/** Null matches all apps. The text of the SQL does not depend on the values, so that statements are prepared. */
export type AppFilterValues = {
  patterns: string[];
  client: number | null;
  in_maintenance: boolean | null;
  is_unused: boolean | null;
  unusedDays: number;
  /** `YYYY-MM-DD` in UTC */
  today: string;
};

export const appFilterValues = (filter: AppFilter, today: string): AppFilterValues => ({
  patterns: patternsOf(filter.search ?? ''),
  client: filter.client ?? null,
  in_maintenance: filter.in_maintenance ?? null,
  is_unused: filter.is_unused ?? (filter.unused_days === undefined ? null : true),
  unusedDays: filter.unused_days ?? UNUSED_DAYS,
  today,
});

/** Whether the values match all apps. */
export const matchesAllApps = ({ patterns, client, in_maintenance, is_unused }: AppFilterValues): boolean =>
  patterns.length === 0 && client === null && in_maintenance === null && is_unused === null;

const SEARCHED = sql<string>`lower(apps.label || ' ' || apps.slug)`;

/** Condition on rows of `apps`. */
export const appMatches = (viewer: Viewer, values: AppFilterValues): RawBuilder<boolean> => {
  const { patterns, client, in_maintenance, is_unused, unusedDays, today } = values;
  const since = sql`(${today}::date - ${unusedDays}::int)`;
  return sql`
    (${matchesPatterns(SEARCHED, patterns)}
    and (${client}::int is null or apps.client_id = ${client}::int)
    and (${in_maintenance}::boolean is null or apps.in_maintenance = ${in_maintenance}::boolean)
    and (${is_unused}::boolean is null or ${is_unused}::boolean = (
      ${clientVisibleTo(viewer, sql`apps.client_id`)}
      and apps.created_at < ${since} at time zone 'UTC'
      and not exists (select from usage_app_days d
        where d.app_id = apps.id and d.day > ${since} and d.actions > 0))))`;
};
