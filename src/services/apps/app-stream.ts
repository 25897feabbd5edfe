import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/kysely.ts';
import type { OpenList, PageSize, RowEncoder } from '../../db/list-stream.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo, type Viewer } from '../access/visibility.ts';
import { isStaleWindow, usageWindows } from '../usage/usage-windows.ts';
import { type AppFilterValues, appMatches, matchesAllApps } from './app-filter.ts';
import { type AppCursor, type AppRow, appRows, isAfterApp } from './app-rows.ts';

type AppColumn = Exclude<keyof AppRow, 'client_id' | 'shows_usage'> | 'usage';
export type AppEncoder = RowEncoder<AppColumn>;

type Options = {
  em: Db;
  actor: Actor;
  after: AppCursor | undefined;
  values: AppFilterValues;
  encoder: AppEncoder;
  /** Receives the ids of apps whose usage windows are stale: these must be recounted before the list is read. */
  stale: string[];
};

/** Selected before the columns of the view: when the app was created, its id, whether its usage windows are stale. */
const KEY_COLUMNS = 3;
/** Sorts before all apps. */
const FIRST: AppCursor = { createdAt: new Date(0), id: '' };

/** Opens the list of apps, ordered by age. */
export const openAppList = ({ em, actor, after = FIRST, values, encoder, stale }: Options): OpenList => ({
  ...encoder,
  statement: (row, limit) => {
    const cursor = row ? { createdAt: String(row[0]), id: String(row[1]) } : after;
    return page(em, actor, encoder.columns, limit, { ...cursor, ...values }).compile();
  },
  encode: (row) => {
    if (row[2] === 't') stale.push(String(row[1]));
    return encoder.encode(row, KEY_COLUMNS);
  },
  isOutdated: () => stale.length > 0,
});

type Values = AppCursor & AppFilterValues;

const page = (em: Db, viewer: Viewer, columns: readonly AppColumn[], limit: PageSize, values: Values) =>
  appRows(em, viewer)
    .clearSelect()
    .leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id')
    .select(['apps.created_at', 'apps.id as key', isStaleWindow(values.today).as('is_stale')])
    .select(columns.map((name) => columnOf(name, viewer).as(`view_${name}`)))
    .where(isAfterApp({ createdAt: values.createdAt, id: values.id }))
    // The list without a filter is by far the most frequent one: the conditions would double its time in PostgreSQL.
    .where(matchesAllApps(values) ? sql<boolean>`true` : appMatches(viewer, values))
    .limit(sql.lit(limit));

const columnOf = (name: AppColumn, viewer: Viewer): RawBuilder<unknown> =>
  name === 'usage' ? usageWindows(clientVisibleTo(viewer, sql`apps.client_id`)) : sql.ref(`apps.${name}`);
