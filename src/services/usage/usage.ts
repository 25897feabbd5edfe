import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { ListStream } from '../../db/list-stream.ts';
import type { ReadTextRows } from '../../db/text-rows.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { readUser } from '../users/user-rows.ts';
import { type UsageFilter, type UsageRow, usagePage, usageRows } from './usage-pages.ts';
import { openUsageList, type UsageEncoder } from './usage-stream.ts';

export const DEFAULT_WINDOW_DAYS = 30;

/** A page for a screen; entries may be large. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

export type UsagePageInput = Omit<UsageFilter, 'appId'> & { limit: number };

type Deps = { em: SqlEntityManager; clock: Clock; readRows: ReadTextRows };

/** Reads the usage log. */
export const createUsage = ({ em, clock, readRows }: Deps) => {
  const since = (days: number): Date => new Date(clock.now().getTime() - days * DAY_MS);

  return {
    /**
     * Streams the log of an app, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    listByApp: (
      actor: Actor,
      appId: string,
      windowDays: number,
      encoder: UsageEncoder,
    ): Promise<ListStream> => {
      const filter = { appId, since: since(windowDays) };
      const open = async (reader: Actor) => {
        await requireViewableApp(em, reader, appId);
        return openUsageList(em, filter, encoder);
      };
      return openListStream({ em, readRows, actor, open });
    },

    /**
     * One page of an app's log, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    page: async (actor: Actor, appId: string, { limit, ...filter }: UsagePageInput) => {
      await requireViewableApp(em, actor, appId);
      return usagePage(em, { ...filter, appId }, limit, MAX_PAGE_CHARACTERS);
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

    /**
     * Streams what a user did in an app, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    listByUser: (
      actor: Actor,
      { email, appId, windowDays }: { email: string; appId: string; windowDays: number },
      encoder: UsageEncoder,
    ): Promise<ListStream> => {
      const filter = { appId, email, since: since(windowDays) };
      const open = async (reader: Actor) => {
        await readUser(em, reader, email);
        await requireViewableApp(em, reader, appId);
        return openUsageList(em, filter, encoder);
      };
      return openListStream({ em, readRows, actor, open });
    },
  };
};
