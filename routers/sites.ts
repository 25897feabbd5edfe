import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Name, OptionalInput, Text } from './schemas/fields.ts';
import { ById, IdCursor } from './schemas/keys.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { Output } from './schemas/outputs.ts';
import { memberProcedure, router, superuserProcedure } from './trpc.ts';

const route = routesOf('Sites');

export const SiteOutput = Output('Site', { id: z.int(), domain: z.string(), name: z.string() });

/** A host name or address, optionally with a port. Stored in lower case, because hosts are compared in lower case. */
const Domain = Text(255)
  .toLowerCase()
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/, 'Must be a host name, optionally with a port.');

export const sitesRouter = router({
  list: route(memberProcedure, 'GET', '/jb/sites/', { summary: 'List sites', legacy: true })
    .input(OptionalInput(pagingFields(IdCursor)))
    .output(z.array(SiteOutput))
    .query(({ ctx, input }) => ctx.services.sites.list(ctx.actor, toPageRequest(ctx, input))),

  get: route(memberProcedure, 'GET', '/jb/sites/{id}/', { summary: 'Get a site', legacy: true })
    .input(ById)
    .output(SiteOutput)
    .query(({ ctx, input }) => ctx.services.sites.get(ctx.actor, input.id)),

  create: route(superuserProcedure, 'POST', '/jb/sites/', {
    summary: 'Create a site',
    status: 201,
    resourceQuery: 'sites.get',
    example: { domain: 'initech.localhost:8000', name: 'Initech' },
  })
    .input(z.object({ domain: Domain, name: Name(255) }))
    .output(SiteOutput)
    .mutation(({ ctx, input }) => ctx.services.sites.create(ctx.actor, input)),
});
