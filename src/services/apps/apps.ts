import { type Selectable, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { type Db, pickDefined, tables } from '../../db/kysely.ts';
import type { ListStream } from '../../db/list-stream.ts';
import { pageOfRows, readPage, reportCount } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { diffColumns, isEmpty } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import { requireExpected } from '../edits.ts';
import { EDITABLE_COLUMNS } from '../packages/package-loading.ts';
import type { Unit } from '../unit.ts';
import { dayOf, isStaleWindow, refreshStaleWindows, usageWindows } from '../usage/usage-windows.ts';
import { type AppFilter, appFilterValues, appMatches } from './app-filter.ts';
import { type AppRow, appCursorOf, appRow, appRows, appsAfter, type ItemPageRequest } from './app-rows.ts';
import { type AppEncoder, openAppList } from './app-stream.ts';

const CHANGEABLE = [...EDITABLE_COLUMNS, 'in_maintenance', 'maintenance_message'] as const;

export type AppChanges = {
  [Column in (typeof CHANGEABLE)[number]]?: Selectable<Database['apps']>[Column] | undefined;
};

type StreamFilter = AppFilter & { cursor?: string | undefined };

export const createApps = ({ em, clock, audit, readRows }: Unit) => {
  /** The apps with their usage, after computing stale windows for the current day. */
  const readWithUsage = async (tx: Db, actor: Actor, apps: ReturnType<typeof appRows>) => {
    const today = dayOf(clock.now());
    const query = apps
      .leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id')
      .select(isStaleWindow(today).as('is_stale'))
      .select(usageWindows(clientVisibleTo(actor, sql`apps.client_id`)).as('usage'));
    const rows = await query.execute();
    const stale = rows.filter(({ is_stale }) => is_stale);
    if (stale.length === 0) return rows;
    const staleIds = stale.map(({ id }) => id);
    await refreshStaleWindows(tx, staleIds, clock.now());
    return query.execute();
  };
  const get = async (tx: Db, actor: Actor, id: string) => {
    const [app] = await readWithUsage(tx, actor, appRows(tx, actor).where('apps.id', '=', id));
    if (!app) throw notFound('app');
    return app;
  };

  return {
    /** @throws Problem `invalid-input` on `cursor` */
    list: async (actor: Actor, filter: AppFilter, part: ItemPageRequest) => {
      const isMatch = appMatches(actor, appFilterValues(filter, dayOf(clock.now())));
      const rows = (await appsAfter(em, actor, part.cursor)).where(isMatch);
      await reportCount(rows, part);
      return readWithUsage(em, actor, pageOfRows(rows, 'apps.id', part));
    },

    /**
     * Streams the whole list.
     * @throws Problem as `list`
     */
    stream: (actor: Actor, filter: StreamFilter, encoder: AppEncoder): Promise<ListStream> => {
      const { cursor } = filter;
      let stale: string[] = [];
      const open = async (reader: Actor) => {
        if (stale.length > 0) await refreshStaleWindows(em, stale, clock.now());
        stale = [];
        const today = dayOf(clock.now());
        const after = cursor === undefined ? undefined : await appCursorOf(em, reader, cursor);
        const values = appFilterValues(filter, today);
        return openAppList({ em, actor: reader, after, values, encoder, stale });
      };
      return openListStream({ em, readRows, actor, open });
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: string) => get(em, actor, id),

    /** @throws Problem `not-found`, also for a client the actor may not see, `invalid-input` on `cursor` */
    ofClient: async (actor: Actor, clientId: number, part: ItemPageRequest): Promise<AppRow[]> => {
      await readClient(em, actor, clientId);
      const rows = (await appsAfter(em, actor, part.cursor)).where('apps.client_id', '=', clientId);
      return readPage(rows, 'apps.id', part);
    },

    /** @throws Problem `not-found`, `forbidden`, `precondition-failed` */
    update: (actor: Actor, id: string, changes: AppChanges, expected?: AppChanges) =>
      em.transactional(async (tx) => {
        const app = await appRows(tx, actor)
          .where('apps.id', '=', id)
          .forNoKeyUpdate('apps')
          .executeTakeFirst();
        if (!app) throw notFound('app');
        requireClientAdmin(actor, app.client_id);
        requireExpected(app, expected);

        const given = pickDefined(changes);
        if (given) {
          await tables(tx).updateTable('apps').set(given).where('id', '=', id).execute();
          const details = diffColumns(app, await appRow(tx, actor, id), CHANGEABLE);
          const about = { target: app.slug, clients: [app.client_id] };
          if (!isEmpty(details)) await audit.record(tx, [{ action: 'app.update', actor, ...about, details }]);
        }
        return get(tx, actor, id);
      }),

    /**
     * Announces in the audit trail that platforms are to drop what they have cached of the app. Nothing is cached here.
     * @throws Problem `not-found`, `forbidden`
     */
    clearCache: (actor: Actor, id: string): Promise<void> =>
      em.transactional(async (tx) => {
        const app = await appRow(tx, actor, id);
        requireClientAdmin(actor, app.client_id);
        const about = { target: app.slug, clients: [app.client_id] };
        await audit.record(tx, [{ action: 'app.clear-cache', actor, ...about, details: { app_id: id } }]);
      }),
  };
};

export type AppWithUsage = Awaited<ReturnType<ReturnType<typeof createApps>['get']>>;
