import { z } from 'zod';
import { USAGE_INTERVALS } from '../src/services/usage/usage-report.ts';
import { appFilter, appIdentity } from './apps.ts';
import { routesOf } from './procedure-meta.ts';
import { DEFAULT_WINDOW_DAYS, OptionalInput, Text, WindowDays } from './schemas/fields.ts';
import { AppKey, EmailKey, Id } from './schemas/keys.ts';
import { limitedPagingFields, pageNumberFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { viewerProcedure } from './trpc.ts';

const MAX_PERIODS = 366;
const DEFAULT_PERIODS = 30;

/** Four weeks. */
const SUMMARY_DAYS = 28;
const MAX_SUMMARY_DAYS = 91;

/** The last days, weeks or months until today. */
const reportedTime = {
  interval: z.enum(USAGE_INTERVALS).default('day'),
  periods: z.int().min(1).max(MAX_PERIODS).default(DEFAULT_PERIODS),
};

/** What to count, and how to group it. */
const UsageReportInput = OptionalInput({
  app_id: AppKey.optional(),
  client: Id.optional(),
  /** As in the log: usually the id of a stack of the app. */
  stack: Text(255).optional(),
  email: EmailKey.optional(),
  ...reportedTime,
  ...pageNumberFields,
});

/** Usage of one day, week or month, with the figures of the period before. Days are UTC days; the last one is included. */
const UsagePeriodOutput = Output('UsagePeriod', {
  start: z.string().meta({ examples: ['2026-11-16'] }),
  /** Today at the latest. */
  end: z.string().meta({ examples: ['2026-11-21'] }),
  actions: z.int(),
  /** Null unless the report is about one app. */
  users: z.int().nullable(),
  previous_start: z.string().meta({ examples: ['2026-11-09'] }),
  previous_end: z.string().meta({ examples: ['2026-11-14'] }),
  previous_actions: z.int(),
  previous_users: z.int().nullable(),
  actions_change: z.int(),
  users_change: z.int().nullable(),
});

/**
 * Figures of the last days up to today (UTC days), and of the same number of days before. The `full` ones, for percentages, are without
 * today, which has not ended, and without its counterpart.
 */
const UsageSummaryOutput = Output('UsageSummary', {
  actions: z.int(),
  previous_actions: z.int(),
  full_actions: z.int(),
  previous_full_actions: z.int(),
  /** Distinct users of all counted apps. */
  users: z.int(),
  previous_users: z.int(),
  full_users: z.int(),
  previous_full_users: z.int(),
  used_apps: z.int(),
  previous_used_apps: z.int(),
  full_used_apps: z.int(),
  previous_full_used_apps: z.int(),
});

/** The use of an app in the last days, weeks or months. `full`: of those that have ended. */
const AppFiguresOutput = Output('AppFigures', {
  ...appIdentity,
  actions: z.int(),
  full_actions: z.int(),
  previous_full_actions: z.int(),
  /** Distinct people, also without an account. */
  users: z.int(),
  /** The people with access: active people who were given the app, alone or by a group. */
  seats: z.int(),
  /** Of these, the ones of whom the app recorded no action. */
  unused_seats: z.int(),
  /** Whether someone has opened the app, which has never recorded usage. */
  is_unrecorded: z.boolean(),
});

const DailyAppUsageOutput = Output('DailyAppUsage', {
  ...appIdentity,
  created_at: Instant,
  /** A UTC day. Null if the app was never used. */
  last_used_day: z.string().nullable(),
  /** Whether someone has opened the app, which has never recorded usage. */
  is_unrecorded: z.boolean(),
  /** Distinct people in the window. */
  users: z.int(),
  /** Actions of each day of the window, oldest first. */
  daily_actions: z.array(z.int()).meta({ examples: [[0, 4, 2]] }),
});

const route = routesOf('Apps');

/** Apps that one chart can show so that the lines can be told apart. */
const MAX_COMPARED = 5;

/** Bounds the charts of all apps in a list. */
const MAX_DAILY = 90;

/** Reports for administrators, from the totals of usage. */
export const usageReportProcedures = {
  report: route(viewerProcedure, 'GET', '/jb/usage/report/', {
    summary: 'Compare usage by day, week or month',
    description:
      'Of an app, a stack of it, a client, a user, or of all apps whose usage you can see. Newest first. Each period has its counterpart in the periods before: of a period that has not ended, the same number of days. `users` counts distinct users of one app, and is null otherwise.',
    problems: ['not-found'],
  })
    .input(UsageReportInput)
    .output(z.array(UsagePeriodOutput))
    .query(({ ctx, input: { app_id: appId, client, stack, email, interval, periods, ...page } }) =>
      ctx.services.usageReports.read(
        ctx.actor,
        { appId, client, stack, email },
        { interval, periods },
        toPageRequest(ctx, page),
      ),
    ),

  summary: route(viewerProcedure, 'GET', '/jb/usage/summary/', {
    summary: 'Compare the last days with those before',
    description:
      'Actions, distinct users and used apps of the last `window` days and of as many days before, in an app, in a client or in all apps whose usage you can see. Windows of whole weeks compare the same weekdays. The `full` figures, for percentages, omit today, which has not ended, and its counterpart.',
    problems: ['not-found'],
  })
    .input(
      OptionalInput({
        client: Id.optional(),
        app_id: AppKey.optional(),
        window: WindowDays.max(MAX_SUMMARY_DAYS).default(SUMMARY_DAYS),
      }),
    )
    .output(UsageSummaryOutput)
    .query(({ ctx, input: { client, app_id: appId, window } }) =>
      ctx.services.usageReports.summarize(ctx.actor, { client, appId }, window),
    ),

  /** The figures of the apps of a client, of these apps, or of all apps whose usage the caller sees. Has no REST path: for screens. */
  byApp: viewerProcedure
    .input(
      OptionalInput({
        client: Id.optional(),
        app_ids: z.array(AppKey).min(1).max(MAX_COMPARED).optional(),
        ...reportedTime,
        sort: z.enum(['actions', 'unused_seats']).default('actions'),
        limit: z.int().min(1).max(100).default(10),
      }),
    )
    .output(z.object({ apps: z.array(AppFiguresOutput) }))
    .query(async ({ ctx, input: { app_ids: ids, ...input } }) => ({
      apps: await ctx.services.usageStats.byApp(ctx.actor, { ...input, ids }),
    })),

  /** The daily actions of apps; the last day is today. Has no REST path: for screens. */
  dailyByApp: viewerProcedure
    .input(
      OptionalInput({
        ...appFilter,
        window: WindowDays.max(MAX_DAILY).default(DEFAULT_WINDOW_DAYS),
        ...limitedPagingFields(AppKey),
      }),
    )
    .output(z.array(DailyAppUsageOutput))
    .query(({ ctx, input }) =>
      ctx.services.usageStats.dailyByApp(ctx.actor, input, input.window, toPageRequest(ctx, input)),
    ),
};
