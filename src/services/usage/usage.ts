import type { ListStream } from '../../db/list-pages.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireLister } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readUser } from '../users/user-rows.ts';
import {
  openUsageList,
  type UsageEncoder,
  type UsageFilter,
  type UsageRow,
  usagePage,
  usageRows,
} from './usage-rows.ts';

/** Of one page; entries may be large. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

export type UsageStreamFilter = { windowDays: number } & (
  | { appId: string; email?: string | undefined }
  | { appId?: undefined; email: string }
);

/** Reads the usage log. Users and apps that the actor may not see are not found. */
export const createUsage = ({ em, clock, readList }: UnitOfWork) => ({
  /**
   * Streams the log of an app, newest first, optionally of one user only, or that of a user in all apps whose usage the
   * actor may see.
   * @throws Problem `not-found`, `forbidden`
   */
  stream: (
    actor: Actor,
    { windowDays, ...filter }: UsageStreamFilter,
    encoder: UsageEncoder,
  ): Promise<ListStream> => {
    const since = new Date(clock.now().getTime() - windowDays * DAY_MS);
    const open = async (reader: Actor) => {
      if (filter.email !== undefined) await readUser(em, reader, filter.email);
      if (filter.appId === undefined) {
        // Without the role, the rest of the list would be empty.
        requireLister(reader);
        return openUsageList(em, { ...filter, viewer: reader, since }, encoder);
      }
      await requireViewableApp(em, reader, filter.appId);
      return openUsageList(em, { ...filter, since }, encoder);
    };
    return openListStream({ em, readList, actor, open });
  },

  /**
   * One page of an app's log, newest first.
   * @throws Problem `not-found`, `forbidden`
   */
  page: async (actor: Actor, { limit, ...filter }: UsageFilter & { appId: string; limit: number }) => {
    await requireViewableApp(em, actor, filter.appId);
    return usagePage(em, filter, limit, MAX_PAGE_CHARACTERS);
  },

  /**
   * What a user did last in an app.
   * @throws Problem `not-found`, also when there is no entry
   */
  latestOfUser: async (actor: Actor, email: string, appId: string): Promise<UsageRow> => {
    await readUser(em, actor, email);
    await requireViewableApp(em, actor, appId);
    const row = await usageRows(em, { appId, email }).limit(1).executeTakeFirst();
    if (!row) throw notFound('usage entry');
    return row;
  },
});
