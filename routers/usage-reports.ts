import { z } from 'zod';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { appFilter, WindowDays } from './schemas/apps.ts';
import { AppKey, EmailKey, Id } from './schemas/fields.ts';
import { limitedPagingFields, Search, toPageRequest } from './schemas/paging.ts';
import {
  DailyAppUsageOutput,
  IdleAppOutput,
  IdleUserOutput,
  TopAppOutput,
  UsagePeriodOutput,
  UsageReportInput,
} from './schemas/usage-report.ts';
import { viewerProcedure } from './trpc.ts';

const route = routesOf('Apps');

/** Of charts of all apps in a list. */
const MAX_DAILY = 90;

/** Reports for administrators, from the totals of usage. */
export const usageReportProcedures = {
  /** Actions and users by day, week or month until today, newest first, each beside its counterpart before. */
  report: viewerProcedure
    .meta(route('GET', '/jb/usage/report/', EXTENSION))
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

  /** The most used apps, of a client or of all. */
  topApps: viewerProcedure
    .meta(route('GET', '/jb/usage/top-apps/', EXTENSION))
    .input(
      z
        .object({
          client: Id.optional(),
          window: WindowDays.default(30),
          limit: z.int().min(1).max(100).default(10),
        })
        .prefault({}),
    )
    .output(z.object({ apps: z.array(TopAppOutput) }))
    .query(async ({ ctx, input: { client, window, limit } }) => ({
      apps: await ctx.services.appUsage.top(ctx.actor, client, window, limit),
    })),

  /** The actions of each of the last days, of the apps in the order and with the filters of `apps.list`. */
  dailyByApp: viewerProcedure
    .meta(route('GET', '/jb/usage/apps/', EXTENSION))
    .input(
      z
        .object({
          ...appFilter,
          window: z.int().min(1).max(MAX_DAILY).default(30),
          ...limitedPagingFields(AppKey),
        })
        .prefault({}),
    )
    .output(z.array(DailyAppUsageOutput))
    .query(({ ctx, input }) =>
      ctx.services.appUsage.listDaily(ctx.actor, input, input.window, toPageRequest(ctx, input)),
    ),

  /** Apps without use in the last `days`, oldest first. */
  idleApps: viewerProcedure
    .meta(route('GET', '/jb/usage/idle-apps/', EXTENSION))
    .input(
      z
        .object({
          days: WindowDays.default(30),
          search: Search.optional(),
          client: Id.optional(),
          ...limitedPagingFields(AppKey),
        })
        .prefault({}),
    )
    .output(z.array(IdleAppOutput))
    .query(({ ctx, input: { days, search, client, ...page } }) =>
      ctx.services.appUsage.listIdle(
        ctx.actor,
        { search, client, unused_days: days },
        toPageRequest(ctx, page),
      ),
    ),

  /** Active users who neither logged in nor used an app for `days`, the longest absent login first. */
  idleUsers: viewerProcedure
    .meta(routesOf('Users')('GET', '/jb/usage/idle-users/', EXTENSION))
    .input(
      z
        .object({
          days: WindowDays.default(90),
          client: Id.optional(),
          ...limitedPagingFields(EmailKey),
        })
        .prefault({}),
    )
    .output(z.array(IdleUserOutput))
    .query(({ ctx, input: { days, client, ...page } }) => {
      const { cursor, ...request } = toPageRequest(ctx, page);
      return ctx.services.idleUsers.list(ctx.actor, { days, client, cursor }, request);
    }),
};
