import { z } from 'zod';
import { SCOPES } from '../src/services/access/action-scopes.ts';
import { routesOf } from './procedure-meta.ts';
import { changesOf, Name, OptionalInput, Text } from './schemas/fields.ts';
import { ById, Id, IdCursor, IdKey, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, pagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { TOKEN_LIMITS, TokenOutput, TokenUseOutput } from './tokens.ts';
import { router, settingsProcedure } from './trpc.ts';

const route = routesOf('Service accounts', { hasSecrets: true });

const ServiceAccountOutput = Output('ServiceAccount', {
  id: z.int(),
  /** Null: the installation. */
  client: z.int().nullable(),
  name: z.string().meta({ examples: ['Nightly export'] }),
  description: z.string(),
  /** Names of roles: `client-admin` in its client; `superuser` or `staff` in the installation. */
  roles: z.array(z.string()),
  /** What its tokens may do at most; null: all that its roles allow. */
  scopes: z.array(z.string()).nullable(),
  is_active: z.boolean(),
  /** The address by which audit entries and invitations name it. It receives no mail. */
  address: z.string().meta({ examples: ['nightly-export-42@service-account.invalid'] }),
  created_at: Instant,
  /** When one of its tokens was last used or created; null: it has no token. */
  last_used: Instant.nullable(),
  /** The email address of the user; null if the account was removed. */
  created_by: z.nullable(z.string()).meta({ examples: ['admin@acme.test'] }),
});

const fields = {
  name: Name(100),
  description: Text(500).default(''),
  roles: z.array(z.string()).max(10).default([]),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).nullable().default(null),
};

const ByToken = z.object({ id: IdKey, token_id: LongIdKey });

export const serviceAccountsRouter = router({
  list: route(settingsProcedure, 'GET', '/jb/service-accounts/', {
    summary: 'List service accounts',
    description:
      'Those of clients that you administer. Superusers also see those of the installation, which have no `client`.',
  })
    .input(OptionalInput({ client: Id.optional(), ...limitedPagingFields(IdCursor) }))
    .output(z.array(ServiceAccountOutput))
    .query(({ ctx, input }) =>
      ctx.services.serviceAccounts.list(ctx.actor, input.client, toPageRequest(ctx, input)),
    ),

  create: route(settingsProcedure, 'POST', '/jb/service-accounts/', {
    summary: 'Create a service account',
    description:
      'For a program. It acts by its tokens, with the roles and scopes given here; you must have them yourself.',
    problems: ['reauthentication-required', 'not-found'],
    status: 201,
    example: { name: 'Nightly export', client: 1, roles: ['client-admin'], scopes: ['users:read'] },
  })
    .input(z.object({ ...fields, client: Id.nullable() }))
    .output(ServiceAccountOutput)
    .mutation(({ ctx, input }) => ctx.services.serviceAccounts.create(ctx.actor, input)),

  get: route(settingsProcedure, 'GET', '/jb/service-accounts/{id}/', { summary: 'Get a service account' })
    .input(ById)
    .output(ServiceAccountOutput)
    .query(({ ctx, input }) => ctx.services.serviceAccounts.get(ctx.actor, input.id)),

  update: route(settingsProcedure, 'PATCH', '/jb/service-accounts/{id}/', {
    summary: 'Change a service account',
    description: 'Takes effect with the next request of each token. `is_active: false` refuses all of them.',
    problems: ['reauthentication-required'],
    example: { is_active: false },
  })
    .input(changesOf({ ...fields, is_active: z.boolean() }).extend(ById.shape))
    .output(ServiceAccountOutput)
    .mutation(({ ctx, input: { id, ...changes } }) =>
      ctx.services.serviceAccounts.update(ctx.actor, id, changes),
    ),

  remove: route(settingsProcedure, 'DELETE', '/jb/service-accounts/{id}/', {
    summary: 'Remove a service account',
    description: 'Ends its tokens. The audit trail keeps its name.',
    problems: ['reauthentication-required'],
  })
    .input(ById)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.serviceAccounts.remove(ctx.actor, input.id)),

  tokens: route(settingsProcedure, 'GET', '/jb/service-accounts/{id}/tokens/', {
    summary: 'List the tokens of a service account',
  })
    .input(z.object({ id: IdKey, ...pagingFields(LongIdKey) }))
    .output(z.array(TokenOutput))
    .query(({ ctx, input }) =>
      ctx.services.serviceAccounts.listTokens(ctx.actor, input.id, toPageRequest(ctx, input)),
    ),

  createToken: route(settingsProcedure, 'POST', '/jb/service-accounts/{id}/tokens/', {
    summary: 'Create a token of a service account',
    description: 'The token is only shown in this response.',
    problems: ['reauthentication-required'],
    status: 201,
    example: { name: 'Host 1', networks: ['10.0.0.0/8'] },
  })
    .input(z.object({ id: IdKey, name: Name(100), ...TOKEN_LIMITS }))
    .output(TokenOutput.extend({ token: z.string() }))
    .mutation(({ ctx, input: { id, name, scopes, networks, expires_at } }) =>
      ctx.services.serviceAccounts.createToken(ctx.actor, id, {
        name,
        scopes: scopes ?? null,
        networks: networks ?? null,
        expires_at: expires_at ?? null,
      }),
    ),

  tokenUses: route(settingsProcedure, 'GET', '/jb/service-accounts/{id}/tokens/{token_id}/uses/', {
    summary: 'List what a token of a service account was used for',
    description: 'Like `GET /api/v1/jb/tokens/{id}/uses/`.',
  })
    .input(ByToken)
    .output(z.array(TokenUseOutput))
    .query(({ ctx, input }) => ctx.services.serviceAccounts.tokenUses(ctx.actor, input.id, input.token_id)),

  narrowToken: route(settingsProcedure, 'POST', '/jb/service-accounts/{id}/tokens/{token_id}/narrow/', {
    summary: 'Narrow a token of a service account',
    description: 'Like `POST /api/v1/jb/tokens/{id}/narrow/`.',
    problems: ['reauthentication-required'],
    // A repeat changes nothing.
    handlesIdempotency: true,
  })
    .input(ByToken.extend({ scopes: TOKEN_LIMITS.scopes, networks: TOKEN_LIMITS.networks }))
    .output(TokenOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.serviceAccounts.narrowToken(ctx.actor, input.id, input.token_id, input),
    ),

  revokeToken: route(settingsProcedure, 'DELETE', '/jb/service-accounts/{id}/tokens/{token_id}/', {
    summary: 'Revoke a token of a service account',
  })
    .input(ByToken)
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.serviceAccounts.revokeToken(ctx.actor, input.id, input.token_id),
    ),
});
