import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { App } from '../../../entities/app.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import type { ListStream, OpenList, RowEncoder } from '../../db/list-pages.ts';
import {
  afterCursor,
  type CursorPageRequest,
  cursorRow,
  pageOfRows,
  readPage,
  reportCount,
} from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { appVisibleTo, clientVisibleTo } from '../access/visibility.ts';
import { isEmpty, ofApp } from '../audit/audit.ts';
import { editEntity, requireExpected } from '../audit/edits.ts';
import { openListStream } from '../auth/open-list-stream.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type AppFilter,
  type AppRow,
  appMatches,
  appRow,
  appRows,
  appsAfter,
  type ItemPageRequest,
  isAfterApp,
  requireViewableApp,
} from './app-rows.ts';
import {
  changeMaintenance,
  isInMaintenance,
  type MaintenanceChanges,
  maintenanceTime,
} from './maintenance.ts';
import { dayOf, isStaleWindow, refreshStaleWindows, usageWindows } from './usage-windows.ts';

type FixedColumn = 'id' | 'client_id' | 'slug' | 'package_info' | 'shows_usage';
type ExpectedApp = { [Column in Exclude<keyof AppRow, FixedColumn>]?: AppRow[Column] | undefined };
type AppChanges = ExpectedApp & MaintenanceChanges & { is_requestable?: boolean | undefined };

/** Limit per version. Repeated rollbacks cause many loads; the audit trail has all of them. */
const MAX_LOADS = 20;

type StreamFilter = AppFilter & { cursor?: string | undefined };

export type AppEncoder = RowEncoder<Exclude<keyof AppRow, 'client_id' | 'shows_usage'> | 'usage'>;

export const createApps = ({ em, clock, audit, readList }: UnitOfWork) => {
  /** The apps with their usage windows; windows of an earlier day are computed again. */
  const withUsage = async (tx: Em, actor: Actor, apps: ReturnType<typeof appRows>) => {
    const now = clock.now();
    const rows = apps.leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id');
    const stale = await rows
      .clearSelect()
      .select('apps.id')
      .where(isStaleWindow(dayOf(now)))
      .execute();
    const staleIds = stale.map(({ id }) => id);
    if (staleIds.length > 0) await refreshStaleWindows(tx, staleIds, now);
    return rows.select(usageWindows(clientVisibleTo(actor, sql`apps.client_id`)).as('usage'));
  };
  const get = async (tx: Em, actor: Actor, id: string) => {
    const app = await withUsage(tx, actor, appRows(tx, actor, clock.now()).where('apps.id', '=', id));
    return app.executeTakeFirstOrThrow(() => notFound('app'));
  };
  /** The matching apps after the app of the cursor. @throws Problem `invalid-input` on `cursor` */
  const matchingApps = async (actor: Actor, { cursor, ...filter }: StreamFilter) =>
    (await appsAfter(em, actor, clock.now(), cursor)).where(appMatches(actor, filter, clock.now()));

  return {
    /** @throws Problem `invalid-input` on `cursor` */
    list: async (actor: Actor, filter: AppFilter, { cursor, ...page }: ItemPageRequest) => {
      const rows = await matchingApps(actor, { ...filter, cursor });
      await reportCount(rows, page);
      return (await withUsage(em, actor, pageOfRows(rows, 'apps.id', page))).execute();
    },

    /**
     * Streams the whole list.
     * @throws the problems of `list`
     */
    stream: (actor: Actor, filter: StreamFilter, encoder: AppEncoder): Promise<ListStream> => {
      const open = async (reader: Actor): Promise<OpenList> => {
        const apps = await withUsage(em, reader, await matchingApps(reader, filter));
        return {
          encoder,
          page: (after, limit) => {
            const [createdAt = '', id = ''] = after ?? [];
            const rows = after ? apps.where(isAfterApp(createdAt, id)) : apps;
            return kysely(em)
              .selectFrom(rows.select('apps.created_at').limit(limit).as('app'))
              .select(encoder.columns.map((name) => sql.ref(name).as(`output_${name}`)))
              .select(['created_at', 'id'])
              .orderBy('created_at')
              .orderBy('id');
          },
        };
      };
      return openListStream({ em, readList }, actor, open);
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: string) => get(em, actor, id),

    /** @throws Problem `not-found`, also for a client that the actor may not see, `invalid-input` on `cursor` */
    ofClient: async (actor: Actor, clientId: number, page: ItemPageRequest): Promise<AppRow[]> => {
      await readClient(em, actor, clientId);
      const rows = (await appsAfter(em, actor, clock.now(), page.cursor)).where(
        'apps.client_id',
        '=',
        clientId,
      );
      return readPage(rows, 'apps.id', page);
    },

    /**
     * The status that a platform reads before it shows an app: one cheap query.
     * @throws Problem `not-found`
     */
    getStatus: (actor: Actor, id: string) =>
      appStatuses(em, clock.now())
        .where('apps.id', '=', id)
        .where(appVisibleTo(actor, clock.now()))
        .executeTakeFirstOrThrow(() => notFound('app')),

    /** What the actor may do with an app. @throws Problem `not-found` */
    getPermissions: async (actor: Actor, id: string) => {
      const { client_id: client } = await appRow(em, actor, clock.now(), id);
      return { can_update: can(actor, 'manage-apps', client), client };
    },

    /**
     * The stacks that an app offers, by slug.
     * @throws Problem `not-found`, `invalid-input` on `cursor`
     */
    listStacks: async (actor: Actor, appId: string, { cursor, ...page }: ItemPageRequest) => {
      const { id } = await appRow(em, actor, clock.now(), appId);
      const stacks = kysely(em)
        .selectFrom('stacks')
        .select(['stacks.id', 'stacks.slug', 'stacks.label'])
        .where('stacks.app_id', '=', id)
        .where('stacks.is_offered', '=', true)
        .orderBy('stacks.slug');
      if (cursor === undefined) return readPage(stacks, 'stacks.id', page);
      const { slug } = await cursorRow(stacks.where('stacks.id', '=', cursor));
      return readPage(stacks.where('stacks.slug', '>', slug), 'stacks.id', page);
    },

    /**
     * The versions that were fetched, last fetched first, with the times of their loads. `cursor` is the id of the last version of the
     * previous page.
     * @throws Problem `not-found`, `forbidden`
     */
    listVersions: async (actor: Actor, appId: string, page: CursorPageRequest) => {
      const { id, slug, package_info: running } = await requireViewableApp(em, actor, clock.now(), appId);
      const rows = afterCursor(fetchedVersions(em, slug, id), 'version.id', page.cursor, 'desc');
      const versions = await readPage(rows, 'version.id', page);
      return versions.map(({ loads, ...version }) => ({
        ...version,
        loads: loads.map((load) => ({ ...load, loaded_at: new Date(load.loaded_at) })),
        is_current: running.sha256 === version.sha256,
      }));
    },

    /** @throws Problem `not-found`, `forbidden`, `precondition-failed`, `invalid-input` on `maintenance_until` */
    update: (actor: Actor, id: string, changes: AppChanges, expected?: ExpectedApp) =>
      em.transactional(async (tx) => {
        const app = await appRows(tx, actor, clock.now())
          .where('apps.id', '=', id)
          .forNoKeyUpdate('apps')
          .executeTakeFirstOrThrow(() => notFound('app'));
        requireIn(actor, 'manage-apps', app.client_id);
        requireExpected(app, expected);
        const entity = await tx.findOneOrFail(App, id);
        const { in_maintenance, maintenance_from, maintenance_until, ...others } = changes;
        const maintenance = { in_maintenance, maintenance_from, maintenance_until };
        const details = editEntity(tx, App, entity, {
          ...others,
          ...changeMaintenance(entity, maintenance, clock.now()),
        });
        await tx.flush();
        const about = { target: ofApp(app), clients: [app.client_id] };
        if (!isEmpty(details)) await audit.record(tx, [{ action: 'app.update', actor, ...about, details }]);
        return get(tx, actor, id);
      }),

    /**
     * Announces in the audit trail that platforms should drop their cached data of the app. Nothing is cached here.
     * @throws Problem `not-found`, `forbidden`
     */
    clearCache: (actor: Actor, id: string): Promise<void> =>
      em.transactional(async (tx) => {
        const app = await appRow(tx, actor, clock.now(), id);
        requireIn(actor, 'manage-apps', app.client_id);
        const about = { target: ofApp(app), clients: [app.client_id] };
        await audit.record(tx, [{ action: 'app.clear-cache', actor, ...about, details: { app_id: id } }]);
      }),
  };
};

const appStatuses = (em: Em, now: Date) =>
  kysely(em)
    .selectFrom('apps')
    .select(['apps.id', 'apps.slug', 'apps.label', 'apps.launch_url', 'apps.view_as'])
    .select('apps.is_requestable')
    .select((app) => app.ref('apps.package_info', '->>').key('version').as('version'))
    .select([
      isInMaintenance(now).as('in_maintenance'),
      // Empty outside of maintenance: the message may be prepared before.
      sql<string>`case when ${isInMaintenance(now)} then maintenance_message else '' end`.as(
        'maintenance_message',
      ),
      maintenanceTime('maintenance_from', now).as('maintenance_from'),
      maintenanceTime('maintenance_until', now).as('maintenance_until'),
    ]);

/** Last fetched first, with their last loads into the app, newest first. */
const fetchedVersions = (em: Em, slug: string, appId: string) => {
  const fetched = kysely(em)
    .selectFrom('fetched_packages')
    .select(['id', 'version', 'sha256', 'size_bytes', 'fetched_at', 'fetched_by'])
    .select(condition`id = max(id) over ()`.as('is_staged'))
    .where('slug', '=', slug);
  return kysely(em)
    .selectFrom(fetched.as('version'))
    .selectAll()
    .select(({ selectFrom }) =>
      jsonArrayFrom(
        selectFrom('loaded_packages')
          .select(['loaded_at', 'loaded_by', 'is_rollback'])
          .whereRef('package_id', '=', 'version.id')
          .where('app_id', '=', appId)
          .orderBy('loaded_packages.id', 'desc')
          .limit(MAX_LOADS),
      ).as('loads'),
    )
    .orderBy('id', 'desc');
};
