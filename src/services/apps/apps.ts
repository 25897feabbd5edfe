import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { pickDefined, tables } from '../../db/kysely.ts';
import type { ListStream } from '../../db/list-stream.ts';
import { type PageRequest, pageOfRows, readPage, reportCount } from '../../db/pagination.ts';
import type { ReadTextRows } from '../../db/text-rows.ts';
import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { type Audit, type AuditEvent, diffColumns, isEmpty } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import {
  dayOf,
  refreshStaleWindows,
  type UsageWindows,
  WINDOWS,
  type WindowColumns,
  windowsOf,
} from '../usage/usage-windows.ts';
import { type AppRow, appCursorOf, appRow, appRows, appsAfter } from './app-rows.ts';
import { type AppEncoder, openAppList } from './app-stream.ts';

export type AppWithUsage = AppRow & { usage: UsageWindows | Record<string, never> };

const CHANGEABLE = [
  'label',
  'description',
  'help_html',
  'footer_html',
  'show_help',
  'show_footer',
  'in_maintenance',
  'maintenance_message',
] as const;

export type AppChanges = {
  label?: string | undefined;
  description?: string | undefined;
  help_html?: string | undefined;
  footer_html?: string | undefined;
  show_help?: boolean | undefined;
  show_footer?: boolean | undefined;
  in_maintenance?: boolean | undefined;
  maintenance_message?: string | undefined;
};

/** `cursor` is the id of the last app of the page before. */
type AppPart = PageRequest & { cursor?: string | undefined };

type Deps = { em: SqlEntityManager; clock: Clock; audit: Audit; readRows: ReadTextRows };

export const createApps = ({ em, clock, audit, readRows }: Deps) => {
  const withUsage = async (
    tx: SqlEntityManager,
    query: ReturnType<typeof appRows>,
  ): Promise<AppWithUsage[]> => {
    const today = dayOf(clock.now());
    const read = () =>
      query.leftJoin('usage_windows', 'usage_windows.app_id', 'apps.id').select(WINDOWS).execute();
    const rows = await read();
    const stale = rows.filter(({ usage_day }) => usage_day !== null && usage_day < today);
    if (stale.length === 0) return rows.map(withVisibleUsage);
    await refreshStaleWindows(
      tx,
      stale.map(({ id }) => id),
      clock.now(),
    );
    return (await read()).map(withVisibleUsage);
  };
  const one = async (tx: SqlEntityManager, actor: Actor, id: string): Promise<AppWithUsage> => {
    const [app] = await withUsage(tx, appRows(tx, actor).where('apps.id', '=', id));
    if (!app) throw notFound('app');
    return app;
  };

  return {
    /** @throws Problem `invalid-input` on `cursor` */
    list: async (actor: Actor, part: AppPart): Promise<AppWithUsage[]> => {
      const rows = await appsAfter(em, actor, part.cursor);
      await reportCount(rows, part);
      return withUsage(em, pageOfRows(rows, 'apps.id', part));
    },

    /**
     * Streams the whole list.
     * @throws Problem as `list`
     */
    stream: (actor: Actor, cursor: string | undefined, encoder: AppEncoder): Promise<ListStream> => {
      let stale: string[] = [];
      const open = async (reader: Actor) => {
        if (stale.length > 0) await refreshStaleWindows(em, stale, clock.now());
        stale = [];
        const today = dayOf(clock.now());
        const after = cursor === undefined ? undefined : await appCursorOf(em, reader, cursor);
        return openAppList({ em, actor: reader, after, today, encoder, stale });
      };
      return openListStream({ em, readRows, actor, open });
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: string): Promise<AppWithUsage> => one(em, actor, id),

    /** @throws Problem `not-found`, also for a client the actor may not see, `invalid-input` on `cursor` */
    ofClient: async (actor: Actor, clientId: number, part: AppPart): Promise<AppRow[]> => {
      await readClient(em, actor, clientId);
      const rows = (await appsAfter(em, actor, part.cursor)).where('apps.client_id', '=', clientId);
      return readPage(rows, 'apps.id', part);
    },

    /** @throws Problem `not-found`, `forbidden` */
    update: (actor: Actor, id: string, changes: AppChanges): Promise<AppWithUsage> =>
      em.transactional(async (tx) => {
        const app = await appRows(tx, actor)
          .where('apps.id', '=', id)
          .forNoKeyUpdate('apps')
          .executeTakeFirst();
        if (!app) throw notFound('app');
        requireClientAdmin(actor, app.client_id);

        const given = pickDefined(changes);
        if (given) {
          await tables(tx).updateTable('apps').set(given).where('id', '=', id).execute();
          const details = diffColumns(app, await appRow(tx, actor, id), CHANGEABLE);
          const event: AuditEvent = {
            action: 'app.update',
            actor,
            target: app.slug,
            clients: [app.client_id],
            details,
          };
          if (!isEmpty(details)) await audit.record(tx, [event]);
        }
        return one(tx, actor, id);
      }),
  };
};

/** Those who may not see how much an app is used get no usage at all. */
const withVisibleUsage = (app: AppRow & WindowColumns): AppWithUsage => ({
  ...app,
  usage: app.shows_usage ? windowsOf(app) : {},
});
