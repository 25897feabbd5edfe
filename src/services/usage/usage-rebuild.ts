import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { ensureMonths, logMonths, RETENTION_LOCK } from './usage-partitions.ts';
import { daysSinceVisit, retentionHistogram } from './usage-rollups.ts';
import { refreshWindow } from './usage-windows.ts';
import { lockUsage } from './usage-writes.ts';

/**
 * Recomputes the rollups of an app from its log, in one transaction that blocks writes to this app. Rollups of days before
 * the first month of the log stay as they are.
 */
export const rebuildUsage = (em: Db, appId: string, now: Date): Promise<void> =>
  em.transactional(async (tx) => {
    const db = tables(tx);
    // The timeouts are for requests.
    await sql`set local statement_timeout = 0`.execute(db);
    await sql`set local lock_timeout = 0`.execute(db);
    // If a month were dropped in between, its rollups would be lost.
    await sql`select pg_advisory_xact_lock(${RETENTION_LOCK})`.execute(db);
    await ensureMonths(tx, await logMonths(tx));
    await lockUsage(appId).execute(db);
    const [first] = await logMonths(tx);
    if (!first) return;

    for (const table of ['usage_days', 'usage_app_days', 'usage_stack_days']) {
      await sql`delete from ${sql.table(table)} where app_id = ${appId} and day >= ${first}::date`.execute(
        db,
      );
    }
    await sql`
      insert into usage_days (app_id, email, day, actions)
      select app_id, email, (occurred_at at time zone 'UTC')::date, count(*)
      from usage_entries where app_id = ${appId} group by 1, 2, 3`.execute(db);
    // Totals by user go back further than a short log, so its first days have the right absences.
    await sql`
      insert into usage_app_days (app_id, day, actions, retention_histogram)
      select ${appId}, day, sum(actions), ${retentionHistogram}
      from (
        -- Grouped first: retention_histogram looks at each row 90 times.
        select day, away, sum(actions) as actions, count(*) as people from (
          select day, actions,
            ${daysSinceVisit(sql`day`, sql`lag(day) over (partition by email order by day)`)} as away
          from usage_days where app_id = ${appId}
        ) as people group by day, away
      ) as days where day >= ${first}::date group by day`.execute(db);
    await sql`
      insert into usage_stack_days (app_id, day, stack, actions)
      select app_id, (occurred_at at time zone 'UTC')::date, stack, count(*)
      from usage_entries where app_id = ${appId} and stack is not null group by 1, 2, 3`.execute(db);
    for (const statement of refreshWindow(appId, now)) await statement.execute(db);
  });
