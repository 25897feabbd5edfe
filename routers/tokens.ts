import { z } from 'zod';
import { anyone, router } from './trpc.ts';

const Password = z.string().min(1, 'This field is required.').max(1024);
/** Forms take time in the square of their size to read, and anybody may send them. */
const MAX_LOGIN_BYTES = 16 * 1024;

const TokenView = z.object({ token: z.string() });

export const tokensRouter = router({
  /** Any text is taken for a username: what is nobody's fails like a wrong password. */
  create: anyone
    .meta({
      openapi: { method: 'POST', path: '/api-token-auth/', tags: ['Token'], protect: false },
      rest: { forms: true, maxBodyBytes: MAX_LOGIN_BYTES },
    })
    .input(z.object({ username: z.string().min(1, 'This field is required.').max(1024), password: Password }))
    .output(TokenView)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.identity.login(input.username, input.password, ctx.address),
    })),

  createByEmail: anyone
    .meta({
      openapi: { method: 'POST', path: '/jb/api-token-auth/', tags: ['Token'], protect: false },
      rest: { forms: true, maxBodyBytes: MAX_LOGIN_BYTES, extension: true },
    })
    .input(z.object({ email: z.string().min(1, 'This field is required.').max(1024), password: Password }))
    .output(TokenView)
    .mutation(async ({ ctx, input }) => ({
      token: await ctx.services.identity.login(input.email, input.password, ctx.address),
    })),
});
