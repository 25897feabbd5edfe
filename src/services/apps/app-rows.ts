import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, hasWords, kysely } from '../../db/kysely.ts';
import { cursorRow, type PageRequest } from '../../db/pagination.ts';
import { notFound, roleRequired } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { rolesThatMay } from '../access/permissions.ts';
import { appVisibleTo, clientVisibleTo, type Viewer } from '../access/visibility.ts';
import { isInMaintenance } from './maintenance.ts';
import { dayOf } from './usage-windows.ts';

/** `cursor` is the id of the last app or stack, or the hash of the last filter, of the previous page. */
export type ItemPageRequest = PageRequest & { cursor?: string | undefined };

/** The apps that the actor may see, oldest first. `shows_usage`: whether the actor may see an app's usage. */
export const appRows = (em: Em, actor: Viewer, now: Date) =>
  kysely(em)
    .selectFrom('apps')
    .select([
      'apps.id',
      'apps.client_id',
      'apps.slug',
      'apps.label',
      'apps.description',
      'apps.help_html',
      'apps.footer_html',
      'apps.show_help',
      'apps.show_footer',
      'apps.maintenance_message',
      'apps.package_info',
    ])
    .select(isInMaintenance(now).as('in_maintenance'))
    .select(clientVisibleTo(actor, sql`apps.client_id`).as('shows_usage'))
    .where(appVisibleTo(actor, now))
    .orderBy('apps.created_at')
    .orderBy('apps.id');

export type AppRow = Awaited<ReturnType<ReturnType<typeof appRows>['execute']>>[number];

export const isAfterApp = (createdAt: Date | string, id: string) =>
  condition`(apps.created_at, apps.id) > (${createdAt}, ${id})`;

/** The apps after the app with this id, or all. @throws Problem `invalid-input` on `cursor` */
export const appsAfter = async (em: Em, actor: Actor, now: Date, cursor: string | undefined) => {
  const rows = appRows(em, actor, now);
  if (cursor === undefined) return rows;
  const found = rows.clearSelect().select(['apps.created_at', 'apps.id']).where('apps.id', '=', cursor);
  const { created_at, id } = await cursorRow(found);
  return rows.where(isAfterApp(created_at, id));
};

/** @throws Problem `not-found`, also for an app that the actor may not see */
export const appRow = (em: Em, actor: Actor, now: Date, id: string): Promise<AppRow> =>
  appRows(em, actor, now)
    .where('apps.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('app'));

/** Rows of usage, with `app_id`, of an app that the viewer may see; without an app, of all apps whose usage the viewer may see. */
export const usageVisibleTo = (viewer: Viewer, { appId, client }: UsageApps = {}): RawBuilder<boolean> =>
  appId === undefined
    ? condition`app_id = any(array(select id from apps where ${clientVisibleTo(viewer, sql`client_id`)}
        and (${client ?? null}::int is null or client_id = ${client ?? null}::int)))`
    : condition`app_id = ${appId}`;

type UsageApps = { appId?: string | undefined; client?: number | undefined };

/**
 * Like `appRow`, for data that only viewers of the app's client may see, not members to whom the app was granted.
 * @throws Problem `not-found`, `forbidden`
 */
export const requireViewableApp = async (em: Em, actor: Actor, now: Date, id: string): Promise<AppRow> =>
  requireViewable(await appRow(em, actor, now, id));

const requireViewable = (row: AppRow | undefined): AppRow => {
  if (!row) throw notFound('app');
  if (!row.shows_usage) throw roleRequired(`${rolesThatMay('view')}, in client ${row.client_id}`);
  return row;
};

/**
 * The id of the app with this slug, to filter users or invitations by.
 * @throws Problem `not-found`, `forbidden`
 */
export const requireViewableAppId = async (em: Em, actor: Actor, now: Date, slug: string): Promise<string> =>
  requireViewable(await appRows(em, actor, now).where('apps.slug', '=', slug).executeTakeFirst()).id;

export type AppFilter = {
  /** Words that must all occur in the label or the slug. */
  search?: string | undefined;
  client?: number | undefined;
  in_maintenance?: boolean | undefined;
  /** Apps that are older than the window and were not used in it, if the viewer may see their usage. */
  is_unused?: boolean | undefined;
  /** The window of `is_unused` in days, up to today. Without `is_unused`, unused apps are selected. */
  unused_days?: number | undefined;
  /** Apps that no one has used or opened, if the viewer may see their usage. */
  never_used?: boolean | undefined;
};

/** The default window after which apps count as unused. */
export const UNUSED_DAYS = 30;

const SEARCHED = sql`lower(apps.label || ' ' || apps.slug)`;

/** Condition on rows of `apps`. */
export const appMatches = (viewer: Viewer, filter: AppFilter, now: Date): RawBuilder<boolean> => {
  const conditions: RawBuilder<boolean>[] = [condition`true`];
  if (filter.search !== undefined) conditions.push(hasWords(SEARCHED, filter.search));
  if (filter.client !== undefined) conditions.push(sql`apps.client_id = ${filter.client}`);
  if (filter.in_maintenance !== undefined)
    conditions.push(sql`${isInMaintenance(now)} = ${filter.in_maintenance}`);
  const { unused_days: unusedDays, is_unused: isUnused = unusedDays === undefined ? undefined : true } =
    filter;
  if (isUnused !== undefined) {
    const isMatch = isUnusedFor(viewer, unusedDays ?? UNUSED_DAYS, dayOf(now));
    conditions.push(isUnused ? isMatch : sql`not ${isMatch}`);
  }
  if (filter.never_used !== undefined) {
    const isMatch = isNeverUsedFor(viewer);
    conditions.push(filter.never_used ? isMatch : sql`not ${isMatch}`);
  }
  return sql`(${sql.join(conditions, sql` and `)})`;
};

const HAS_NO_USAGE = condition`not exists (select from usage_app_days d where d.app_id = apps.id and d.actions > 0)`;

/** SQL: whether a person has opened a row of `apps`, which has recorded no usage. */
export const isUnrecorded = () => condition`(apps.first_opened_at is not null and ${HAS_NO_USAGE})`;

const isNeverUsedFor = (viewer: Viewer): RawBuilder<boolean> => sql`
  (${clientVisibleTo(viewer, sql`apps.client_id`)} and apps.first_opened_at is null and ${HAS_NO_USAGE})`;

/** SQL: whether a row of `apps` is older than this day and was not used since. */
export const isUnusedSince = (day: RawBuilder<unknown>): RawBuilder<boolean> => condition`
  (apps.created_at < ${day} at time zone 'UTC'
    and not exists (select from usage_app_days d
      where d.app_id = apps.id and d.day > ${day} and d.actions > 0))`;

const isUnusedFor = (viewer: Viewer, days: number, today: string): RawBuilder<boolean> => {
  const isUnused = isUnusedSince(sql`(${today}::date - ${days}::int)`);
  return sql`(${clientVisibleTo(viewer, sql`apps.client_id`)} and ${isUnused})`;
};
