import { type RawBuilder, sql } from 'kysely';
import { condition, kysely } from '../../db/kysely.ts';
import { type PageRequest, pageOfRows, reportCount } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { appAccess, clientVisibleTo, isPerson, userVisibleTo } from '../access/visibility.ts';
import { readUserId } from '../accounts/addresses.ts';
import { fullName } from '../accounts/user-rows.ts';
import {
  type AppFilter,
  appMatches,
  appsAfter,
  type ItemPageRequest,
  isUnrecorded,
  requireViewableApp,
  usageVisibleTo,
} from '../apps/app-rows.ts';
import { isInMaintenance } from '../apps/maintenance.ts';
import { dayOf } from '../apps/usage-windows.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { endedPeriods, isDayIn, type UsageInterval } from './usage-report.ts';

type AppFigures = {
  id: string;
  client: number;
  slug: string;
  label: string;
  actions: number;
  full_actions: number;
  previous_full_actions: number;
  users: number;
  seats: number;
  unused_seats: number;
  is_unrecorded: boolean;
};

/** Which apps to count; without ids, all of a client, or all whose usage the actor may see. */
type FiguresRequest = {
  client?: number | undefined;
  ids?: readonly string[] | undefined;
  interval: UsageInterval;
  /** The number of intervals until today. */
  periods: number;
  sort: 'actions' | 'unused_seats';
  limit: number;
};

type Subject = { appId?: string | undefined; email?: string | undefined };

/** Usage for charts and rankings. Reads the rollups, never the log. */
export const createUsageStats = ({ em, clock }: Pick<UnitOfWork, 'em' | 'clock'>) => {
  const today = () => dayOf(clock.now());
  const inWindow = (days: number) => sql`day <= ${today()}::date and day > ${today()}::date - ${days}::int`;

  const matchingApps = async (actor: Actor, filter: AppFilter, page: ItemPageRequest) => {
    const rows = (await appsAfter(em, actor, clock.now(), page.cursor))
      .where(appMatches(actor, filter, clock.now()))
      .where(clientVisibleTo(actor, sql`apps.client_id`));
    await reportCount(rows, page);
    return pageOfRows(rows, 'apps.id', page)
      .clearSelect()
      .select(['apps.id', 'apps.client_id as client', 'apps.slug', 'apps.label'])
      .select(isInMaintenance(clock.now()).as('in_maintenance'));
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
     * The apps whose usage the actor may see, with their use in the last intervals: the most used, or those with the most unused seats,
     * first. A seat is a person with access; it is unused if the app recorded no action of that person in this time.
     * @throws Problem `not-found`
     */
    byApp: async (actor: Actor, request: FiguresRequest) => {
      if (request.client !== undefined) await readClient(em, actor, request.client);
      return (await figuresByApp(actor, clock.now(), request).execute(kysely(em))).rows;
    },

    /**
     * The apps, oldest first, with the last day on which they were used, and the distinct users and the actions of the last days.
     * @throws Problem `invalid-input` on `cursor`
     */
    dailyByApp: async (actor: Actor, filter: AppFilter, windowDays: number, page: ItemPageRequest) =>
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
        .select(isUnrecorded().as('is_unrecorded'))
        .select(
          // A user counts on their first day in the window.
          sql<number>`(select coalesce(sum(d.retention_histogram[${windowDays}::int - (${today()}::date - d.day)]), 0)::int
            from usage_app_days d where d.app_id = apps.id and ${inWindow(windowDays)})`.as('users'),
        )
        .select(
          sql<number[]>`array_to_json(array(
            select coalesce(d.actions, 0) from generate_series(${windowDays}::int - 1, 0, -1) as ago
            left join usage_app_days d on d.app_id = apps.id and d.day = ${today()}::date - ago
            order by ago desc))`.as('daily_actions'),
        )
        .execute(),
  };
};

const ofApp = (appId: string) => sql`
  select day, sum(actions) as actions, sum(retention_histogram[1]) as users from usage_app_days where app_id = ${appId}`;

const ofUser = (actor: Actor, userId: number, appId: string | undefined) => sql`
  select day, sum(actions) as actions, 1 as users from usage_days
  where user_id = ${userId} and ${usageVisibleTo(actor, { appId })}`;

/** Each table is read once and grouped by app, so that the cost grows with the rows and not with rows times apps. */
const figuresByApp = (
  actor: Actor,
  now: Date,
  { client, ids, sort, limit, interval, periods }: FiguresRequest,
) => {
  const full = endedPeriods(interval, periods, now);
  const isInWindow = isDayIn({ start: full.current.start, end: new Date(now.getTime() + DAY_MS) });
  const [isFull, isBefore] = [isDayIn(full.current), isDayIn(full.previous)];
  return sql<AppFigures>`
  with shown as materialized (
    select id, client_id, slug, label, ${isUnrecorded()} as is_unrecorded from apps where ${clientVisibleTo(actor, sql`client_id`)}
      and ${condition`(${client ?? null}::int is null or client_id = ${client ?? null}::int)`}
      and ${condition`(${ids ?? null}::text[] is null or id = any(${ids ?? null}::text[]))`}
  ),
  totals as (
    select app_id, coalesce(sum(actions) filter (where ${isInWindow}), 0)::bigint as actions,
      coalesce(sum(actions) filter (where ${isFull}), 0)::bigint as full_actions,
      coalesce(sum(actions) filter (where ${isBefore}), 0)::bigint as previous_full_actions
    from usage_app_days where app_id in (select id from shown) and (${isInWindow} or ${isBefore}) group by app_id
  ),
  seen as materialized (
    select distinct app_id, user_id, email from usage_days where app_id in (select id from shown) and ${isInWindow}
  ),
  people as (select app_id, count(*)::int as users from seen group by app_id),
  given as (
    select g.app_id, count(*)::int as seats, count(*) filter (where seen.app_id is null)::int as unused_seats
    from ${appAccess(now)} g join shown on shown.id = g.app_id
      join users on users.id = g.user_id and users.is_active and ${isPerson}
      left join seen on seen.app_id = g.app_id and seen.user_id = g.user_id
    group by g.app_id
  )
  select shown.id, client_id as client, slug, label, coalesce(actions, 0)::bigint as actions,
    coalesce(full_actions, 0)::bigint as full_actions, coalesce(previous_full_actions, 0)::bigint as previous_full_actions,
    coalesce(users, 0) as users, coalesce(seats, 0) as seats, coalesce(unused_seats, 0) as unused_seats, is_unrecorded
  from shown left join totals on totals.app_id = shown.id left join people on people.app_id = shown.id
    left join given on given.app_id = shown.id
  order by ${sql.ref(sort)} desc, label, shown.id limit ${limit}`;
};

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
