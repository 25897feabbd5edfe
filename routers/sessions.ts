import { z } from 'zod';
import { Problem } from '../src/lib/problems.ts';
import type { SessionRow } from '../src/services/auth/sessions.ts';
import { EmailKey, Instant, Login, LongIdKey, NoInput } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/paging.ts';
import { UserView, userView } from './schemas/users.ts';
import { adminProcedure, protectedProcedure, publicProcedure, router } from './trpc.ts';

const tags = ['Sessions'];

export const SessionView = z.object({
  id: z.int(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  user_agent: z.string(),
  is_current: z.boolean(),
});

const sessionView = (session: SessionRow, currentId: number | undefined): z.input<typeof SessionView> => ({
  id: session.id,
  created_at: session.created_at,
  last_used: session.last_used,
  last_address: session.last_address,
  user_agent: session.user_agent,
  is_current: session.id === currentId,
});

export const sessionsRouter = router({
  /** Logs a browser in. The cookie is the session; the token goes into the header X-CSRFToken of later changes. */
  create: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/session/', tags, protect: false },
      rest: { extension: true },
    })
    .input(z.object({ username: Login.username, password: Login.password }))
    .output(z.object({ user: UserView, csrf_token: z.string() }))
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const { logins, identity, sessions, users } = ctx.services;
      const secret = await logins.bySession(input.username, input.password, ctx.browser.userAgent);
      const actor = await identity.ofSession(secret);
      // Ended in the moment between.
      if (!actor) throw new Problem('unauthenticated');
      if (ctx.browser.session !== null) await sessions.replace(ctx.browser.session);
      const user = userView(await users.get(actor, actor.email), ctx.baseUrl);
      return { user, csrf_token: ctx.browser.keepSession(secret) };
    }),

  current: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/session/', tags }, rest: { extension: true } })
    .input(NoInput)
    .output(z.object({ user: UserView }))
    .query(async ({ ctx }) => ({
      user: userView(await ctx.services.users.get(ctx.actor, ctx.actor.email), ctx.baseUrl),
    })),

  /** Logs out: the session, or the token, that the request came with is over. */
  end: protectedProcedure
    .meta({
      openapi: { method: 'DELETE', path: '/session/', tags },
      rest: { status: 204, extension: true },
    })
    .input(NoInput)
    .output(z.void())
    .mutation(async ({ ctx }) => {
      ctx.browser.forgetSession();
      const { credential: via } = ctx.actor;
      if (via?.kind === 'session') await ctx.services.sessions.end(ctx.actor, via.id);
      if (via?.kind === 'token') await ctx.services.apiTokens.revoke(ctx.actor, via.id);
    }),

  /** For `reauthentication-required`. */
  confirm: protectedProcedure
    .meta({
      openapi: { method: 'POST', path: '/session/confirm/', tags },
      rest: { status: 204, extension: true, handlesIdempotency: true },
    })
    .input(z.object({ password: Login.password }))
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.sessions.confirm(ctx.actor, input.password, ctx.idempotencyKey()),
    ),

  list: protectedProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/sessions/', tags }, rest: { extension: true } })
    .input(z.object(pagingFields(LongIdKey)).prefault({}))
    .output(z.array(SessionView))
    .query(async ({ ctx, input }) => {
      const part = toPageRequest(ctx, input);
      const currentId = ctx.actor.credential?.kind === 'session' ? ctx.actor.credential.id : undefined;
      const sessions = await ctx.services.sessions.list(ctx.actor, part);
      return sessions.map((session) => sessionView(session, currentId));
    }),

  revoke: protectedProcedure
    .meta({
      openapi: { method: 'DELETE', path: '/jb/sessions/{id}/', tags },
      rest: { status: 204, extension: true },
    })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.sessions.end(ctx.actor, input.id)),

  /** Ends every session and token of a user, who may log in again. */
  revokeAll: adminProcedure
    .meta({
      openapi: { method: 'DELETE', path: '/jb/users/{email}/sessions/', tags },
      rest: { status: 204, extension: true },
    })
    .input(z.object({ email: EmailKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.sessions.revokeAll(ctx.actor, input.email)),
});
