import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';

/**
 * SQL over a row of usage with `user_id` and `email`: whether it belongs to the account, or to one of these addresses without an account.
 */
export const isUsageOf = (userId: number | null, addresses: readonly string[]) =>
  condition`(user_id = ${userId}::int or coalesce(user_id, 0) = 0 and email = any(${[...addresses]}::varchar[]))`;

/** The apps with usage of a person, in the order in which their locks are taken. */
export const usedApps = async (tx: Em, isOfPerson: RawBuilder<boolean>): Promise<string[]> => {
  const days = kysely(tx).selectFrom('usage_days').select('app_id').where(isOfPerson);
  return (await days.distinct().orderBy('app_id').execute()).map(({ app_id }) => app_id);
};

/** The number of entries of the log, by its totals: counting the log may take seconds. */
export const countEntries = (totals: 'usage_days' | 'usage_app_days', isCounted: RawBuilder<boolean>) =>
  sql<number>`(select coalesce(sum(actions), 0)::bigint from ${sql.table(totals)} where ${isCounted})`;

/** Moves the totals of an address without an account to the pseudonym of the person, which may already have totals. */
export const moveUsageDays = (from: string, to: { userId: number | null; pseudonym: string }) => sql`
  with moved as (
    delete from usage_days where user_id = 0 and email = ${from} returning app_id, day, actions)
  insert into usage_days (app_id, user_id, email, day, actions)
  select app_id, ${to.userId ?? 0}::int, ${to.userId === null ? to.pseudonym : ''}, day, actions from moved
  on conflict (app_id, user_id, email, day) do update set actions = usage_days.actions + excluded.actions`;
