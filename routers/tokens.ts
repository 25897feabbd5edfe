import { z } from 'zod';
import { parseNetwork } from '../src/lib/ip-networks.ts';
import { SCOPES } from '../src/services/access/action-scopes.ts';
import { routesOf } from './procedure-meta.ts';
import { BodyInstant, Login, Name, OneTimeCode, OptionalInput } from './schemas/fields.ts';
import { EmailKey, IdKey, LongIdKey } from './schemas/keys.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { credentialProcedure, memberProcedure, publicProcedure, router } from './trpc.ts';

const route = routesOf('Token', { hasSecrets: true });

/** Parsing a form takes quadratic time, and the endpoint is public. */
const MAX_LOGIN_BYTES = 16 * 1024;
const LOGIN_PROBLEMS = [
  'invalid-credentials',
  'password_expired',
  'sso-required',
  'otp-required',
  'second-factor-required',
  'invalid-otp',
  'throttled',
] as const;
const SAME_RESPONSE = 'An unknown user, a wrong password and an inactive account get the same response.';
const WITH_CODE =
  'Users with a second factor also send `otp`, a code of their authenticator app or a recovery code.';
const login = { forms: true, jsonOnly: true, maxBodyBytes: MAX_LOGIN_BYTES };

/** Any text is accepted: tokens of another kind are invalid like unknown ones. */
const SentToken = z.object({ token: z.string().min(1, 'This field is required.') });
const IssuedToken = z.object({ token: z.string() });

/** A token without its secret. */
export const TokenOutput = Output('Token', {
  id: z.int(),
  /** Empty for tokens that a login created. */
  name: z.string(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  is_current: z.boolean(),
  /** The client to which it is confined; null: none. */
  client: z.int().nullable(),
  /** What it may do; null: all that its user may do. */
  scopes: z.array(z.string()).nullable(),
  /** The networks from which it is accepted; null: any. */
  networks: z.array(z.string()).nullable(),
  expires_at: Instant.nullable(),
});

/** A procedure that needs two scopes is listed once for each. */
export const TokenUseOutput = Output('TokenUse', {
  /** Or the method and path of a request that has none, such as `GET /gate/{app_slug}/`. */
  procedure: z.string().meta({ examples: ['users.list'] }),
  scope: z.string().meta({ examples: ['users:read'] }),
  last_used_at: Instant,
});

const MAX_NETWORKS = 20;

const Network = z.string().transform((text, context) => {
  const parsed = parseNetwork(text.trim());
  if ('network' in parsed) return parsed.network;
  context.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});

/** What narrows a token. */
export const TOKEN_LIMITS = {
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
  networks: z.array(Network).min(1).max(MAX_NETWORKS).optional(),
  expires_at: BodyInstant.optional(),
};

export const tokensRouter = router({
  create: route(publicProcedure, 'POST', '/api-token-auth/', {
    summary: 'Get a token',
    description: `Send the token as \`Authorization: Token …\`. ${SAME_RESPONSE} ${WITH_CODE} Accepts JSON and forms.`,
    problems: LOGIN_PROBLEMS,
    ...login,
    legacy: true,
  })
    .input(z.object({ username: Login.username, password: Login.password, otp: OneTimeCode.optional() }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.username, input.password, input.otp),
    })),

  createByEmail: route(publicProcedure, 'POST', '/jb/api-token-auth/', {
    summary: 'Get a token by email',
    description: `Same as \`POST /api/v1/api-token-auth/\`, with \`email\` as the name of the field. ${SAME_RESPONSE} ${WITH_CODE}`,
    problems: LOGIN_PROBLEMS,
    ...login,
  })
    .input(z.object({ email: Login.username, password: Login.password, otp: OneTimeCode.optional() }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.email, input.password, input.otp),
    })),

  /** Public: the token is the proof, and its holder may have no other credential. */
  verify: route(publicProcedure, 'POST', '/jb/api-token-verify/', {
    summary: 'Verify a token',
    description:
      'Returns the token if it is valid. Does not count as a use of the token. Accepts JSON and forms.',
    problems: ['invalid-token'],
    ...login,
  })
    .input(SentToken)
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({ token: await ctx.services.tokenRefresh.verify(input.token) })),

  refresh: route(publicProcedure, 'POST', '/jb/api-token-refresh/', {
    summary: 'Refresh a token',
    description:
      'Returns a new token. The old one ends a minute later; until then, another refresh of it returns the same new token. Accepts JSON and forms.',
    problems: ['invalid-token'],
    ...login,
  })
    .input(SentToken)
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({ token: await ctx.services.tokenRefresh.refresh(input.token) })),

  list: route(memberProcedure, 'GET', '/jb/tokens/', {
    summary: 'List your tokens',
    description: 'When each token was created and last used, but not the token itself.',
  })
    .input(OptionalInput(pagingFields(LongIdKey)))
    .output(z.array(TokenOutput))
    .query(({ ctx, input }) => ctx.services.apiTokens.list(ctx.actor, toPageRequest(ctx, input))),

  createNamed: route(memberProcedure, 'POST', '/jb/tokens/', {
    summary: 'Create a named token',
    description:
      'For scripts. The token is only shown in this response. `scopes`, `client`, `networks` and `expires_at` narrow it: a procedure names its scope. A token that makes another one passes on its own limits.',
    problems: ['reauthentication-required', 'confined-session'],
    status: 201,
    example: { name: 'Nightly export' },
  })
    .input(z.object({ name: Name(100), client: IdKey.optional(), ...TOKEN_LIMITS }))
    .output(TokenOutput.extend({ token: z.string() }))
    .mutation(({ ctx, input: { name, client, expires_at, scopes, networks } }) =>
      ctx.services.apiTokens.create(ctx.actor, name, {
        client_id: client ?? null,
        scopes: scopes ?? null,
        networks: networks ?? null,
        expires_at: expires_at ?? null,
      }),
    ),

  uses: route(memberProcedure, 'GET', '/jb/tokens/{id}/uses/', {
    summary: 'List what one of your tokens was used for',
    description:
      'The procedures that it called in the last 90 days, newest first, with the scope that each needs. Times are of the first use in an hour.',
  })
    .input(z.object({ id: LongIdKey }))
    .output(z.array(TokenUseOutput))
    .query(({ ctx, input }) => ctx.services.apiTokens.uses(ctx.actor, input.id)),

  narrow: route(memberProcedure, 'POST', '/jb/tokens/{id}/narrow/', {
    summary: 'Narrow one of your tokens',
    description:
      'Limits it to `scopes` or `networks`, or without both to the scopes that its uses of the last 90 days need: see `GET /api/v1/jb/tokens/{id}/uses/`. Never widens it.',
    problems: ['reauthentication-required'],
    // A token may narrow itself.
    mayRevokeOwnCredential: true,
    // A repeat changes nothing.
    handlesIdempotency: true,
  })
    .input(z.object({ id: LongIdKey, scopes: TOKEN_LIMITS.scopes, networks: TOKEN_LIMITS.networks }))
    .output(TokenOutput)
    .mutation(({ ctx, input }) => ctx.services.apiTokens.narrow(ctx.actor, input.id, input)),

  revoke: route(memberProcedure, 'DELETE', '/jb/tokens/{id}/', {
    summary: 'Revoke one of your tokens',
    mayRevokeOwnCredential: true,
  })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id)),

  listByUser: route(credentialProcedure, 'GET', '/jb/users/{email}/tokens/', {
    summary: 'List the tokens of a user',
    description:
      'When each token was created and last used, but not the token itself. For those who may change this user.',
    problems: ['shared-user'],
  })
    .input(z.object({ email: EmailKey, ...pagingFields(LongIdKey) }))
    .output(z.array(TokenOutput))
    .query(({ ctx, input }) =>
      ctx.services.apiTokens.list(ctx.actor, toPageRequest(ctx, input), input.email),
    ),

  revokeForUser: route(credentialProcedure, 'DELETE', '/jb/users/{email}/tokens/{id}/', {
    summary: 'Revoke a token of a user',
    description: 'For those who may change this user.',
    problems: ['shared-user'],
    mayRevokeOwnCredential: true,
  })
    .input(z.object({ email: EmailKey, id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id, input.email)),
});
