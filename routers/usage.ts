import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import type { Services } from '../src/services/index.ts';
import type { UsageStreamFilter } from '../src/services/usage/usage.ts';
import type { Context } from './context.ts';
import { routesOf } from './procedure-meta.ts';
import { DEFAULT_WINDOW_DAYS, WindowDays } from './schemas/apps.ts';
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
  listByApp: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/usage/', {
    summary: 'Stream the usage of an app',
    description:
      'All entries of the last `window` days, newest first. The size of the response is not limited.',
    legacy: true,
  })
    .input(z.object({ app_id: AppKey, window: Window }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { app_id: appId, window: windowDays } }) =>
      streamUsage(ctx, { appId, windowDays }),
    ),

  listByUser: routesOf('Users')(viewerProcedure, 'GET', '/jb/users/{email}/usage/{app_id}/', {
    summary: 'Get the usage of an app by a user',
    description: 'The newest entry, or with `window` an array of all entries of that many days.',
    legacy: true,
  })
    .input(z.object({ email: EmailKey, app_id: AppKey, window: WindowDays.optional() }))
    .output(z.union([UsageEntryOutput, pagesOf(UsageEntryOutput)]))
    .query(async ({ ctx, input: { email, app_id: appId, window: windowDays } }) =>
      windowDays === undefined
        ? usageEntryOutput(await ctx.services.usage.latestOfUser(ctx.actor, email, appId))
        : streamUsage(ctx, { email, appId, windowDays }),
    ),

  listByUserInAllApps: routesOf('Users')(viewerProcedure, 'GET', '/jb/users/{email}/usage/', {
    summary: 'Stream the usage of a user',
    description:
      'All entries of the last `window` days, newest first, in all apps whose usage you may see. The size of the response is not limited.',
  })
    .input(z.object({ email: EmailKey, window: Window }))
    .output(pagesOf(UsageEntryOutput))
    .query(({ ctx, input: { email, window: windowDays } }) => streamUsage(ctx, { email, windowDays })),

  list: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/usage/entries/', {
    summary: 'List the usage of an app page by page',
    description:
      'Newest first; a page is shorter if its entries are large. `cursor` is `next_cursor` of the previous page.',
  })
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

  series: route(viewerProcedure, 'GET', '/jb/usage/series/', {
    summary: 'Get usage by day',
    description: 'Of an app, of a user, or of a user in an app. Days without usage are included.',
    problems: ['not-found'],
  })
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

  top: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/usage/top/', {
    summary: 'Get the most active users and stacks of an app',
  })
    .input(z.object({ app_id: AppKey, window: Window, limit: z.int().min(1).max(100).default(10) }))
    .output(z.object({ users: z.array(TopUserOutput), stacks: z.array(TopStackOutput) }))
    .query(({ ctx, input }) =>
      ctx.services.usageStats.topOfApp(ctx.actor, input.app_id, input.window, input.limit),
    ),

  ...usageReportProcedures,

  record: route(viewerProcedure, 'POST', '/jb/apps/{app_id}/usage/', {
    summary: 'Record usage',
    description:
      'Takes one entry or an array of entries, and records all of them or none. An entry with an `id` is recorded once, even if it is sent again.',
    many: 'entries',
    status: 201,
    maxBodyBytes: MAX_RECORDING_BYTES,
    handlesIdempotency: true,
    example: { id: '4711', timestamp: '2026-11-21T12:00:00.000Z', extra: { stack: 'a0a91e46' } },
  })
    .input(z.object({ app_id: AppKey, entries: SubmittedEntries }))
    .output(z.object({ inserted: z.int(), duplicates: z.int() }))
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.liftForBulk(input.entries.length);
      return ctx.services.usageRecording.record(ctx.actor, input.app_id, input.entries, ctx.idempotencyKey());
    }),
});
