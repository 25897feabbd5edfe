import { z } from 'zod';
import type { ApiTokenRow } from '../src/services/auth/api-tokens.ts';
import { Instant, Login, LongIdKey, Name } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { protectedProcedure, publicProcedure, router } from './trpc.ts';

/** Forms take time in the square of their size to read, and anybody may send them. */
const MAX_LOGIN_BYTES = 16 * 1024;

const tags = ['Token'];
const IssuedToken = z.object({ token: z.string() });

/** What is told of a token after its making: all but the token. */
export const TokenView = z.object({
  id: z.int(),
  /** Empty for those that a login has given. */
  name: z.string(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  is_current: z.boolean(),
});

const tokenView = (token: ApiTokenRow, currentId: number | undefined): z.input<typeof TokenView> => ({
  id: token.id,
  name: token.name,
  created_at: token.created_at,
  last_used: token.last_used,
  last_address: token.last_address,
  is_current: token.id === currentId,
});

export const tokensRouter = router({
  /** Any text is taken for a username: what is nobody's fails like a wrong password. */
  create: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/api-token-auth/', tags, protect: false },
      rest: { forms: true, jsonOnly: true, maxBodyBytes: MAX_LOGIN_BYTES },
    })
    .input(z.object({ username: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.byToken(input.username, input.password),
    })),

  createByEmail: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/jb/api-token-auth/', tags, protect: false },
      rest: { forms: true, jsonOnly: true, maxBodyBytes: MAX_LOGIN_BYTES, extension: true },
    })
    .input(z.object({ email: Login.username, password: Login.password }))
    .output(IssuedToken)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.logins.byToken(input.email, input.password),
    })),

  list: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/tokens/', tags }, rest: { extension: true } })
    .input(z.object(pagingFields(LongIdKey)).prefault({}))
    .output(z.array(TokenView))
    .query(async ({ ctx, input }) => {
      const part = toPageRequest(ctx, input);
      const currentId = ctx.actor.credential?.kind === 'token' ? ctx.actor.credential.id : undefined;
      const tokens = await ctx.services.apiTokens.list(ctx.actor, part);
      return tokens.map((token) => tokenView(token, currentId));
    }),

  /** The only answer that ever holds a token made by name. */
  createNamed: protectedProcedure
    .meta({ openapi: { method: 'POST', path: '/jb/tokens/', tags }, rest: { status: 201, extension: true } })
    .input(z.object({ name: Name(100) }))
    .output(TokenView.extend({ token: z.string() }))
    .mutation(async ({ ctx, input }) => {
      const { row, token } = await ctx.services.apiTokens.create(ctx.actor, input.name);
      return { ...tokenView(row, undefined), token };
    }),

  revoke: protectedProcedure
    .meta({
      openapi: { method: 'DELETE', path: '/jb/tokens/{id}/', tags },
      rest: { status: 204, extension: true },
    })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.apiTokens.revoke(ctx.actor, input.id)),
});
