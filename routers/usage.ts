import { z } from 'zod';
import { liftBulkDeadline } from '../src/lib/deadline.ts';
import { DEFAULT_WINDOW_DAYS } from '../src/services/usage/usage.ts';
import { AppKey, EmailKey, InstantKey } from './schemas/fields.ts';
import { pageNumberFields, toPageRequest } from './schemas/paging.ts';
import { pagesOf, parsePages } from './schemas/streamed-items.ts';
import {
  TopStackView,
  TopUserView,
  UsageCursorKey,
  UsageDayView,
  UsageEntryView,
  UsageItemView,
  usageCursor,
  usageEncoder,
  usageEntryFromJson,
  usageEntryView,
  usageItemView,
  usageReports,
} from './schemas/usage.ts';
import { router, viewerProcedure } from './trpc.ts';

const MAX_PAGE = 1_000;
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** Whole days. */
const WindowDays = z.int().min(1).max(3650);
const Window = WindowDays.default(DEFAULT_WINDOW_DAYS);

const apps = ['Apps'];
const extension = true;

export const usageRouter = router({
  /** Newest first, streamed page by page. */
  listByApp: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/apps/{app_id}/usage/', tags: apps } })
    .input(z.object({ app_id: AppKey, window: Window }))
    .output(pagesOf(UsageEntryView))
    .query(async ({ ctx, input: { app_id: appId, window } }) => {
      const encoder = usageEncoder(ctx.listFormat ?? 'json');
      const stream = await ctx.services.usage.listByApp(ctx.actor, appId, window, encoder);
      return ctx.listFormat ? stream : parsePages(stream, usageEntryFromJson);
    }),

  /** Without `window`, the newest entry; with it, all entries of these days, newest first, streamed page by page. */
  listByUser: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/users/{email}/usage/{app_id}/', tags: ['Users'] } })
    .input(z.object({ email: EmailKey, app_id: AppKey, window: WindowDays.optional() }))
    .output(z.union([UsageEntryView, pagesOf(UsageEntryView)]))
    .query(async ({ ctx, input: { email, app_id: appId, window } }) => {
      if (window === undefined) {
        return usageEntryView(await ctx.services.usage.latestOfUser(ctx.actor, email, appId));
      }
      const subject = { email, appId, windowDays: window };
      const encoder = usageEncoder(ctx.listFormat ?? 'json');
      const stream = await ctx.services.usage.listByUser(ctx.actor, subject, encoder);
      return ctx.listFormat ? stream : parsePages(stream, usageEntryFromJson);
    }),

  /** One page, newest first, shorter if the entries are large; `cursor` is `next_cursor` of the previous page. */
  list: viewerProcedure
    .meta({
      openapi: { method: 'GET', path: '/jb/apps/{app_id}/usage/entries/', tags: apps },
      rest: { extension },
    })
    .input(
      z.object({
        app_id: AppKey,
        email: EmailKey.optional(),
        from: InstantKey.optional(),
        /** Exclusive. */
        to: InstantKey.optional(),
        cursor: UsageCursorKey.optional(),
        limit: z.int().min(1).max(MAX_PAGE).default(100),
      }),
    )
    .output(z.object({ items: z.array(UsageItemView), next_cursor: z.string().nullable() }))
    .query(async ({ ctx, input: { app_id: appId, from: since, to: until, ...filter } }) => {
      const { rows, next } = await ctx.services.usage.page(ctx.actor, appId, { ...filter, since, until });
      return { items: rows.map(usageItemView), next_cursor: next && usageCursor(next) };
    }),

  /** Actions and users per UTC day until today, oldest first: of an app, of a user, or of a user in an app. */
  series: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/usage/series/', tags: apps }, rest: { extension } })
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
    .output(z.array(UsageDayView))
    .query(({ ctx, input }) => {
      const subject = { appId: input.app_id, email: input.email };
      return ctx.services.usageStats.series(ctx.actor, subject, input.window, toPageRequest(ctx, input));
    }),

  /** The most active users and the most used stacks of an app. */
  top: viewerProcedure
    .meta({
      openapi: { method: 'GET', path: '/jb/apps/{app_id}/usage/top/', tags: apps },
      rest: { extension },
    })
    .input(z.object({ app_id: AppKey, window: Window, limit: z.int().min(1).max(100).default(10) }))
    .output(z.object({ users: z.array(TopUserView), stacks: z.array(TopStackView) }))
    .query(({ ctx, input }) =>
      ctx.services.usageStats.top(ctx.actor, input.app_id, input.window, input.limit),
    ),

  /** Takes one entry or an array. Either all are written or none. */
  record: viewerProcedure
    .meta({
      openapi: { method: 'POST', path: '/jb/apps/{app_id}/usage/', tags: apps },
      rest: { many: 'entries', status: 201, maxBodyBytes: MAX_BYTES, handlesIdempotency: true, extension },
    })
    .input(z.object({ app_id: AppKey, entries: usageReports(MAX_ENTRIES) }))
    .output(z.object({ inserted: z.int(), duplicates: z.int() }))
    .mutation(({ ctx, input }) => {
      liftBulkDeadline(input.entries.times.length);
      return ctx.services.usageRecording.record(ctx.actor, input.app_id, input.entries, ctx.idempotencyKey());
    }),
});
