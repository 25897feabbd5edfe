import { type RawBuilder, sql } from 'kysely';
import { kysely } from '../../db/kysely.ts';
import { type PageRequest, pageOfRows, reportCount } from '../../db/pagination.ts';
import { invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo, userVisibleTo } from '../access/visibility.ts';
import { readUserId } from '../accounts/addresses.ts';
import { fullName } from '../accounts/user-rows.ts';
import {
  type AppFilter,
  appMatches,
  appsAfter,
  type ItemPageRequest,
  requireViewableApp,
  usageVisibleTo,
} from '../apps/app-rows.ts';
import { dayOf } from '../apps/usage-windows.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

type TopApp = { id: string; client: number; slug: string; label: string; actions: number };

type Subject = { appId?: string | undefined; email?: string | undefined };

/** Usage for charts and rankings, and lists of unused items. Reads the rollups, never the log. */
export const createUsageStats = ({ em, clock }: Pick<UnitOfWork, 'em' | 'clock'>) => {
  const today = () => dayOf(clock.now());
  const inWindow = (days: number) => sql`day <= ${today()}::date and day > ${today()}::date - ${days}::int`;

  const matchingApps = async (actor: Actor, filter: AppFilter, page: ItemPageRequest) => {
    const rows = (await appsAfter(em, actor, clock.now(), page.cursor))
      .where(appMatches(actor, filter, today()))
      .where(clientVisibleTo(actor, sql`apps.client_id`));
    await reportCount(rows, page);
    return pageOfRows(rows, 'apps.id', page)
      .clearSelect()
      .select(['apps.id', 'apps.client_id as client', 'apps.slug', 'apps.label', 'apps.in_maintenance']);
  };

  return {
    /**
     * All days until today, oldest first: of an app, of a user in the apps whose usage the actor may see, or of a user in an app.
     * @throws Problem `not-found`, `forbidden`, `invalid-input` without app and user
     */
    series: async (actor: Actor, { appId, email }: Subject, windowDays: number, { page }: PageRequest) => {
      if (appId === undefined && email === undefined) {
        throw invalid({ app_id: ['Set app_id, email or both.'] });
      }
      if (appId !== undefined) await requireViewableApp(em, actor, clock.now(), appId);
      const counted =
        email === undefined ? ofApp(appId ?? '') : ofUser(actor, await readUserId(em, actor, email), appId);
      const { rows } = await sql<{ day: string; actions: number; users: number }>`
        select all_days.day::text, coalesce(actions, 0)::bigint as actions, coalesce(users, 0)::int as users
        from (select ${today()}::date - ago as day from generate_series(0, ${windowDays}::int - 1) as ago) as all_days
        left join (${counted} and ${inWindow(windowDays)} group by day) as counted using (day)
        order by all_days.day
        limit ${page?.size ?? null} offset ${page ? (page.number - 1) * page.size : 0}`.execute(kysely(em));
      page?.tellCount(windowDays);
      return rows;
    },

    /**
     * The most active users of an app, with the names that the actor may see, and its most used stacks.
     * @throws Problem `not-found`, `forbidden`
     */
    topOfApp: async (actor: Actor, appId: string, windowDays: number, limit: number) => {
      await requireViewableApp(em, actor, clock.now(), appId);
      const of = { appId, isInWindow: inWindow(windowDays), limit };
      const users = await topUsers(actor, of).execute(kysely(em));
      const stacks = await topStacks(of).execute(kysely(em));
      return { users: users.rows, stacks: stacks.rows };
    },

    /**
     * The most used apps of one client or of all, among the apps whose usage the actor may see.
     * @throws Problem `not-found`
     */
    topApps: async (actor: Actor, client: number | undefined, windowDays: number, limit: number) => {
      if (client !== undefined) await readClient(em, actor, client);
      const { rows } = await sql<TopApp>`
        select apps.id, client_id as client, slug, label, actions
        from (
          select app_id, sum(actions)::bigint as actions from usage_app_days
          where ${usageVisibleTo(actor, { client })} and ${inWindow(windowDays)} group by app_id
        ) as used join apps on apps.id = used.app_id where actions > 0
        order by actions desc, label, apps.id limit ${limit}`.execute(kysely(em));
      return rows;
    },

    /**
     * The apps, oldest first, with the actions of each of the last days.
     * @throws Problem `invalid-input` on `cursor`
     */
    dailyByApp: async (actor: Actor, filter: AppFilter, windowDays: number, page: ItemPageRequest) =>
      (await matchingApps(actor, filter, page))
        .select('apps.created_at')
        .select(
          sql<number[]>`array_to_json(array(
            select coalesce(d.actions, 0) from generate_series(${windowDays}::int - 1, 0, -1) as ago
            left join usage_app_days d on d.app_id = apps.id and d.day = ${today()}::date - ago
            order by ago desc))`.as('daily_actions'),
        )
        .execute(),

    /**
     * Apps without use in the last days, oldest first, with the last day on which they were used.
     * @throws Problem `invalid-input` on `cursor`
     */
    idleApps: async (actor: Actor, filter: AppFilter & { unused_days: number }, page: ItemPageRequest) =>
      (await matchingApps(actor, filter, page))
        .select([
          'apps.created_at',
          ({ selectFrom }) =>
            selectFrom('usage_app_days as d')
              .select(({ fn }) => fn.max('d.day').as('day'))
              .whereRef('d.app_id', '=', 'apps.id')
              .where('d.actions', '>', 0)
              .as('last_used_day'),
        ])
        .execute(),
  };
};

const ofApp = (appId: string) => sql`
  select day, sum(actions) as actions, sum(retention_histogram[1]) as users from usage_app_days where app_id = ${appId}`;

const ofUser = (actor: Actor, userId: number, appId: string | undefined) => sql`
  select day, sum(actions) as actions, 1 as users from usage_days
  where user_id = ${userId} and ${usageVisibleTo(actor, { appId })}`;

type Top = { appId: string; isInWindow: RawBuilder<unknown>; limit: number };

/** For people whom the actor does not see, the address that the app has reported last. */
const topUsers = (actor: Actor, { appId, isInWindow, limit }: Top) =>
  sql<{ email: string; full_name: string; actions: number; days: number }>`
    select case when top.user_id = 0 then top.email when ${userVisibleTo(actor)} then users.email
        else (select e.email from usage_entries e where e.app_id = ${appId} and e.user_id = top.user_id
          order by e.occurred_at desc limit 1) end as email,
      coalesce(case when ${userVisibleTo(actor)} then ${fullName('users')} end, '') as full_name, actions, days
    from (
      select user_id, email, sum(actions)::bigint as actions, count(*) as days from usage_days
      where app_id = ${appId} and ${isInWindow} group by user_id, email order by actions desc, email, user_id limit ${limit}
    ) as top left join users on users.id = top.user_id
    order by actions desc, email`;

const topStacks = ({ appId, isInWindow, limit }: Top) =>
  sql<{ stack: string; label: string; actions: number }>`
    select stack, coalesce(label, stack) as label, actions
    from (
      select stack, sum(actions)::bigint as actions from usage_stack_days
      where app_id = ${appId} and ${isInWindow} group by stack order by actions desc, stack limit ${limit}
    ) as top left join stacks on stacks.id = top.stack and stacks.app_id = ${appId}
    order by actions desc, stack`;
