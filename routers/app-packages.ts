import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Text } from './schemas/fields.ts';
import { router, staffProcedure } from './trpc.ts';

const route = routesOf('App fetch and load');

/** Null and an empty string mean no version: the procedure chooses one. */
export const AppVersionInput = z.object({
  app_slug: Text(255),
  app_version: Text(128)
    .nullish()
    .transform((version) => version || undefined),
});
export const MessageOutput = z.object({ message: z.string() });

export const appPackagesRouter = router({
  fetch: route(staffProcedure, 'POST', '/app/fetch/{app_slug}/', {
    summary: 'Fetch a package from the store',
    description:
      'The given version, or `latest` for the newest version that is not a prerelease. The package is validated but not loaded.',
    problems: ['invalid-package', 'package-store-unavailable'],
    handlesIdempotency: true,
    example: { app_version: 'latest' },
    legacy: true,
  })
    .input(AppVersionInput)
    .output(MessageOutput)
    .mutation(async ({ ctx, input: { app_slug: appSlug, app_version: wanted } }) => {
      // The download may take longer than a request.
      ctx.timeLimit.lift();
      const { appPackages } = ctx.services;
      const { slug, version } = await appPackages.fetch(ctx.actor, appSlug, wanted, ctx.idempotencyKey());
      return { message: `Loaded ${slug} version ${version}` };
    }),

  load: route(staffProcedure, 'POST', '/app/load/{app_slug}/', {
    summary: 'Load the most recently fetched package',
    description: 'Does nothing if this version is already loaded.',
    problems: ['invalid-package'],
    legacy: true,
  })
    .input(AppVersionInput.pick({ app_slug: true }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.appPackages.load(ctx.actor, input.app_slug, ctx.host)),
});
