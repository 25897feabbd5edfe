import { z } from 'zod';
import { DomainName } from '../src/lib/email-address.ts';
import { startUrl } from '../src/services/sso/connections.ts';
import { routesOf } from './procedure-meta.ts';
import { ByEmail, ById, EmailKey, IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import {
  ConnectionOutput,
  connectionChanges,
  connectionFields,
  connectionOutput,
  DomainOutput,
  domainOutput,
} from './schemas/sso.ts';
import { adminProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

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

  create: route(adminProcedure, 'POST', '/jb/clients/{id}/sso/', {
    summary: 'Create a connection',
    description:
      'With an identity provider that speaks OpenID Connect. It is not active before a test. Enter its `redirect_uri` at the provider. No response contains the `client_secret`.',
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

  update: route(adminProcedure, 'PATCH', '/jb/clients/{id}/sso/{connection_id}/', {
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

  test: route(adminProcedure, 'POST', '/jb/clients/{id}/sso/{connection_id}/test/', {
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

  remove: route(adminProcedure, 'DELETE', '/jb/clients/{id}/sso/{connection_id}/', {
    summary: 'Remove a connection',
    description:
      'Ends its sessions, and the tokens that were made in them. Its people log in with passwords, or set one.',
    problems: ['reauthentication-required'],
  })
    .input(ByConnection)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.connections.remove(ctx.actor, input.id, input.connection_id)),
});

const ByDomain = ById.extend({ domain_id: IdKey });

export const domainsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/clients/{id}/domains/', {
    summary: 'List the domains of a client',
    description: 'Oldest first. `cursor` is the id of the last domain of the previous page.',
  })
    .input(ById.extend(limitedPagingFields(IdCursor)))
    .output(z.array(DomainOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.domains.list(ctx.actor, input.id, toPageRequest(ctx, input));
      return rows.map(domainOutput);
    }),

  add: route(adminProcedure, 'POST', '/jb/clients/{id}/domains/', {
    summary: 'Add a domain',
    description:
      'Of email addresses. Publish the TXT record of the response to prove that the client owns it, then verify it.',
    problems: ['reauthentication-required'],
    status: 201,
    example: { domain: 'acme.test' },
  })
    .input(ById.extend({ domain: DomainName }))
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.add(ctx.actor, input.id, input.domain).then(domainOutput),
    ),

  verify: route(adminProcedure, 'POST', '/jb/clients/{id}/domains/{domain_id}/verify/', {
    summary: 'Verify a domain',
    description: 'Looks for the TXT record now. It is looked for once a day afterwards.',
    handlesIdempotency: true,
    problems: ['reauthentication-required', 'dns-unavailable'],
  })
    .input(ByDomain)
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.verify(ctx.actor, input.id, input.domain_id).then(domainOutput),
    ),

  vouch: route(superuserProcedure, 'POST', '/jb/clients/{id}/domains/{domain_id}/vouch/', {
    summary: 'Vouch for a domain',
    description:
      'Verifies it without a record. The providers of the client then decide who has its addresses.',
    problems: ['reauthentication-required'],
  })
    .input(ByDomain)
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.vouch(ctx.actor, input.id, input.domain_id).then(domainOutput),
    ),

  remove: route(adminProcedure, 'DELETE', '/jb/clients/{id}/domains/{domain_id}/', {
    summary: 'Remove a domain',
    description:
      'Its addresses do not lead to the connection any more. Known people can still log in with it.',
    problems: ['reauthentication-required'],
  })
    .input(ByDomain)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.domains.remove(ctx.actor, input.id, input.domain_id)),
});

const IdentityOutput = Output('ExternalIdentity', {
  id: z.int(),
  connection: z.int(),
  connection_name: z.string(),
  /** Null: of the installation. */
  client: z.int().nullable(),
  issuer: z.string(),
  subject: z.string(),
  /** The address that the provider stated last. */
  email: z.string(),
  created_at: Instant,
  last_login: Instant.nullable(),
});

/** Of the router of users. */
export const identityProcedures = {
  identities: route(adminProcedure, 'GET', '/jb/users/{email}/identities/', {
    summary: 'List the external identities of a user',
    description: 'At which identity providers they log in, of the clients that you administer.',
  })
    .input(ByEmail)
    .output(z.array(IdentityOutput))
    .query(({ ctx, input }) => ctx.services.identities.list(ctx.actor, input.email)),

  unlinkIdentity: route(adminProcedure, 'DELETE', '/jb/users/{email}/identities/{identity_id}/', {
    summary: 'Unlink an external identity',
    description:
      'Of a client that you administer. Ends the sessions that began with it. The next login with the provider connects the account again.',
  })
    .input(z.object({ email: EmailKey, identity_id: IdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.identities.unlink(ctx.actor, input.email, input.identity_id)),
};
