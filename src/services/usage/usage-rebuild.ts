import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../tables.ts';
import { lockUsage } from './usage-log.ts';
import { ensureMonths, logMonths } from './usage-partitions.ts';
import { awayBefore, newcomersOf, PLACES } from './usage-rollups.ts';
import { refreshWindow } from './usage-windows.ts';

/**
 * Counts the rollups of an app anew from its log, in one transaction; whoever writes to this app waits meanwhile. Days
 * before the first month of the log, which only rollups remember, stay as they are.
 */
export const rebuildUsage = (em: SqlEntityManager, appId: string, now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    const db = tables(tx);
    // However long it takes: the limit is for requests.
    await sql`set local statement_timeout = 0`.execute(db);
    const months = await logMonths(tx);
    const [first] = months;
    if (!first) return;
    await ensureMonths(tx, months);
    await lockUsage(tx, appId);

    await sql`delete from usage_days where app_id = ${appId}`.execute(db);
    await sql`
      insert into usage_days (app_id, email, day, actions)
      select app_id, email, (occurred_at at time zone 'UTC')::date, count(*)
      from usage_entries where app_id = ${appId} group by 1, 2, 3`.execute(db);
    await recountDays(tx, appId, first);
    await sql`delete from usage_stack_days where app_id = ${appId} and day >= ${first}::date`.execute(db);
    await sql`
      insert into usage_stack_days (app_id, day, stack, actions)
      select app_id, (occurred_at at time zone 'UTC')::date, stack, count(*)
      from usage_entries where app_id = ${appId} and stack is not null group by 1, 2, 3`.execute(db);
    await refreshWindow(tx, appId, now);
  });

/**
 * In its first month the log does not know who was there before. A day of it that is right otherwise keeps the newcomers
 * it has, which were counted when the log still knew.
 */
const recountDays = async (tx: SqlEntityManager, appId: string, first: Date): Promise<void> => {
  const db = tables(tx);
  await sql`
    delete from usage_app_days known where app_id = ${appId} and day >= ${first}::date and not exists (
      select from usage_days where app_id = known.app_id and day = known.day)`.execute(db);
  await sql`
    insert into usage_app_days (app_id, day, actions, newcomers)
    select ${appId}, day, sum(actions), ${newcomersOf}
    from (
      select day, actions, 1 as people,
        ${awayBefore(sql`day`, sql`lag(day) over (partition by email order by day)`)} as away
      from usage_days where app_id = ${appId}
    ) as days group by day
    on conflict (app_id, day) do update set
      actions = excluded.actions,
      newcomers = case
        when usage_app_days.day < ${first}::date + ${sql.lit(PLACES.length)}
          and usage_app_days.actions = excluded.actions
          and usage_app_days.newcomers[1] = excluded.newcomers[1]
        then usage_app_days.newcomers else excluded.newcomers end`.execute(db);
};
