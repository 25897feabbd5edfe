import { z } from 'zod';
import { DomainName } from '../src/lib/email-address.ts';
import { startUrl } from '../src/services/sso/connections.ts';
import { routesOf } from './procedure-meta.ts';
import { OptionalInput } from './schemas/fields.ts';
import { IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import {
  ConnectionOutput,
  connectionChanges,
  connectionFields,
  connectionOutput,
  DomainOutput,
  domainOutput,
} from './schemas/sso.ts';
import { router, superuserProcedure } from './trpc.ts';

const route = routesOf('Single sign-on', { problems: ['reauthentication-required'] });

const ByConnection = z.object({ connection_id: IdKey });
const Page = OptionalInput(limitedPagingFields(IdCursor));

/** Connections and domains of the installation, by which superusers and staff log in. */
export const installationSsoRouter = router({
  list: route(superuserProcedure, 'GET', '/jb/sso/', {
    summary: 'List the connections of the installation',
    description: 'Superusers and staff log in with them. Oldest first.',
  })
    .input(Page)
    .output(z.array(ConnectionOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.connections.list(ctx.actor, null, toPageRequest(ctx, input));
      return rows.map(connectionOutput(ctx));
    }),

  create: route(superuserProcedure, 'POST', '/jb/sso/', {
    summary: 'Create a connection of the installation',
    status: 201,
    example: { name: 'Operations', issuer: 'https://login.ops.test', client_id: 'steward' },
  })
    .input(z.object(connectionFields))
    .output(ConnectionOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.connections.create(ctx.actor, null, input).then(connectionOutput(ctx)),
    ),

  domains: route(superuserProcedure, 'GET', '/jb/sso/domains/', {
    summary: 'List the domains of the installation',
    description: 'Their addresses lead to its active connection. Oldest first.',
  })
    .input(Page)
    .output(z.array(DomainOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.domains.list(ctx.actor, null, toPageRequest(ctx, input));
      return rows.map(domainOutput);
    }),

  addDomain: route(superuserProcedure, 'POST', '/jb/sso/domains/', {
    summary: 'Add a domain to the installation',
    description: 'You vouch for it. No client can have verified it.',
    status: 201,
    example: { domain: 'ops.test' },
  })
    .input(z.object({ domain: DomainName }))
    .output(DomainOutput)
    .mutation(({ ctx, input }) => ctx.services.domains.add(ctx.actor, null, input.domain).then(domainOutput)),

  removeDomain: route(superuserProcedure, 'DELETE', '/jb/sso/domains/{domain_id}/', {
    summary: 'Remove a domain of the installation',
  })
    .input(z.object({ domain_id: IdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.domains.remove(ctx.actor, null, input.domain_id)),

  update: route(superuserProcedure, 'PATCH', '/jb/sso/{connection_id}/', {
    summary: 'Change a connection of the installation',
    example: { is_active: true },
  })
    .input(ByConnection.extend(connectionChanges))
    .output(ConnectionOutput)
    .mutation(({ ctx, input: { connection_id: id, ...changes } }) =>
      ctx.services.connections.update(ctx.actor, null, id, changes).then(connectionOutput(ctx)),
    ),

  test: route(superuserProcedure, 'POST', '/jb/sso/{connection_id}/test/', {
    summary: 'Test a connection of the installation',
    description: 'Like the test of a connection of a client: open `url` afterwards.',
    handlesIdempotency: true,
    hasSecrets: true,
    problems: ['sso-failed', 'provider-unavailable'],
  })
    .input(ByConnection)
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input }) => {
      await ctx.services.connections.check(ctx.actor, null, input.connection_id);
      return { url: `${startUrl(ctx.baseUrl, input.connection_id)}?test=1` };
    }),

  remove: route(superuserProcedure, 'DELETE', '/jb/sso/{connection_id}/', {
    summary: 'Remove a connection of the installation',
  })
    .input(ByConnection)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.connections.remove(ctx.actor, null, input.connection_id)),
});
