import { type RawBuilder, sql } from 'kysely';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';

/** The apps whose usage a person has, in the order in which their locks are taken. */
export const usedApps = async (tx: Em, email: string): Promise<string[]> => {
  const days = kysely(tx).selectFrom('usage_days').select('app_id').where('email', '=', email);
  return (await days.distinct().orderBy('app_id').execute()).map(({ app_id }) => app_id);
};

/** Of these apps, those of clients that the user belongs to, in the same order. */
export const ownAppsAmong = async (tx: Em, userId: number, apps: readonly string[]): Promise<string[]> => {
  const own = kysely(tx)
    .selectFrom('apps')
    .innerJoin('memberships', 'memberships.client_id', 'apps.client_id')
    .select('apps.id')
    .where('memberships.user_id', '=', userId)
    .where(isAnyOf('apps.id', apps, 'varchar'));
  return (await own.orderBy('apps.id').execute()).map(({ id }) => id);
};

/** The number of entries of the log, by its totals: counting the log may take seconds. */
export const countEntries = (totals: 'usage_days' | 'usage_app_days', isCounted: RawBuilder<boolean>) =>
  sql<number>`(select coalesce(sum(actions), 0)::bigint from ${sql.table(totals)} where ${isCounted})`;

/**
 * Moves the totals of a person to another name, which may already have some: a report was written at the same time.
 * @param apps all without it
 */
export const moveUsageDays = (
  from: string,
  to: string,
  apps?: readonly string[],
  isDue: RawBuilder<unknown> = sql`true`,
) => sql`
  with moved as (
    delete from usage_days where email = ${from} and ${apps ? isAnyOf('app_id', apps, 'varchar') : sql`true`}
      and ${isDue}
    returning app_id, day, actions)
  insert into usage_days (app_id, email, day, actions) select app_id, ${to}, day, actions from moved
  on conflict (app_id, email, day) do update set actions = usage_days.actions + excluded.actions`;
