import { z } from 'zod';
import { MAX_PASSWORD_LENGTH, passwordRules } from '../src/services/passwords/password-rules.ts';
import { Email, IdKey, Instant, Login, NewPassword, PersonName, Text } from './schemas/fields.ts';
import { protectedProcedure, publicProcedure, router, viewerProcedure } from './trpc.ts';

const tags = ['Passwords'];
const rest = { extension: true } as const;
const silently = { status: 204, extension: true } as const;
const LinkToken = z.string().max(128);
const MAX_PREVIEWED = 1000;

/** A rule that passwords have to keep, in a sentence for people. */
export const RuleView = z.object({ rule: z.string(), message: z.string() });

export const passwordsRouter = router({
  change: protectedProcedure
    .meta({
      openapi: { method: 'POST', path: '/password/change/', tags },
      rest: { ...silently, handlesIdempotency: true },
    })
    .input(z.object({ password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.passwords.change(ctx.actor, input.password, input.new_password, ctx.idempotencyKey()),
    ),

  /** For a password that is too old to log in with. */
  renew: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/password/change-expired/', tags, protect: false },
      rest: silently,
    })
    .input(z.object({ username: Login.username, password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(({ ctx, input }) =>
      ctx.services.passwords.renew(input.username, input.password, input.new_password),
    ),

  /** Answers the same, and takes as long, whoever's address it is. */
  requestReset: publicProcedure
    .meta({
      openapi: { method: 'POST', path: '/password/request-reset/', tags, protect: false },
      rest: silently,
    })
    .input(z.object({ email: Email }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.passwordResets.request(input.email)),

  /** Asked by POST, as the token must not stand in the URL of a request. Consumes nothing. */
  verifyToken: publicProcedure
    .meta({ openapi: { method: 'POST', path: '/password/reset/verify/', tags, protect: false }, rest })
    .input(z.object({ token: LinkToken }))
    .output(z.object({ email: z.string(), rules: z.array(RuleView) }))
    .mutation(async ({ ctx, input }) => {
      const { email, policy } = await ctx.services.passwordResets.open(input.token);
      return { email, rules: passwordRules(policy) };
    }),

  reset: publicProcedure
    .meta({ openapi: { method: 'POST', path: '/password/reset/', tags, protect: false }, rest: silently })
    .input(z.object({ token: LinkToken, password: NewPassword }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.passwordResets.reset(input.token, input.password)),

  /**
   * What a password meets and what not, while it is typed: for whoever is logged in by their own policy, else by
   * that of the client whose site this is. Nothing is kept of it.
   */
  check: publicProcedure
    .meta({ openapi: { method: 'POST', path: '/password/check/', tags, protect: false }, rest })
    .input(
      z.object({
        password: z.string().max(MAX_PASSWORD_LENGTH),
        email: Text(254).default(''),
        first_name: PersonName.default(''),
        last_name: PersonName.default(''),
      }),
    )
    .output(z.object({ passed: z.boolean(), rules: z.array(RuleView.extend({ passed: z.boolean() })) }))
    .mutation(async ({ ctx, input: { password, email, first_name: firstName, last_name: lastName } }) => {
      const actor = await ctx.authenticate();
      const person = { email, firstName, lastName };
      const rules = await ctx.services.passwords.check(actor, ctx.host, password, person);
      return { passed: rules.every((rule) => rule.passed), rules };
    }),

  /** Whom it would affect if passwords of this client's people were to last this many days. */
  previewExpiry: viewerProcedure
    .meta({ openapi: { method: 'GET', path: '/jb/clients/{id}/password-expiry/', tags }, rest })
    .input(
      z.object({
        id: IdKey,
        days: z.int().min(0).max(3650),
        limit: z.int().min(1).max(MAX_PREVIEWED).default(100),
      }),
    )
    .output(
      z.object({
        total: z.int(),
        users: z.array(z.object({ email: z.string(), last_password_set: Instant })),
      }),
    )
    .query(({ ctx, input }) =>
      ctx.services.passwords.previewExpiry(ctx.actor, input.id, input.days, input.limit),
    ),
});
