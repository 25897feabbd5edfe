import type { Client } from 'pg';

/** Days on which somebody was there, each with the days since their previous day: at most 90. */
const ABSENCES = `
  select day, count(*) as actions, coalesce(least(day - lag(day) over (partition by email order by day), 90), 90) as away
  from (select email, (occurred_at at time zone 'UTC')::date as day from usage_entries where app_id = $1) as days
  group by email, day`;

const NEWCOMERS = Array.from({ length: 90 }, (_, index) => `count(*) filter (where away > ${index})::int`);

/** What the log says, and what is kept of it. */
const PAIRS: Record<string, [counted: string, kept: string]> = {
  usage_days: [
    `select email, (occurred_at at time zone 'UTC')::date, count(*)::int from usage_entries where app_id = $1 group by 1, 2`,
    'select email, day, actions from usage_days where app_id = $1',
  ],
  usage_stack_days: [
    `select stack, (occurred_at at time zone 'UTC')::date, count(*)::int from usage_entries
    where app_id = $1 and stack is not null group by 1, 2`,
    'select stack, day, actions from usage_stack_days where app_id = $1',
  ],
  usage_app_days: [
    `select day, sum(actions)::int, array[${NEWCOMERS.join(', ')}] from (${ABSENCES}) as absences group by day`,
    'select day, actions, retention_histogram from usage_app_days where app_id = $1',
  ],
  usage_windows: [
    `select ${[30, 60, 90]
      .flatMap((days) => {
        const within = `filter (where windows.day - (occurred_at at time zone 'UTC')::date < ${days})`;
        return [`count(*) ${within}`, `count(distinct email) ${within}`];
      })
      .join(', ')}
    from usage_windows windows
    left join usage_entries entries on entries.app_id = windows.app_id and occurred_at >= windows.day - 89
    where windows.app_id = $1`,
    'select actions30, users30, actions60, users60, actions90, users90 from usage_windows where app_id = $1',
  ],
};

/** Names of the rollups of an app that are not what its log says. */
export const differencesOf = async (database: Client, appId: string): Promise<string[]> => {
  const names: string[] = [];
  for (const [name, [counted, kept]] of Object.entries(PAIRS)) {
    const { rows } = await database.query(
      `(${counted} except ${kept}) union all (${kept} except ${counted}) limit 1`,
      [appId],
    );
    if (rows.length > 0) names.push(name);
  }
  return names;
};
