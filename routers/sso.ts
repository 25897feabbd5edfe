import { z } from 'zod';
import { startUrl } from '../src/services/sso/connections.ts';
import { routesOf } from './procedure-meta.ts';
import { ById, IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { ConnectionOutput, connectionChanges, connectionFields, connectionOutput } from './schemas/sso.ts';
import { router, settingsProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Single sign-on');

const ByConnection = ById.extend({ connection_id: IdKey });

export const ssoRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/clients/{id}/sso/', {
    summary: 'List the connections of a client',
    description: 'Oldest first. `cursor` is the id of the last connection of the previous page.',
  })
    .input(ById.extend(limitedPagingFields(IdCursor)))
    .output(z.array(ConnectionOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.connections.list(ctx.actor, input.id, toPageRequest(ctx, input));
      return rows.map(connectionOutput(ctx));
    }),

  create: route(settingsProcedure, 'POST', '/jb/clients/{id}/sso/', {
    summary: 'Create a connection',
    description:
      'With an identity provider that speaks OpenID Connect. It is not active before a test. Enter its `redirect_uri` at the provider. `issuer` and `client_id` can follow once the provider has given them. No response contains the `client_secret`.',
    problems: ['reauthentication-required'],
    status: 201,
    example: {
      name: 'Acme',
      issuer: 'https://login.acme.test',
      client_id: 'steward',
      client_secret: 's3cr3t',
    },
  })
    .input(ById.extend(connectionFields))
    .output(ConnectionOutput)
    .mutation(({ ctx, input: { id, ...connection } }) =>
      ctx.services.connections.create(ctx.actor, id, connection).then(connectionOutput(ctx)),
    ),

  update: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/sso/{connection_id}/', {
    summary: 'Change a connection',
    description:
      'Omitted fields stay unchanged. Another `issuer` or `client_id` deactivates it until the next test. With `is_required`, memberships of the client count only in its sessions, except for superusers.',
    problems: ['reauthentication-required'],
    example: { is_active: true },
  })
    .input(ByConnection.extend(connectionChanges))
    .output(ConnectionOutput)
    .mutation(({ ctx, input: { id, connection_id: connectionId, ...changes } }) =>
      ctx.services.connections.update(ctx.actor, id, connectionId, changes).then(connectionOutput(ctx)),
    ),

  test: route(settingsProcedure, 'POST', '/jb/clients/{id}/sso/{connection_id}/test/', {
    handlesIdempotency: true,
    summary: 'Test a connection',
    hasSecrets: true,
    description:
      'Reads the metadata and keys of the provider. Then open `url` in the browser in which you are logged in: it logs you in at the provider, and shows what a login would do, without doing it.',
    problems: ['sso-failed', 'provider-unavailable'],
  })
    .input(ByConnection)
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx, input }) => {
      await ctx.services.connections.check(ctx.actor, input.id, input.connection_id);
      return { url: `${startUrl(ctx.baseUrl, input.connection_id)}?test=1` };
    }),

  remove: route(settingsProcedure, 'DELETE', '/jb/clients/{id}/sso/{connection_id}/', {
    summary: 'Remove a connection',
    description:
      'Ends its sessions, and the tokens that were made in them. Its people log in with passwords, or set one.',
    problems: ['reauthentication-required'],
  })
    .input(ByConnection)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.connections.remove(ctx.actor, input.id, input.connection_id)),
});
