import { z } from 'zod';
import { currentDeadline } from '../src/lib/deadline.ts';
import { Text } from './schemas/fields.ts';
import { router, staffProcedure } from './trpc.ts';

const tags = ['App fetch and load'];
const OneApp = z.object({ app_slug: Text(255) });
/** One version of an app. Null and an empty string count as absent: the procedure then chooses the version. */
export const OneVersion = OneApp.extend({
  app_version: Text(128)
    .nullish()
    .transform((version) => version || undefined),
});
export const Message = z.object({ message: z.string() });

export const appPackagesRouter = router({
  fetch: staffProcedure
    .meta({
      openapi: { method: 'POST', path: '/app/fetch/{app_slug}/', tags },
      rest: { handlesIdempotency: true },
    })
    .input(OneVersion)
    .output(Message)
    .mutation(async ({ ctx, input }) => {
      // A download takes as long as the package store does.
      currentDeadline()?.lift();
      const { slug, version } = await ctx.services.appPackages.fetch(
        ctx.actor,
        input.app_slug,
        input.app_version,
        ctx.idempotencyKey(),
      );
      return { message: `Loaded ${slug} version ${version}` };
    }),

  load: staffProcedure
    .meta({ openapi: { method: 'POST', path: '/app/load/{app_slug}/', tags }, rest: { status: 204 } })
    .input(OneApp)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.appPackages.load(ctx.actor, input.app_slug, ctx.host)),
});
