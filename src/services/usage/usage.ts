import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Clock, DAY_MS } from '../../core/clock.ts';
import { notFound } from '../../core/problems.ts';
import type { Actor } from '../actor.ts';
import { userRow } from '../people/user-rows.ts';
import { tables } from '../tables.ts';
import { overseenApp } from './app-rows.ts';

export const DEFAULT_WINDOW_DAYS = 30;

export const createUsage = ({ em, clock }: { em: SqlEntityManager; clock: Clock }) => {
  const since = (days: number): Date => new Date(clock.now().getTime() - days * DAY_MS);

  return {
    /**
     * The log of an app, newest first.
     * @throws Problem `not-found`
     */
    ofApp: async (actor: Actor, appId: string, windowDays: number): Promise<UsageRow[]> => {
      await overseenApp(em, actor, appId);
      return usageRows(em).where('app_id', '=', appId).where('occurred_at', '>', since(windowDays)).execute();
    },

    /**
     * What a user did last in an app.
     * @throws Problem `not-found`, also when there is no entry
     */
    latestOfUser: async (actor: Actor, email: string, appId: string): Promise<UsageRow> => {
      await userRow(em, actor, email);
      await overseenApp(em, actor, appId);
      const row = await usageRows(em)
        .where('app_id', '=', appId)
        .where('email', '=', email)
        .limit(1)
        .executeTakeFirst();
      if (!row) throw notFound('usage entry');
      return row;
    },

    /** @throws Problem `not-found` */
    ofUser: async (actor: Actor, email: string, appId: string, windowDays: number): Promise<UsageRow[]> => {
      await userRow(em, actor, email);
      await overseenApp(em, actor, appId);
      return usageRows(em)
        .where('app_id', '=', appId)
        .where('email', '=', email)
        .where('occurred_at', '>', since(windowDays))
        .execute();
    },
  };
};

const usageRows = (em: SqlEntityManager) =>
  tables(em)
    .selectFrom('usage_entries')
    .select(['action_description', 'email', 'full_name', 'occurred_at', 'action', 'extra'])
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');

export type UsageRow = Awaited<ReturnType<ReturnType<typeof usageRows>['execute']>>[number];
