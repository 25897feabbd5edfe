import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { PageRequest } from '../../db/pagination.ts';
import { invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { requireViewableApp, viewableAppIds } from '../apps/app-rows.ts';
import type { Unit } from '../unit.ts';
import { readUser } from '../users/user-rows.ts';
import { dayOf } from './usage-windows.ts';

/** One UTC day; `day` is `YYYY-MM-DD`. */
type UsageDayCount = { day: string; actions: number; users: number };
type TopUser = { email: string; full_name: string; actions: number; days: number };
type TopStack = { stack: string; label: string; actions: number };

type Subject = { appId?: string | undefined; email?: string | undefined };

/** Usage for charts and rankings. Reads the rollups, never the log. */
export const createUsageStats = ({ em, clock }: Unit) => ({
  /**
   * All days until today, oldest first: of an app, of a user in the apps whose usage the actor may see, or of a user in
   * an app.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` without app and user
   */
  series: async (actor: Actor, { appId, email }: Subject, windowDays: number, { page }: PageRequest) => {
    if (appId === undefined && email === undefined) {
      throw invalid({ app_id: ['Set app_id, email or both.'] });
    }
    if (appId !== undefined) await requireViewableApp(em, actor, appId);
    if (email !== undefined) await readUser(em, actor, email);
    const counted =
      appId !== undefined && email === undefined ? ofApp(appId) : ofUser(actor, email ?? '', appId);
    const { rows } = await sql<UsageDayCount>`
      select all_days.day::text, coalesce(actions, 0)::bigint as actions, coalesce(users, 0)::int as users
      from (select ${dayOf(clock.now())}::date - ago as day from generate_series(0, ${windowDays}::int - 1) as ago) as all_days
      left join (
        ${counted} and day > ${dayOf(clock.now())}::date - ${windowDays}::int group by day
      ) as counted using (day) order by all_days.day
      limit ${page?.size ?? null} offset ${page ? (page.number - 1) * page.size : 0}`.execute(tables(em));
    page?.tellCount(windowDays);
    return rows;
  },

  /**
   * The most active users of an app, with the names that the actor may see, and its most used stacks.
   * @throws Problem `not-found`, `forbidden`
   */
  top: async (actor: Actor, appId: string, windowDays: number, limit: number) => {
    await requireViewableApp(em, actor, appId);
    const inWindow = sql`app_id = ${appId} and day <= ${dayOf(clock.now())}::date
      and day > ${dayOf(clock.now())}::date - ${windowDays}::int`;
    const users = await sql<TopUser>`
      select top.email, coalesce(trim(first_name || ' ' || last_name), '') as full_name, actions, days
      from (
        select email, sum(actions)::bigint as actions, count(*) as days from usage_days
        where ${inWindow} group by email order by actions desc, email limit ${limit}
      ) as top left join users on users.email = top.email and ${userVisibleTo(actor)}
      order by actions desc, top.email`.execute(tables(em));
    const stacks = await sql<TopStack>`
      select stack, coalesce(label, stack) as label, actions
      from (
        select stack, sum(actions)::bigint as actions from usage_stack_days
        where ${inWindow} group by stack order by actions desc, stack limit ${limit}
      ) as top left join stacks on stacks.id = top.stack and stacks.app_id = ${appId}
      order by actions desc, stack`.execute(tables(em));
    return { users: users.rows, stacks: stacks.rows };
  },
});

const ofApp = (appId: string) => sql`
  select day, sum(actions) as actions, sum(retention_histogram[1]) as users from usage_app_days where app_id = ${appId}`;

const ofUser = (actor: Actor, email: string, appId: string | undefined) => sql`
  select day, sum(actions) as actions, 1 as users from usage_days
  where email = ${email} and ${
    appId === undefined ? sql`app_id = any(${viewableAppIds(actor)})` : sql`app_id = ${appId}`
  }`;
