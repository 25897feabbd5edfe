import { z } from 'zod';
import type { Actor } from '../src/services/access/actor.ts';
import type { ApiTokenRow } from '../src/services/auth/api-tokens.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { EmailKey, Instant, Login, LongIdKey, Name, Output } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { adminProcedure, protectedProcedure, publicProcedure, router } from './trpc.ts';

const route = routesOf('Token');

/** Parsing a form takes quadratic time, and the endpoint is public. */
const MAX_LOGIN_BYTES = 16 * 1024;
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
});

const tokenOutput =
  ({ credential }: Actor) =>
  (token: ApiTokenRow): z.input<typeof TokenOutput> => ({
    ...token,
    is_current: credential?.kind === 'token' && credential.id === token.id,
  });

export const tokensRouter = router({
  /** Accepts any string as username: an unknown one fails like a wrong password. */
  create: publicProcedure
    .meta(route('POST', '/api-token-auth/', { ...login, protect: false }))
    .input(z.object({ username: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.username, input.password),
    })),

  createByEmail: publicProcedure
    .meta(route('POST', '/jb/api-token-auth/', { ...login, ...EXTENSION, protect: false }))
    .input(z.object({ email: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.email, input.password),
    })),

  /** Public, because the token is the proof, and may have no other credential beside it. */
  verify: publicProcedure
    .meta(route('POST', '/jb/api-token-verify/', { ...login, ...EXTENSION, protect: false }))
    .input(SentToken)
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({ token: await ctx.services.tokenRefresh.verify(input.token) })),

  refresh: publicProcedure
    .meta(route('POST', '/jb/api-token-refresh/', { ...login, ...EXTENSION, protect: false }))
    .input(SentToken)
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({ token: await ctx.services.tokenRefresh.refresh(input.token) })),

  list: protectedProcedure
    .meta(route('GET', '/jb/tokens/', EXTENSION))
    .input(z.object(pagingFields(LongIdKey)).prefault({}))
    .output(z.array(TokenOutput))
    .query(async ({ ctx, input }) =>
      (await ctx.services.apiTokens.list(ctx.actor, toPageRequest(ctx, input))).map(tokenOutput(ctx.actor)),
    ),

  /** The only response that contains a named token. */
  createNamed: protectedProcedure
    .meta(route('POST', '/jb/tokens/', { status: 201, ...EXTENSION }))
    .input(z.object({ name: Name(100) }))
    .output(TokenOutput.extend({ token: z.string() }))
    .mutation(async ({ ctx, input }) => {
      const { row, token } = await ctx.services.apiTokens.create(ctx.actor, input.name);
      return { ...row, is_current: false, token };
    }),

  revoke: protectedProcedure
    .meta(route('DELETE', '/jb/tokens/{id}/', { ...EXTENSION, status: 204 }))
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id)),

  listByUser: adminProcedure
    .meta(route('GET', '/jb/users/{email}/tokens/', EXTENSION))
    .input(z.object({ email: EmailKey, ...pagingFields(LongIdKey) }))
    .output(z.array(TokenOutput))
    .query(async ({ ctx, input }) => {
      const page = toPageRequest(ctx, input);
      return (await ctx.services.apiTokens.list(ctx.actor, page, input.email)).map(tokenOutput(ctx.actor));
    }),

  revokeForUser: adminProcedure
    .meta(route('DELETE', '/jb/users/{email}/tokens/{id}/', { ...EXTENSION, status: 204 }))
    .input(z.object({ email: EmailKey, id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id, input.email)),
});
