import { z } from 'zod';
import { IdCursor, IdKey, Name } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { Domain, SiteView, siteView } from './schemas/sites.ts';
import { protectedProcedure, router, superuserProcedure } from './trpc.ts';

export const sitesRouter = router({
  list: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/sites/', tags: ['Sites'] } })
    .input(z.object(pagingFields(IdCursor)).prefault({}))
    .output(z.array(SiteView))
    .query(async ({ ctx, input }) =>
      (await ctx.services.sites.list(ctx.actor, toPageRequest(ctx, input))).map(siteView),
    ),

  get: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/sites/{id}/', tags: ['Sites'] } })
    .input(z.object({ id: IdKey }))
    .output(SiteView)
    .query(async ({ ctx, input }) => siteView(await ctx.services.sites.get(ctx.actor, input.id))),

  create: superuserProcedure
    .meta({
      openapi: { method: 'POST', path: '/jb/sites/', tags: ['Sites'] },
      rest: { status: 201, resource: 'sites.get', extension: true },
    })
    .input(z.object({ domain: Domain, name: Name(255) }))
    .output(SiteView)
    .mutation(async ({ ctx, input }) => siteView(await ctx.services.sites.create(ctx.actor, input))),
});
