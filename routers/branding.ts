import { BrandingView, brandingView } from './schemas/branding.ts';
import { NoInput } from './schemas/fields.ts';
import { publicProcedure, router } from './trpc.ts';

export const brandingRouter = router({
  /** Branding of the client whose site the request was sent to, for pages before login. */
  get: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/branding/', tags: ['Branding'], protect: false },
      rest: { extension: true },
    })
    .input(NoInput)
    .output(BrandingView)
    .query(async ({ ctx }) => brandingView(await ctx.services.branding.get(ctx.host))),
});
