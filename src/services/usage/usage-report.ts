import { type RawBuilder, sql } from 'kysely';
import { kysely } from '../../db/kysely.ts';
import type { PageRequest } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type FieldErrors, invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { readUserId } from '../accounts/addresses.ts';
import { requireViewableApp, usageVisibleTo } from '../apps/app-rows.ts';
import { dayOf } from '../apps/usage-windows.ts';
import { readClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The usage to count; if nothing is set, of all apps whose usage the actor may see. */
type ReportSubject = {
  appId?: string | undefined;
  client?: number | undefined;
  /** A stack of the app. */
  stack?: string | undefined;
  email?: string | undefined;
};

type Counts = { actions: number; users: number | null };

/** Usage by day, week or month, with the figures of the period before. Reads the rollups, never the log. */
export const createUsageReports = ({ em, clock }: UnitOfWork) => ({
  /**
   * Newest first. `users` is null unless the subject is one app: the rollups cannot count the distinct users of several apps.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` on `client`, `stack`
   */
  read: async (
    actor: Actor,
    subject: ReportSubject,
    { interval, periods }: { interval: UsageInterval; periods: number },
    { page }: PageRequest,
  ) => {
    requireValid(subject);
    const { appId, client, email } = subject;
    if (appId !== undefined) await requireViewableApp(em, actor, clock.now(), appId);
    if (client !== undefined) await readClient(em, actor, client);
    const userId = email === undefined ? undefined : await readUserId(em, actor, email);

    const compared = comparedPeriods(interval, periods, clock.now());
    const counts = countsOf(usageOf(actor, { ...subject, userId }, interval), interval, compared);
    const { rows } = await counts.execute(kysely(em));
    const none: Counts = { actions: 0, users: hasUsers(subject) ? 0 : null };
    const found = new Map(rows.map(({ start, ...counts }) => [start, counts]));
    const lookUp = ({ start }: Period): Counts => found.get(dayOf(start)) ?? none;

    page?.tellCount(periods);
    const first = page ? (page.number - 1) * page.size : 0;
    return compared
      .slice(first, page && first + page.size)
      .map(({ current, previous }) => toRow(current, lookUp(current), previous, lookUp(previous)));
  },

  /**
   * Actions, distinct users and used apps of the last `days` days until today, with the figures of as many days before, and `full` ones
   * of both without what `endedPeriods` leaves out.
   * @throws Problem `not-found`
   */
  summarize: async (actor: Actor, { client, appId }: SummarySubject, days: number) => {
    requireValid({ client, appId });
    if (client !== undefined) await readClient(em, actor, client);
    if (appId !== undefined) await requireViewableApp(em, actor, clock.now(), appId);
    const counts = summaryOf(usageVisibleTo(actor, { client, appId }), clock.now(), days);
    const [summary] = (await counts.execute(kysely(em))).rows;
    if (!summary) throw new Error('An aggregate without a group has one row.');
    return summary;
  },
});

type SummarySubject = Pick<ReportSubject, 'client' | 'appId'>;

type Span = '' | 'previous_' | 'full_' | 'previous_full_';
type Summary = Record<`${Span}${'actions' | 'users' | 'used_apps'}`, number>;

const summaryOf = (isVisible: RawBuilder<boolean>, now: Date, days: number) => {
  const today = dayOf(now);
  const since = sql`${today}::date - ${days}::int`;
  const isCounted = sql`${isVisible} and day <= ${today}::date and day > ${since} - ${days}::int`;
  const full = endedPeriods('day', days, now);
  const spans = Object.entries({
    '': sql`day > ${since}`,
    previous_: sql`day <= ${since}`,
    full_: isDayIn(full.current),
    previous_full_: isDayIn(full.previous),
  } satisfies Record<Span, RawBuilder<unknown>>);
  const ofApps = spans.map(
    ([
      span,
      isIn,
    ]) => sql`coalesce(sum(actions) filter (where ${isIn}), 0)::bigint as ${sql.ref(`${span}actions`)},
      count(distinct app_id) filter (where ${isIn})::int as ${sql.ref(`${span}used_apps`)}`,
  );
  const isSeen = spans.map(([span, isIn]) => sql`bool_or(${isIn}) as ${sql.ref(`${span}users`)}`);
  const ofUsers = spans.map(([span]) => {
    const users = sql.ref(`${span}users`);
    return sql`count(*) filter (where ${users})::int as ${users}`;
  });
  return sql<Summary>`
    select * from (select ${sql.join(ofApps)} from usage_app_days where ${isCounted} and actions > 0) as of_apps,
      (select ${sql.join(ofUsers)} from (
        select ${sql.join(isSeen)} from usage_days where ${isCounted} group by user_id, email) as seen) as of_users`;
};

/** SQL: whether the `day` of a row is in a range of days. */
export const isDayIn = ({ start, end }: Period) =>
  sql`(day >= ${dayOf(start)}::date and day < ${dayOf(end)}::date)`;

const requireValid = ({ appId, client, stack, email }: ReportSubject): void => {
  const fields: FieldErrors = {};
  if (client !== undefined && appId !== undefined) fields.client = ['Cannot be combined with app_id.'];
  if (stack !== undefined && appId === undefined) fields.stack = ['Requires app_id.'];
  if (stack !== undefined && email !== undefined) fields.stack = ['Cannot be combined with email.'];
  if (Object.keys(fields).length > 0) throw invalid(fields);
};

const hasUsers = ({ appId, stack, email }: ReportSubject): boolean =>
  appId !== undefined && stack === undefined && email === undefined;

const startColumn = (interval: UsageInterval) => sql`date_trunc(${interval}::text, day::timestamp)::date`;

/** Rows of one day and app: `day`, `actions`, `users` who were not active earlier in the same interval. */
const usageOf = (
  actor: Actor,
  { appId, client, stack, userId }: ReportSubject & { userId: number | undefined },
  interval: UsageInterval,
) => {
  const ofApps = usageVisibleTo(actor, { appId, client });
  if (stack !== undefined)
    return sql`select day, actions, null::int as users from usage_stack_days where ${ofApps} and stack = ${stack}`;
  if (userId !== undefined)
    return sql`select day, actions, null::int as users from usage_days where ${ofApps} and user_id = ${userId}`;
  const users =
    appId === undefined ? sql`null::int` : sql`retention_histogram[day - ${startColumn(interval)} + 1]`;
  return sql`select day, actions, ${users} as users from usage_app_days where ${ofApps}`;
};

type Compared = ReturnType<typeof comparedPeriods>;

/** The sums of each interval. Days between the newest counterpart and the oldest interval belong to neither. */
const countsOf = (usage: RawBuilder<unknown>, interval: UsageInterval, compared: Compared) => {
  const [newest, oldest] = [compared[0], compared.at(-1)];
  if (!newest || !oldest) throw new Error('A report needs a period.');
  const day = (at: Date) => sql`${dayOf(at)}::date`;
  return sql<Counts & { start: string }>`
    select ${startColumn(interval)}::text as start, sum(actions)::bigint as actions, sum(users)::int as users
    from (${usage}) as usage
    where day >= ${day(oldest.previous.start)} and day < ${day(newest.current.end)}
      and (day < ${day(newest.previous.end)} or day >= ${day(oldest.current.start)})
    group by 1`;
};

const toRow = (current: Period, counts: Counts, previous: Period, before: Counts) => ({
  start: dayOf(current.start),
  end: dayOf(lastDayOf(current)),
  ...counts,
  previous_start: dayOf(previous.start),
  previous_end: dayOf(lastDayOf(previous)),
  previous_actions: before.actions,
  previous_users: before.users,
  actions_change: counts.actions - before.actions,
  users_change: counts.users === null || before.users === null ? null : counts.users - before.users,
});

/** The intervals by which usage is grouped. Weeks begin on Monday. */
export const USAGE_INTERVALS = ['day', 'week', 'month'] as const;
export type UsageInterval = (typeof USAGE_INTERVALS)[number];

/** A range of UTC days; `end` is exclusive. */
export type Period = { start: Date; end: Date };

const addDays = (day: Date, days: number): Date => new Date(day.getTime() + days * DAY_MS);

/** The first day of the interval that contains `at`, `count` intervals later. */
const startOf = (interval: UsageInterval, at: Date, count = 0): Date => {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (interval === 'month') return new Date(Date.UTC(year, month + count, 1));
  const first = interval === 'week' ? day - ((at.getUTCDay() + 6) % 7) : day;
  return new Date(Date.UTC(year, month, first + count * (interval === 'week' ? 7 : 1)));
};

/**
 * The last `count` intervals until today, newest first, each with its counterpart `count` intervals before. The interval of today ends with
 * today, and its counterpart has at most as many days.
 */
export const comparedPeriods = (interval: UsageInterval, count: number, now: Date) =>
  Array.from({ length: count }, (_, back) => {
    const current = { start: startOf(interval, now, -back), end: startOf(interval, now, 1 - back) };
    const previous = {
      start: startOf(interval, now, -back - count),
      end: startOf(interval, now, 1 - back - count),
    };
    if (back > 0) return { current, previous };
    const end = startOf('day', now, 1);
    const sameLength = new Date(previous.start.getTime() + end.getTime() - current.start.getTime());
    return {
      current: { ...current, end },
      previous: { ...previous, end: sameLength < previous.end ? sameLength : previous.end },
    };
  });

/**
 * What percentages compare: the intervals before the one of today, which has not ended, and their counterparts. Both are empty for one
 * interval.
 */
export const endedPeriods = (interval: UsageInterval, count: number, now: Date) => ({
  current: { start: startOf(interval, now, 1 - count), end: startOf(interval, now) },
  previous: { start: startOf(interval, now, 1 - 2 * count), end: startOf(interval, now, -count) },
});

export const lastDayOf = ({ end }: Period): Date => addDays(end, -1);
