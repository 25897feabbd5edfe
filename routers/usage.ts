import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import type { Services } from '../src/services/index.ts';
import { DEFAULT_WINDOW_DAYS, type UsageStreamFilter } from '../src/services/usage/usage.ts';
import type { Context } from './context.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { WindowDays } from './schemas/apps.ts';
import { AppKey, EmailKey, InstantKey } from './schemas/fields.ts';
import { pageNumberFields, toPageRequest } from './schemas/paging.ts';
import { pagesOf, parsePages } from './schemas/streamed-items.ts';
import {
  SubmittedEntries,
  TopStackOutput,
  TopUserOutput,
  UsageCursorKey,
  UsageDayOutput,
  UsageEntryOutput,
  UsageItemOutput,
  usageCursor,
  usageEncoder,
  usageEntryFromJson,
  usageEntryOutput,
  usageItemOutput,
} from './schemas/usage.ts';
import { router, viewerProcedure } from './trpc.ts';
import { usageReportProcedures } from './usage-reports.ts';

const route = routesOf('Apps');

const MAX_PAGE_ENTRIES = 1_000;
const MAX_RECORDING_BYTES = 16 * 1024 * 1024;

const Window = WindowDays.default(DEFAULT_WINDOW_DAYS);

type StreamContext = Pick<Context, 'listFormat'> & { actor: Actor; services: Services };

/** REST gets the stream as it is sent, other callers get its entries. */
const streamUsage = async ({ services, actor, listFormat }: StreamContext, filter: UsageStreamFilter) => {
  const stream = await services.usage.stream(actor, filter, usageEncoder(listFormat ?? 'json'));
  return listFormat ? stream : parsePages(stream, usageEntryFromJson);
};

export const usageRouter = router({
  /** Newest first, streamed page by page. */
  listByApp: viewerProcedure
    .meta(route('GET', '/jb/apps/{app_id}/usage/'))
    .input(z.object({ app_id: AppKey, window: Window }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { app_id: appId, window: windowDays } }) =>
      streamUsage(ctx, { appId, windowDays }),
    ),

  /** Without `window`, the newest entry; with it, all entries of these days, newest first, streamed page by page. */
  listByUser: viewerProcedure
    .meta(routesOf('Users')('GET', '/jb/users/{email}/usage/{app_id}/'))
    .input(z.object({ email: EmailKey, app_id: AppKey, window: WindowDays.optional() }))
    .output(z.union([UsageEntryOutput, pagesOf(UsageEntryOutput)]))
    .query(async ({ ctx, input: { email, app_id: appId, window: windowDays } }) =>
      windowDays === undefined
        ? usageEntryOutput(await ctx.services.usage.latestOfUser(ctx.actor, email, appId))
        : streamUsage(ctx, { email, appId, windowDays }),
    ),

  /** Newest first, streamed page by page. */
  listByUserInAllApps: viewerProcedure
    .meta(routesOf('Users')('GET', '/jb/users/{email}/usage/', EXTENSION))
    .input(z.object({ email: EmailKey, window: Window }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { email, window: windowDays } }) => streamUsage(ctx, { email, windowDays })),

  /** One page, newest first, shorter if the entries are large; `cursor` is `next_cursor` of the previous page. */
  list: viewerProcedure
    .meta(route('GET', '/jb/apps/{app_id}/usage/entries/', EXTENSION))
    .input(
      z.object({
        app_id: AppKey,
        email: EmailKey.optional(),
        from: InstantKey.optional(),
        /** Exclusive. */
        to: InstantKey.optional(),
        cursor: UsageCursorKey.optional(),
        limit: z.int().min(1).max(MAX_PAGE_ENTRIES).default(100),
      }),
    )
    .output(z.object({ items: z.array(UsageItemOutput), next_cursor: z.string().nullable() }))
    .query(async ({ ctx, input: { app_id: appId, from: since, to: until, ...filter } }) => {
      const { rows, next } = await ctx.services.usage.page(ctx.actor, { ...filter, appId, since, until });
      return { items: rows.map(usageItemOutput), next_cursor: next && usageCursor(next) };
    }),

  /** Actions and users per UTC day until today, oldest first: of an app, of a user, or of a user in an app. */
  series: viewerProcedure
    .meta(route('GET', '/jb/usage/series/', EXTENSION))
    .input(
      z
        .object({
          app_id: AppKey.optional(),
          email: EmailKey.optional(),
          window: Window,
          ...pageNumberFields,
        })
        .prefault({}),
    )
    .output(z.array(UsageDayOutput))
    .query(({ ctx, input }) => {
      const subject = { appId: input.app_id, email: input.email };
      return ctx.services.usageStats.series(ctx.actor, subject, input.window, toPageRequest(ctx, input));
    }),

  /** The most active users and the most used stacks of an app. */
  top: viewerProcedure
    .meta(route('GET', '/jb/apps/{app_id}/usage/top/', EXTENSION))
    .input(z.object({ app_id: AppKey, window: Window, limit: z.int().min(1).max(100).default(10) }))
    .output(z.object({ users: z.array(TopUserOutput), stacks: z.array(TopStackOutput) }))
    .query(({ ctx, input }) =>
      ctx.services.usageStats.top(ctx.actor, input.app_id, input.window, input.limit),
    ),

  ...usageReportProcedures,

  /** Takes one entry or an array. Either all are written or none. */
  record: viewerProcedure
    .meta(
      route('POST', '/jb/apps/{app_id}/usage/', {
        many: 'entries',
        status: 201,
        maxBodyBytes: MAX_RECORDING_BYTES,
        handlesIdempotency: true,
        ...EXTENSION,
      }),
    )
    .input(z.object({ app_id: AppKey, entries: SubmittedEntries }))
    .output(z.object({ inserted: z.int(), duplicates: z.int() }))
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.liftForBulk(input.entries.length);
      return ctx.services.usageRecording.record(ctx.actor, input.app_id, input.entries, ctx.idempotencyKey());
    }),
});
