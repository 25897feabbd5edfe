import { z } from 'zod';
import { Instant, Login, LongIdKey, Name } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { protectedProcedure, publicProcedure, router } from './trpc.ts';

/** Parsing a form takes quadratic time, and the endpoint is public. */
const MAX_LOGIN_BYTES = 16 * 1024;

const tags = ['Token'];
const rest = { extension: true } as const;
const noContent = { status: 204, extension: true } as const;

const IssuedToken = z.object({ token: z.string() });

/** A token without its secret. */
export const TokenView = z.object({
  id: z.int(),
  /** Empty for tokens that a login created. */
  name: z.string(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  is_current: z.boolean(),
});

export const tokensRouter = router({
  /** Accepts any string as username: an unknown one fails like a wrong password. */
  create: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/api-token-auth/', tags, protect: false },
      rest: { forms: true, jsonOnly: true, maxBodyBytes: MAX_LOGIN_BYTES },
    })
    .input(z.object({ username: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.username, input.password),
    })),

  createByEmail: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/jb/api-token-auth/', tags, protect: false },
      rest: { forms: true, jsonOnly: true, maxBodyBytes: MAX_LOGIN_BYTES, extension: true },
    })
    .input(z.object({ email: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.createToken(input.email, input.password),
    })),

  list: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/tokens/', tags }, rest })
    .input(z.object(pagingFields(LongIdKey)).prefault({}))
    .output(z.array(TokenView))
    .query(async ({ ctx, input }) => {
      const { credential } = ctx.actor;
      const currentId = credential?.kind === 'token' ? credential.id : undefined;
      const tokens = await ctx.services.apiTokens.list(ctx.actor, toPageRequest(ctx, input));
      return tokens.map((token) => ({ ...token, is_current: token.id === currentId }));
    }),

  /** The only response that contains a named token. */
  createNamed: protectedProcedure
    .meta({ openapi: { method: 'POST', path: '/jb/tokens/', tags }, rest: { status: 201, extension: true } })
    .input(z.object({ name: Name(100) }))
    .output(TokenView.extend({ token: z.string() }))
    .mutation(async ({ ctx, input }) => {
      const { row, token } = await ctx.services.apiTokens.create(ctx.actor, input.name);
      return { ...row, is_current: false, token };
    }),

  revoke: protectedProcedure
    .meta({ openapi: { method: 'DELETE', path: '/jb/tokens/{id}/', tags }, rest: noContent })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id)),
});
