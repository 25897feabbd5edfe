import type { ListStream } from '../../db/list-stream.ts';
import { afterCursor, cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import type { Actor } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { accessViewFoundBy } from '../access/visibility.ts';
import { type ItemPageRequest, requireViewableAppId } from '../apps/app-rows.ts';
import type { Unit } from '../unit.ts';
import { createAccessViewChanges } from './access-view-changes.ts';
import {
  type AccessViewEncoder,
  type AccessViewRow,
  type AccessViewUseEncoder,
  accessViewRows,
  accessViewUses,
  listedAccessViews,
  openAccessViewList,
  openUseList,
  readAccessView,
} from './access-view-rows.ts';

/** `app` is a slug. */
type Filter = {
  app?: string | undefined;
  user?: string | undefined;
  flags?: Record<string, string> | undefined;
};

/**
 * Access views of the apps of clients that the actor administers; staff read those of all apps, without keys. Others are not
 * found. A view is named by its id, or, by those who may see it, its key.
 */
export const createAccessViews = (unit: Unit) => {
  const { em, readRows } = unit;
  const toRowFilter = async (reader: Actor, { app, ...filter }: Filter) => ({
    ...filter,
    appId: app === undefined ? undefined : await requireViewableAppId(em, reader, app),
  });
  return {
    ...createAccessViewChanges(unit),

    /**
     * Newest first, without those that open an app once, soon. `cursor` is the id or key of the last view of the previous page.
     * @throws Problem `not-found` and `forbidden` about `app`, `invalid-input` on `cursor`
     */
    list: async (
      actor: Actor,
      filter: Filter,
      { cursor, ...page }: ItemPageRequest,
    ): Promise<AccessViewRow[]> => {
      const rows = listedAccessViews(em, actor, await toRowFilter(actor, filter));
      const id =
        cursor === undefined
          ? undefined
          : (await cursorRow(accessViewRows(em, actor).where(accessViewFoundBy(actor, cursor)))).id;
      return readPage(afterCursor(rows, 'access_views.id', id, 'desc'), 'access_views.id', page);
    },

    /**
     * Streams the whole list.
     * @throws Problem as `list`
     */
    stream: (actor: Actor, filter: Filter, encoder: AccessViewEncoder): Promise<ListStream> => {
      const open = async (reader: Actor) =>
        openAccessViewList(em, reader, await toRowFilter(reader, filter), encoder);
      return openListStream({ em, readRows, actor, open });
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, idOrKey: string): Promise<AccessViewRow> => readAccessView(em, actor, idOrKey),

    /** @throws Problem `not-found` */
    uses: async (actor: Actor, idOrKey: string, page: PageRequest) => {
      const { id } = await readAccessView(em, actor, idOrKey);
      return readPage(accessViewUses(em, actor, id), 'used.id', page);
    },

    /**
     * Streams all uses.
     * @throws Problem `not-found`
     */
    streamUses: async (actor: Actor, idOrKey: string, encoder: AccessViewUseEncoder): Promise<ListStream> => {
      // By its id from here on, because a use may give the view another key.
      const { id } = await readAccessView(em, actor, idOrKey);
      const open = async (reader: Actor) => {
        await readAccessView(em, reader, String(id));
        return openUseList(em, reader, id, encoder);
      };
      return openListStream({ em, readRows, actor, open });
    },
  };
};
