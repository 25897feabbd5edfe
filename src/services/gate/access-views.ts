import { expressionBuilder, type InferResult, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { condition, EMPTY_JSON, type Em, kysely } from '../../db/kysely.ts';
import type { ListStream, OpenList, RowEncoder } from '../../db/list-pages.ts';
import { afterCursor, cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import type { Roles } from '../access/permissions.ts';
import {
  accessViewFoundBy,
  accessViewManagedBy,
  accessViewVisibleTo,
  hasGlobalRole,
  userVisibleTo,
  type Viewer,
} from '../access/visibility.ts';
import { addressKnownTo } from '../accounts/addresses.ts';
import { fullName } from '../accounts/user-rows.ts';
import { type ItemPageRequest, requireViewableAppId } from '../apps/app-rows.ts';
import { openListStream } from '../auth/open-list-stream.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** `app` is a slug. */
type Filter = {
  app?: string | undefined;
  user?: string | undefined;
  flags?: Record<string, string> | undefined;
};

/**
 * Access views of the apps of clients that the actor administers. Staff read the views of all apps, without keys. Other views are not
 * found. A view is identified by its id or, for callers who may see it, by its key.
 */
export const createAccessViews = ({ em, clock, readList }: UnitOfWork) => ({
  /**
   * Newest first, without one-time views. `cursor` is the id or key of the last view of the previous page.
   * @throws Problem `not-found` and `forbidden` about `app`, `invalid-input` on `cursor`
   */
  list: async (
    actor: Actor,
    filter: Filter,
    { cursor, ...page }: ItemPageRequest,
  ): Promise<AccessViewRow[]> => {
    const rows = await listedAccessViews(em, actor, clock.now(), filter);
    return readPage(await afterView(em, actor, rows, cursor), 'access_views.id', page);
  },

  /**
   * The same, with what the console shows beside it.
   * @throws the problems of `list`
   */
  screen: async (actor: Actor, app: string, { cursor, ...page }: ItemPageRequest) => {
    const rows = (await listedAccessViews(em, actor, clock.now(), { app }))
      .select(nameOfPerson(actor).as('person_name'))
      .select(lastUse.as('last_used'));
    return readPage(await afterView(em, actor, rows, cursor), 'access_views.id', page);
  },

  /**
   * Streams the whole list.
   * @throws the problems of `list`
   */
  stream: (actor: Actor, filter: Filter, encoder: AccessViewEncoder): Promise<ListStream> => {
    const open = async (reader: Actor) =>
      openNewestFirst(
        em,
        encoder,
        await listedAccessViews(em, reader, clock.now(), filter),
        'access_views.id',
      );
    return openListStream({ em, readList }, actor, open);
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, idOrKey: string): Promise<AccessViewRow> => readAccessView(em, actor, idOrKey),

  /** @throws Problem `not-found` */
  uses: async (
    actor: Actor,
    idOrKey: string,
    { cursor, ...page }: PageRequest & { cursor?: number | undefined },
  ) => {
    const { id } = await readAccessView(em, actor, idOrKey);
    return readPage(afterCursor(accessViewUses(em, actor, id), 'used.id', cursor, 'desc'), 'used.id', page);
  },

  /**
   * Streams all uses.
   * @throws Problem `not-found`
   */
  streamUses: async (actor: Actor, idOrKey: string, encoder: AccessViewUseEncoder): Promise<ListStream> => {
    // From here on by id, because a use may give the view another key.
    const { id } = await readAccessView(em, actor, idOrKey);
    const open = async (reader: Actor) => {
      await readAccessView(em, reader, String(id));
      return openNewestFirst(em, encoder, accessViewUses(em, reader, id), 'used.id');
    };
    return openListStream({ em, readList }, actor, open);
  },
});

/** A key opens the app, so only managers of the view get it. For others, it is empty. */
const keyFor = (manager: Roles, key: RawBuilder<string>) =>
  expressionBuilder().case().when(accessViewManagedBy(manager)).then(key).else('').end();

/**
 * SQL: whether the person of the view, if any, may still open apps of the client. For people who have left, the account is not consulted.
 */
const isPersonActive = (viewer: Viewer) => condition`(users.id is null or users.is_active and (
  ${canViewAll(viewer) ? hasGlobalRole() : sql`false`} or exists (select from memberships m
    where m.user_id = users.id and m.client_id = apps.client_id and m.is_active_member)))`;

/** SQL: whether the person of the view does not belong to the client. */
const hasPersonLeft = condition`(users.id is not null and not exists (select from memberships m
  where m.user_id = users.id and m.client_id = apps.client_id))`;

/** SQL: null for a guest; empty for a person who has left and whose present address the viewer does not know. */
const nameOfUser = (viewer: Viewer, at: RawBuilder<unknown>) =>
  sql<string | null>`case when users.id is not null then coalesce(${addressKnownTo(viewer, at)}, '') end`;

/** SQL: empty for a guest, and for a person who has left. */
const nameOfPerson = (viewer: Viewer) =>
  sql<string>`case when users.id is not null and ${userVisibleTo(viewer)} then ${fullName('users')} else '' end`;

/** SQL: when the view was last used. */
const lastUse = sql<Date | null>`(select used_at from access_view_uses u
  where u.access_view_id = access_views.id order by u.id desc limit 1)`;

/** The access views that the viewer may see, newest first, with the names of the API. */
export const accessViewRows = (em: Em, viewer: Viewer) =>
  kysely(em)
    .selectFrom('access_views')
    .innerJoin('apps', 'apps.id', 'access_views.app_id')
    .leftJoin('users', 'users.id', 'access_views.user_id')
    .select(['access_views.id', 'apps.client_id', 'apps.id as app_id', 'is_one_time', 'access_views.user_id'])
    .select(accessViewManagedBy(viewer).as('is_managed'))
    .select(keyFor(viewer, sql.ref('access_views.key')).as('key'))
    .select(nameOfUser(viewer, sql`access_views.created_at`).as('user'))
    .select(['access_views.label', 'apps.slug as app', 'access_views.is_active'])
    .select(['allowed_uses as allowed_uses_cnt', 'uses as usages_cnt', 'expires_at'])
    .select(({ fn }) => fn.coalesce('data_permissions', EMPTY_JSON).as('data_permissions'))
    .select(['selections', 'stack_slug', 'flags', 'autorotate'])
    .select(({ fn, val }) =>
      fn<string>('array_to_string', ['allowed_networks', val(',')]).as('allowed_networks'),
    )
    .select(['access_views.show_header', 'access_views.show_footer', 'language_code'])
    .select(['access_views.created_at as created', 'modified_at as modified'])
    .select([isPersonActive(viewer).as('is_person_active'), hasPersonLeft.as('has_person_left')])
    .where(accessViewVisibleTo(viewer))
    .orderBy('access_views.id', 'desc');

export type AccessViewRow = InferResult<ReturnType<typeof accessViewRows>>[number];

/** @throws Problem `not-found`, also for a view that the viewer may not see */
export const readAccessView = (em: Em, viewer: Viewer, idOrKey: string): Promise<AccessViewRow> =>
  accessViewRows(em, viewer)
    .where(accessViewFoundBy(viewer, idOrKey))
    .executeTakeFirstOrThrow(() => notFound('access view'));

/** The matching views, without one-time views. @throws Problem `not-found` and `forbidden` about `app` */
const listedAccessViews = async (em: Em, actor: Actor, now: Date, { app, user, flags = {} }: Filter) => {
  let rows = accessViewRows(em, actor).where('is_one_time', '=', false);
  if (app !== undefined) rows = rows.where('apps.id', '=', await requireViewableAppId(em, actor, now, app));
  if (user !== undefined)
    rows = rows
      .where('users.email', '=', user)
      .where(condition`${addressKnownTo(actor, sql`access_views.created_at`)} is not null`);
  for (const [flag, value] of Object.entries(flags))
    rows = rows.where(condition`flags ->> ${flag} = ${value}`);
  return rows;
};

/** The rows after the view with this id or key. @throws Problem `invalid-input` on `cursor` */
const afterView = async <DB, TB extends keyof DB, O>(
  em: Em,
  actor: Actor,
  rows: SelectQueryBuilder<DB, TB, O>,
  cursor: string | undefined,
) => {
  if (cursor === undefined) return rows;
  const { id } = await cursorRow(accessViewRows(em, actor).where(accessViewFoundBy(actor, cursor)));
  return afterCursor(rows, 'access_views.id', id, 'desc');
};

type Hidden =
  | 'client_id'
  | 'app_id'
  | 'user_id'
  | 'is_one_time'
  | 'is_managed'
  | 'is_person_active'
  | 'has_person_left';
export type AccessViewEncoder = RowEncoder<Exclude<keyof AccessViewRow, Hidden> | 'url'>;

/** Opens a whole list of rows with an `id`, which is `key` in the query. */
const openNewestFirst = <DB, TB extends keyof DB, O>(
  em: Em,
  encoder: RowEncoder,
  rows: SelectQueryBuilder<DB, TB, O>,
  key: string,
): OpenList => ({
  encoder,
  page: (after, limit) =>
    kysely(em)
      .selectFrom(
        afterCursor(rows, key, after && Number(after[0]), 'desc')
          .limit(limit)
          .as('item'),
      )
      .select(encoder.columns.map((name) => sql.ref(name === 'url' ? 'key' : name).as(`output_${name}`)))
      .select(sql.ref('id').as('id'))
      .orderBy(sql.ref('id'), 'desc'),
});

/** The uses of a view that the viewer may see, newest first, with the names of the API. */
const accessViewUses = (em: Em, viewer: Viewer, viewId: number) =>
  kysely(em)
    .selectFrom('access_view_uses as used')
    .innerJoin('access_views', 'access_views.id', 'used.access_view_id')
    .innerJoin('apps', 'apps.id', 'access_views.app_id')
    .leftJoin('users', 'users.id', 'used.user_id')
    .select(['used.id', keyFor(viewer, sql.ref('raw_key')).as('raw_key')])
    .select(({ fn }) => fn.coalesce('used.data_permissions', EMPTY_JSON).as('data_permissions'))
    .select(['used.selections', 'apps.slug as app_slug', 'used.stack_slug'])
    .select(nameOfUser(viewer, sql`used_at`).as('user_email'))
    .select(['used.autorotate', 'used.show_header', 'used.show_footer', 'used.language_code'])
    .select(['ip_address', 'user_agent', 'used_at as timestamp'])
    .where('used.access_view_id', '=', viewId)
    .where(accessViewVisibleTo(viewer))
    .orderBy('used.id', 'desc');

type AccessViewUseRow = InferResult<ReturnType<typeof accessViewUses>>[number];
export type AccessViewUseEncoder = RowEncoder<keyof AccessViewUseRow>;
