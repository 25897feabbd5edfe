import { z } from 'zod';
import { DomainName } from '../src/lib/email-address.ts';
import { providerPaths, startUrl } from '../src/services/sso/connections.ts';
import { recordName, recordValue } from '../src/services/sso/domains.ts';
import type { Context } from './context.ts';
import { routesOf } from './procedure-meta.ts';
import { changesOf, Name, Text } from './schemas/fields.ts';
import { ByEmail, ById, EmailKey, GroupIds, Id, IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { adminProcedure, router, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Single sign-on');

const MAX_MAPPED_GROUPS = 200;

const MappedGroup = z.object({ claim: Name(255), group: Id });

const ConnectionOutput = Output('SsoConnection', {
  id: z.int(),
  client: z.int(),
  name: z.string(),
  issuer: z.string(),
  client_id: z.string(),
  has_secret: z.boolean(),
  scopes: z.string(),
  email_claim: z.string(),
  first_name_claim: z.string(),
  last_name_claim: z.string(),
  groups_claim: z.string(),
  is_active: z.boolean(),
  is_required: z.boolean(),
  provisions: z.boolean(),
  /** Groups of people whom a login creates. */
  default_groups: z.array(z.int()),
  group_mapping: z.array(z.object({ claim: z.string(), group: z.int() })),
  /** How many people have logged in with it. */
  people: z.int(),
  created_at: Instant,
  tested_at: Instant.nullable(),
  /** What is entered at the provider. */
  redirect_uri: z.string(),
  backchannel_logout_uri: z.string(),
  frontchannel_logout_uri: z.string(),
  post_logout_redirect_uri: z.string(),
});

const Issuer = z
  .string()
  .trim()
  .max(2048)
  .check(z.url({ protocol: /^https?$/, error: 'Must be an https:// address.', abort: true }))
  .refine((text) => !/[?#]/.test(text), 'Must have no query and no fragment.')
  .transform((text) => text.replace(/\/\.well-known\/openid-configuration$/, ''));

const Scopes = z
  .string()
  .trim()
  .max(500)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    'Must be words, separated by single spaces.',
  )
  .refine((text) => text.split(' ').includes('openid'), 'Must contain openid.');

const Claim = Text(100).trim();

const fields = {
  name: Name(100),
  issuer: Issuer,
  client_id: Name(255),
  client_secret: Name(1024).nullable().default(null),
  scopes: Scopes.default('openid email profile'),
  email_claim: Name(100).default('email'),
  first_name_claim: Claim.default('given_name'),
  last_name_claim: Claim.default('family_name'),
  groups_claim: Claim.default(''),
  provisions: z.boolean().default(false),
  default_groups: GroupIds.default([]),
  group_mapping: z.array(MappedGroup).max(MAX_MAPPED_GROUPS).default([]),
};

const ByConnection = ById.extend({ connection_id: IdKey });

const connectionOutput =
  ({ baseUrl }: Context) =>
  <Connection extends { id: number }>(connection: Connection) => ({
    ...connection,
    ...providerPaths(baseUrl, connection.id),
  });

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
    .input(ById.extend(fields))
    .output(ConnectionOutput)
    .mutation(({ ctx, input: { id, ...connection } }) =>
      ctx.services.connections.create(ctx.actor, id, connection).then(connectionOutput(ctx)),
    ),

  update: route(adminProcedure, 'PATCH', '/jb/clients/{id}/sso/{connection_id}/', {
    summary: 'Change a connection',
    description:
      'Omitted fields stay unchanged. Another `issuer` or `client_id` deactivates it until the next test. With `is_required`, members whose address is in a verified domain cannot use a password.',
    problems: ['reauthentication-required'],
    example: { is_active: true },
  })
    .input(
      ByConnection.extend({
        ...changesOf(fields).shape,
        is_active: z.boolean().optional(),
        is_required: z.boolean().optional(),
      }),
    )
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
    description: 'The people who log in with it use their passwords again, or reset them.',
    problems: ['reauthentication-required'],
  })
    .input(ByConnection)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.connections.remove(ctx.actor, input.id, input.connection_id)),
});

const DomainOutput = Output('ClientDomain', {
  id: z.int(),
  client: z.int(),
  domain: z.string(),
  /** The TXT record that proves the domain. */
  record_name: z.string(),
  record_value: z.string(),
  created_at: Instant,
  verified_at: Instant.nullable(),
  /** Since when the record is gone. */
  lapsed_at: Instant.nullable(),
  vouched_by: z.string().nullable(),
  checked_at: Instant.nullable(),
});

const domainOutput = <Domain extends { domain: string; token: string }>(domain: Domain) => ({
  ...domain,
  record_name: recordName(domain),
  record_value: recordValue(domain),
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
      'Its people log in with their passwords again. Known people can still log in with the connection.',
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
  client: z.int(),
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
      'Ends the sessions that began with it. At their next login with the provider, a person who has a password enters it again, and one who has none is connected at once and gets a mail. For those who may change this user.',
    problems: ['shared-user'],
  })
    .input(z.object({ email: EmailKey, identity_id: IdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.identities.unlink(ctx.actor, input.email, input.identity_id)),
};
