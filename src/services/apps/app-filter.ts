import { type RawBuilder, sql } from 'kysely';
import { clientVisibleTo, type Viewer } from '../access/visibility.ts';

export type AppFilter = {
  in_maintenance?: boolean | undefined;
  /** Apps older than the window that nobody used in it, as far as the viewer may see their usage. */
  is_unused?: boolean | undefined;
};

/** In days, up to today. */
const UNUSED_DAYS = 30;

/** Null matches all apps. The text of the SQL does not depend on the values, so that statements are prepared. */
export type AppFilterValues = {
  in_maintenance: boolean | null;
  is_unused: boolean | null;
  /** `YYYY-MM-DD` in UTC */
  today: string;
};

export const appFilterValues = (
  { in_maintenance = null, is_unused = null }: { [K in keyof AppFilter]?: boolean | null | undefined },
  today: string,
): AppFilterValues => ({ in_maintenance, is_unused, today });

/** Condition on rows of `apps`. */
export const appMatches = (viewer: Viewer, values: AppFilterValues): RawBuilder<boolean> => {
  const { in_maintenance, is_unused, today } = values;
  const days = sql.lit(UNUSED_DAYS);
  return sql`
    ((${in_maintenance}::boolean is null or apps.in_maintenance = ${in_maintenance}::boolean)
    and (${is_unused}::boolean is null or ${is_unused}::boolean = (
      ${clientVisibleTo(viewer, sql`apps.client_id`)}
      and apps.created_at < (${today}::date - ${days}) at time zone 'UTC'
      and not exists (select from usage_app_days d
        where d.app_id = apps.id and d.day > ${today}::date - ${days} and d.actions > 0))))`;
};
