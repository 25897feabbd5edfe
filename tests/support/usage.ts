import { sql } from 'kysely';
import { DAY_MS } from '../../src/lib/clock.ts';
import { type UsageEntryInput, writeUsage } from '../../src/services/usage/usage-writes.ts';
import type { TestApp } from './test-app.ts';
import { NOON } from './time.ts';

/** Apps of the demo workspace. */
export const SALES = 'zylTKNVx';
export const CHURN = 'Qm3vR8pa';
export const FLEET = 'Hb7cW2ke';

/** A usage entry as the log stores it, `daysAgo` days before NOON. */
export const logEntry = (
  daysAgo: number,
  email = 'w@x.test',
  stack: string | null = null,
): UsageEntryInput => ({
  entryKey: null,
  email,
  fullName: 'W X',
  action: 'STACK_ACCESS',
  actionDescription: '',
  stack,
  extra: JSON.stringify(stack === null ? {} : { stack }),
  occurredAt: new Date(NOON.getTime() - daysAgo * DAY_MS),
});

/** More entries of an app than one page has. */
export const fillPages = (app: TestApp, appId: string) =>
  writeUsage(
    app.orm.em.fork(),
    appId,
    Array.from({ length: 1_500 }, (_, n) => logEntry(n % 100)),
    app.clock.now(),
  );

/** All items of a streamed list. */
export const collectPages = async <T>(pages: AsyncIterable<T[]>): Promise<T[]> =>
  (await Array.fromAsync(pages)).flat();

/**
 * Compares the rollups of an app with a plain count of its log, independent of how they are maintained. Returns the
 * differences. `today` is the last day of the windows.
 */
export const rollupDifferences = async (
  app: Pick<TestApp, 'db'>,
  appId: string,
  today: string,
): Promise<unknown[]> => {
  const db = app.db();
  const faults = await sql`
    with log as materialized (
      select coalesce(user_id::text, email) as email, (occurred_at at time zone 'UTC')::date as day, stack from usage_entries where app_id = ${appId}
    ),
    people as materialized (select email, day, count(*) as actions from log group by email, day),
    visits as materialized (
      select day, actions, (select max(q.day) from people q where q.email = p.email and q.day < p.day) as before
      from people p
    ),
    days as (
      select day, max(actions) as actions, array_agg(newcomers order by place) as retention_histogram
      from (
        select day, place, sum(actions) as actions,
          count(*) filter (where before is null or before <= day - place) as newcomers
        from visits, generate_series(1, 90) as place group by day, place
      ) as places group by day
    ),
    stacks as (select day, stack, count(*) as actions from log where stack is not null group by day, stack),
    windows as (
      select span, count(log.day) as actions, count(distinct email) as users
      from generate_series(30, 90, 30) as span
      left join log on log.day <= ${today}::date and log.day > ${today}::date - span
      group by span
    )
    select 'person' as kind, to_json(a) as rollup, to_json(b) as counted
    from (select coalesce(nullif(user_id, 0)::text, email) as email, day, actions from usage_days where app_id = ${appId}) a
    full join people b on a.email = b.email and a.day = b.day where a.actions is distinct from b.actions
    union all
    select 'day', to_json(a), to_json(b)
    from (select day, actions, retention_histogram from usage_app_days where app_id = ${appId}) a
    full join days b using (day)
    where a.actions is distinct from b.actions or a.retention_histogram::bigint[] is distinct from b.retention_histogram
    union all
    select 'stack', to_json(a), to_json(b)
    from (select day, stack, actions from usage_stack_days where app_id = ${appId}) a
    full join stacks b using (day, stack) where a.actions is distinct from b.actions
    union all
    select 'window', to_json(a), to_json(b)
    from (
      select span, (array[actions30, actions60, actions90])[span / 30] as actions,
        (array[users30, users60, users90])[span / 30] as users
      from usage_windows, generate_series(30, 90, 30) as span where app_id = ${appId}
    ) a full join windows b using (span)
    where coalesce(a.actions, 0) <> b.actions or coalesce(a.users, 0) <> b.users
    limit 5`.execute(db);
  return faults.rows;
};
