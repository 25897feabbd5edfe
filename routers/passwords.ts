import { z } from 'zod';
import { MAX_PASSWORD_LENGTH, passwordRules } from '../src/services/passwords/password-rules.ts';
import { EXTENSION, routesOf } from './procedure-meta.ts';
import { Email, IdKey, Instant, Login, NewPassword, PersonName, Text } from './schemas/fields.ts';
import { protectedProcedure, publicProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Passwords');

const LinkToken = z.string().max(128);
const MAX_PREVIEW_LIMIT = 1000;

/** A rule of the password policy, with a message for users. */
export const RuleOutput = z.object({ rule: z.string(), message: z.string() });

export const passwordsRouter = router({
  change: protectedProcedure
    .meta(route('POST', '/password/change/', { ...EXTENSION, status: 204, handlesIdempotency: true }))
    .input(z.object({ password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(async ({ ctx: { actor, browser, services, idempotencyKey }, input }) => {
      await services.passwords.change(actor, input.password, input.new_password, idempotencyKey());
      if (browser.session !== null)
        browser.keepDevice(await services.sessions.issueDeviceCookie(browser.session));
    }),

  /** Replaces an expired password, which does not allow a login. */
  renew: publicProcedure
    .meta(route('POST', '/password/change-expired/', { ...EXTENSION, status: 204, protect: false }))
    .input(z.object({ username: Login.username, password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(async ({ ctx: { browser, services }, input }) => {
      const change = { username: input.username, current: input.password, next: input.new_password };
      browser.keepDevice(await services.passwords.changeExpired(change, browser.device));
    }),

  /** Neither the response nor its timing reveals whether the account exists. */
  requestReset: publicProcedure
    .meta(route('POST', '/password/request-reset/', { ...EXTENSION, status: 204, protect: false }))
    .input(z.object({ email: Email }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.passwordResets.request(input.email)),

  /** A POST, because the token must not appear in a URL. Does not consume the token. */
  verifyToken: publicProcedure
    .meta(route('POST', '/password/reset/verify/', { ...EXTENSION, protect: false }))
    .input(z.object({ token: LinkToken }))
    .output(z.object({ email: z.string(), rules: z.array(RuleOutput) }))
    .mutation(async ({ ctx, input }) => {
      const { email, policy } = await ctx.services.passwordResets.verifyToken(input.token);
      return { email, rules: passwordRules(policy) };
    }),

  reset: publicProcedure
    .meta(route('POST', '/password/reset/', { ...EXTENSION, status: 204, protect: false }))
    .input(z.object({ token: LinkToken, password: NewPassword }))
    .output(z.void())
    .mutation(async ({ ctx: { browser, services }, input }) => {
      browser.keepDevice(await services.passwordResets.reset(input.token, input.password));
    }),

  /**
   * Checks a password while it is typed, against the policy of the logged-in user, else of the client of this site. The
   * password is not stored.
   */
  check: publicProcedure
    .meta(route('POST', '/password/check/', { ...EXTENSION, protect: false }))
    .input(
      z.object({
        password: z.string().max(MAX_PASSWORD_LENGTH),
        email: Text(254).default(''),
        first_name: PersonName.default(''),
        last_name: PersonName.default(''),
      }),
    )
    .output(z.object({ passed: z.boolean(), rules: z.array(RuleOutput.extend({ passed: z.boolean() })) }))
    .mutation(async ({ ctx, input: { password, email, first_name: firstName, last_name: lastName } }) => {
      const actor = await ctx.authenticate();
      const person = { email, firstName, lastName };
      const rules = await ctx.services.passwords.check(actor, ctx.host, password, person);
      return { passed: rules.every((rule) => rule.passed), rules };
    }),

  /** The users whose passwords would have expired with this value of `password_expiration_days`. */
  previewExpiry: viewerProcedure
    .meta(route('GET', '/jb/clients/{id}/password-expiry/', EXTENSION))
    .input(
      z.object({
        id: IdKey,
        days: z.int().min(0).max(3650),
        limit: z.int().min(1).max(MAX_PREVIEW_LIMIT).default(100),
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
