import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';

/** The apps whose usage a person has, in the order in which their locks are taken. */
export const usedApps = async (tx: Em, email: string): Promise<string[]> => {
  const days = kysely(tx).selectFrom('usage_days').select('app_id').where('email', '=', email);
  return (await days.distinct().orderBy('app_id').execute()).map(({ app_id }) => app_id);
};

/** Moves the totals of a person to another name, which may already have some: a report was written at the same time. */
export const moveUsageDays = (from: string, to: string) => sql`
  with moved as (
    delete from usage_days where email = ${from} returning app_id, day, actions)
  insert into usage_days (app_id, email, day, actions) select app_id, ${to}, day, actions from moved
  on conflict (app_id, email, day) do update set actions = usage_days.actions + excluded.actions`;
