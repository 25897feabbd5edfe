import { z } from 'zod';
import { currentDeadline } from '../src/lib/deadline.ts';
import { AppVersionInput, MessageView } from './schemas/apps.ts';
import { Text } from './schemas/fields.ts';
import { router, staffProcedure } from './trpc.ts';

const tags = ['App fetch and load'];
const BySlug = z.object({ app_slug: Text(255) });
export const appPackagesRouter = router({
  fetch: staffProcedure
    .meta({
      openapi: { method: 'POST', path: '/app/fetch/{app_slug}/', tags },
      rest: { handlesIdempotency: true },
    })
    .input(AppVersionInput)
    .output(MessageView)
    .mutation(async ({ ctx, input }) => {
      // The download may take longer than a request.
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
    .input(BySlug)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.appPackages.load(ctx.actor, input.app_slug, ctx.host)),
});
