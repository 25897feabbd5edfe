import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { JsonStream } from '../../db/json-stream/json-stream.ts';
import type { ReadRows } from '../../db/row-cursor.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { currentDeadline } from '../../lib/deadline.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { listText } from '../access/json-list-stream.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { reloadActor } from '../auth/identity.ts';
import { readUser } from '../users/user-rows.ts';
import type { UsageTexts } from './usage-json.ts';
import { type UsageFilter, type UsageRow, usagePage, usagePages, usageRows } from './usage-pages.ts';

export const DEFAULT_WINDOW_DAYS = 30;

/** A page for a screen; entries may be large. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;
/** A stream lasts as long as its reader likes. */
const ASKED_AGAIN_MS = 1_000;

export type UsagePageInput = Omit<UsageFilter, 'appId'> & { limit: number };

type Deps = { em: SqlEntityManager; clock: Clock; readRows: ReadRows };

/** Reads the usage log. */
export const createUsage = ({ em, clock, readRows }: Deps) => {
  const since = (days: number): Date => new Date(clock.now().getTime() - days * DAY_MS);

  return {
    /**
     * The log of an app, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    listByApp: async (
      actor: Actor,
      appId: string,
      windowDays: number,
    ): Promise<AsyncIterable<UsageRow[]>> => {
      await requireViewableApp(em, actor, appId);
      return whileAllowed(em, actor, appId, usagePages(em, { appId, since: since(windowDays) }));
    },

    /**
     * The same as text.
     * @throws Problem as `ofApp`
     */
    ofAppText: (actor: Actor, appId: string, windowDays: number, texts: UsageTexts): Promise<JsonStream> => {
      const filter = { appId, since: since(windowDays) };
      const prepare = async (reader: Actor) => {
        await requireViewableApp(em, reader, appId);
        return texts(em, filter);
      };
      return listText({ em, readRows, actor, prepare });
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

    /** @throws Problem `not-found`, `forbidden` */
    listByUser: async (
      actor: Actor,
      email: string,
      appId: string,
      windowDays: number,
    ): Promise<AsyncIterable<UsageRow[]>> => {
      await readUser(em, actor, email);
      await requireViewableApp(em, actor, appId);
      return whileAllowed(em, actor, appId, usagePages(em, { appId, email, since: since(windowDays) }));
    },

    /**
     * The same as text.
     * @throws Problem as `ofUser`
     */
    ofUserText: (
      actor: Actor,
      { email, appId, windowDays }: { email: string; appId: string; windowDays: number },
      texts: UsageTexts,
    ): Promise<JsonStream> => {
      const filter = { appId, email, since: since(windowDays) };
      const prepare = async (reader: Actor) => {
        await readUser(em, reader, email);
        await requireViewableApp(em, reader, appId);
        return texts(em, filter);
      };
      return listText({ em, readRows, actor, prepare });
    },
  };
};

/**
 * Ends with the access of whoever reads: asks for it again from time to time.
 * @throws Problem `unauthenticated`, `not-found`, `forbidden`
 */
async function* whileAllowed<T>(
  em: SqlEntityManager,
  actor: Actor,
  appId: string,
  pages: AsyncIterable<T>,
  deadline = currentDeadline(),
): AsyncGenerator<T> {
  let askedAt = performance.now();
  for await (const page of pages) {
    if (performance.now() - askedAt > ASKED_AGAIN_MS) {
      const again = await reloadActor(em, actor);
      if (!again) throw new Problem('unauthenticated');
      await requireViewableApp(em, again, appId);
      askedAt = performance.now();
    }
    // A reader takes the rest as slowly as they like.
    deadline?.lift();
    yield page;
  }
}
