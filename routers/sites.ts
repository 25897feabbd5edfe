import { z } from 'zod';
import type { SiteRow } from '../src/services/clients/sites.ts';
import { IdCursor, IdKey, Name, Text } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { protectedProcedure, router, superuserProcedure } from './trpc.ts';

export const SiteView = z.object({ id: z.int(), domain: z.string(), name: z.string() });

export const siteView = (site: SiteRow): z.input<typeof SiteView> => ({
  id: site.id,
  domain: site.domain,
  name: site.name,
});

/** A host name or address, with or without a port; kept in lower case, as hosts are compared. */
const Domain = Text(255)
  .toLowerCase()
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/, 'Must be a host name, with a port if need be.');

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
