import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../tables.ts';

type Window = { actions: number; users: number };
/** The last 30 days, the 30 before those, and the 30 before those: they do not overlap. */
export type UsageWindows = { '30': Window; '60': Window; '90': Window };

const unused = (): UsageWindows => ({
  '30': { actions: 0, users: 0 },
  '60': { actions: 0, users: 0 },
  '90': { actions: 0, users: 0 },
});

/** Sums the daily rollup of all these apps in one statement; an app without usage has zeros. */
export const usageWindows = async (
  em: SqlEntityManager,
  appIds: readonly string[],
  now: Date,
): Promise<(appId: string) => UsageWindows> => {
  const today = now.toISOString().slice(0, 10);
  const rows = await tables(em)
    .selectFrom('usage_days')
    .select('app_id')
    .select(sql<number>`(${today}::date - day) / 30`.as('window'))
    .select(sql<number>`sum(actions)::int`.as('actions'))
    .select(sql<number>`count(distinct email)::int`.as('users'))
    .where(sql<boolean>`app_id = any(${[...appIds]}::varchar[])`)
    .where(sql<boolean>`day > ${today}::date - 90 and day <= ${today}::date`)
    .groupBy(['app_id', 'window'])
    .execute();

  const byApp = new Map<string, UsageWindows>();
  for (const { app_id, window, actions, users } of rows) {
    const windows = byApp.get(app_id) ?? unused();
    windows[(['30', '60', '90'] as const)[window] ?? '90'] = { actions, users };
    byApp.set(app_id, windows);
  }
  return (appId) => byApp.get(appId) ?? unused();
};
