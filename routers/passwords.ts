import { z } from 'zod';
import { unconfined } from '../src/services/access/actor.ts';
import { MAX_PASSWORD_LENGTH, passwordRules } from '../src/services/passwords/password-rules.ts';
import { routesOf } from './procedure-meta.ts';
import { Email, Login, NewPassword, PersonName, Text } from './schemas/fields.ts';
import { IdKey, LinkToken } from './schemas/keys.ts';
import { PreviewLimit } from './schemas/lists.ts';
import { Instant } from './schemas/outputs.ts';
import { accountProcedure, publicProcedure, router, viewerProcedure } from './trpc.ts';

const route = routesOf('Passwords', { hasSecrets: true });

/** A rule of the password policy, with a message for users. */
const RuleOutput = z.object({ rule: z.string(), message: z.string() });

export const passwordsRouter = router({
  change: route(accountProcedure, 'POST', '/password/change/', {
    summary: 'Change your password',
    description:
      'Ends all your other sessions; the cookies of this one get new values. An error lists every rule that the new password breaks.',
    problems: ['invalid-credentials', 'throttled'],
    handlesIdempotency: true,
  })
    .input(z.object({ password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(async ({ ctx: { actor, browser, services, idempotencyKey }, input }) => {
      if (browser.session !== null) browser.prepareLogin();
      const change = { current: input.password, next: input.new_password };
      const renewed = await services.passwords.change(actor, change, idempotencyKey());
      if (renewed !== null) browser.keepSession(renewed);
    }),

  renew: route(publicProcedure, 'POST', '/password/change-expired/', {
    summary: 'Change an expired password',
    description: 'For users who cannot log in because their password has expired.',
    problems: ['invalid-credentials', 'password_expired', 'sso-required', 'throttled'],
  })
    .input(z.object({ username: Login.username, password: Login.password, new_password: NewPassword }))
    .output(z.void())
    .mutation(({ ctx, input: { username, password, new_password } }) =>
      ctx.services.passwords.changeExpired({ username, current: password, next: new_password }),
    ),

  /** Neither the response nor its timing reveals whether the account exists. */
  requestReset: route(publicProcedure, 'POST', '/password/request-reset/', {
    summary: 'Request a password reset',
    description: 'Mails a link. The response does not reveal whether the account exists.',
    problems: ['throttled'],
  })
    .input(z.object({ email: Email }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.passwordResets.request(input.email)),

  /** A POST, because the token must not appear in a URL. */
  verifyToken: route(publicProcedure, 'POST', '/password/reset/verify/', {
    summary: 'Verify the token of a password reset',
    description: 'Does not use up the token.',
    problems: ['invalid-link', 'sso-required'],
    example: { token: '7.vGZ2t0y5bJq1xk8' },
  })
    .input(z.object({ token: LinkToken }))
    .output(z.object({ email: z.string(), rules: z.array(RuleOutput) }))
    .mutation(async ({ ctx, input }) => {
      const { email, policy } = await ctx.services.passwordResets.verifyToken(input.token);
      return { email, rules: passwordRules(policy) };
    }),

  reset: route(publicProcedure, 'POST', '/password/reset/', {
    summary: 'Reset a password',
    problems: ['invalid-link', 'sso-required'],
    example: { token: '7.vGZ2t0y5bJq1xk8', password: 'a longer one, of words' },
  })
    .input(z.object({ token: LinkToken, password: NewPassword }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.passwordResets.reset(input.token, input.password)),

  check: route(publicProcedure, 'POST', '/password/check/', {
    summary: 'Check a password against the policy',
    description:
      'Checks against your own policy or, without a login, against the policy of the client whose site received the request. Nothing is stored.',
    example: { password: 'summer', email: 'ada@acme.test' },
  })
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
      const actor = unconfined(await ctx.findActor());
      const person = { email, firstName, lastName };
      const rules = await ctx.services.passwords.check(actor, ctx.host, password, person);
      return { passed: rules.every((rule) => rule.passed), rules };
    }),

  previewExpiry: route(viewerProcedure, 'GET', '/jb/clients/{id}/password-expiry/', {
    summary: 'Preview which users a password expiry would affect',
    description:
      'The users whose passwords would have expired if `password_expiration_days` were `days`. For admins, `last_password_set` is null if it was set before the person joined the client, and people who have belonged to another client are listed whether they have a password or not.',
  })
    .input(
      z.object({
        id: IdKey,
        days: z.int().min(0).max(3650),
        limit: PreviewLimit,
      }),
    )
    .output(
      z.object({
        total: z.int(),
        users: z.array(z.object({ email: z.string(), last_password_set: Instant.nullable() })),
      }),
    )
    .query(({ ctx, input }) =>
      ctx.services.passwords.previewExpiry(ctx.actor, input.id, input.days, input.limit),
    ),
});
