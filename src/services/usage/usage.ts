import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Clock, DAY_MS } from '../../core/clock.ts';
import { notFound } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { overseenApp } from '../apps/app-rows.ts';
import { userRow } from '../people/user-rows.ts';
import { type UsageFilter, type UsageRow, usagePages, usageRows } from './usage-pages.ts';

export const DEFAULT_WINDOW_DAYS = 30;

export type UsagePageInput = Omit<UsageFilter, 'appId'> & { limit: number };

/** Reads the usage log. */
export const createUsage = ({ em, clock }: { em: SqlEntityManager; clock: Clock }) => {
  const since = (days: number): Date => new Date(clock.now().getTime() - days * DAY_MS);

  return {
    /**
     * The log of an app, newest first.
     * @throws Problem `not-found`, `not-allowed`
     */
    ofApp: async (actor: Actor, appId: string, windowDays: number): Promise<AsyncIterable<UsageRow[]>> => {
      await overseenApp(em, actor, appId);
      return usagePages(em, { appId, since: since(windowDays) });
    },

    /**
     * One page of an app's log, newest first.
     * @throws Problem `not-found`, `not-allowed`
     */
    page: async (actor: Actor, appId: string, { limit, ...filter }: UsagePageInput): Promise<UsageRow[]> => {
      await overseenApp(em, actor, appId);
      return usageRows(em, { ...filter, appId })
        .limit(limit)
        .execute();
    },

    /**
     * What a user did last in an app.
     * @throws Problem `not-found`, also when there is no entry
     */
    latestOfUser: async (actor: Actor, email: string, appId: string): Promise<UsageRow> => {
      await userRow(em, actor, email);
      await overseenApp(em, actor, appId);
      const row = await usageRows(em, { appId, email }).limit(1).executeTakeFirst();
      if (!row) throw notFound('usage entry');
      return row;
    },

    /** @throws Problem `not-found`, `not-allowed` */
    ofUser: async (
      actor: Actor,
      email: string,
      appId: string,
      windowDays: number,
    ): Promise<AsyncIterable<UsageRow[]>> => {
      await userRow(em, actor, email);
      await overseenApp(em, actor, appId);
      return usagePages(em, { appId, email, since: since(windowDays) });
    },
  };
};
