import { z } from 'zod';
import { shielded } from '../src/core/free-form.ts';
import { DEFAULT_WINDOW_DAYS, type UsageRow } from '../src/services/apps/usage.ts';
import { AppKey } from './apps.ts';
import { AnyObject, EmailKey, Instant } from './schemas.ts';
import { overseer, router } from './trpc.ts';

const UsageEntryView = z.object({
  action_description: z.string(),
  email: z.string(),
  full_name: z.string(),
  timestamp: Instant,
  action: z.string(),
  extra: AnyObject,
});

const usageEntryView = (entry: UsageRow): z.input<typeof UsageEntryView> => ({
  action_description: entry.action_description,
  email: entry.email,
  full_name: entry.full_name,
  timestamp: entry.occurred_at,
  action: entry.action,
  extra: shielded(entry.extra),
});

/** Whole days. */
const WindowDays = z.int().min(1).max(3650);

export const usageRouter = router({
  ofApp: overseer
    .meta({ openapi: { method: 'GET', path: '/jb/apps/{app_id}/usage/', tags: ['Apps'] } })
    .input(z.object({ app_id: AppKey, window: WindowDays.default(DEFAULT_WINDOW_DAYS) }))
    .output(z.array(UsageEntryView))
    .query(async ({ ctx, input }) =>
      (await ctx.services.usage.ofApp(ctx.actor, input.app_id, input.window)).map(usageEntryView),
    ),

  /** The newest entry; with a window, all of it, newest first. */
  ofUser: overseer
    .meta({ openapi: { method: 'GET', path: '/jb/users/{email}/usage/{app_id}/', tags: ['Users'] } })
    .input(z.object({ email: EmailKey, app_id: AppKey, window: WindowDays.optional() }))
    .output(z.union([UsageEntryView, z.array(UsageEntryView)]))
    .query(async ({ ctx, input: { email, app_id: appId, window } }) => {
      if (window === undefined) {
        return usageEntryView(await ctx.services.usage.latestOfUser(ctx.actor, email, appId));
      }
      return (await ctx.services.usage.ofUser(ctx.actor, email, appId, window)).map(usageEntryView);
    }),
});
