import { z } from 'zod';
import { FACTOR_KINDS } from '../src/services/auth/factor-enrolment.ts';
import { DEFAULT_FACTOR_NAME } from '../src/services/auth/totp-enrolment.ts';
import { routesOf } from './procedure-meta.ts';
import { Name, NoInput, OneTimeCode, OptionalInput } from './schemas/fields.ts';
import { LongIdKey } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { CreationOptionsOutput, NewCredential } from './schemas/passkeys.ts';
import { accountProcedure, router } from './trpc.ts';

const route = routesOf('Second factors', { hasSecrets: true });

export const SecondFactorOutput = Output('SecondFactor', {
  id: z.int(),
  kind: z.enum(FACTOR_KINDS),
  name: z.string(),
  confirmed_at: Instant,
  last_used_at: Instant.nullable(),
});

/** What an authenticator app needs, as text and for a QR code. */
const EnrolmentOutput = z.object({ secret: z.string(), otpauth_url: z.string() });

/** Shown once: the service stores only their digests. */
const RecoveryCodesOutput = z.object({ recovery_codes: z.array(z.string()) });

export const mfaRouter = router({
  list: route(accountProcedure, 'GET', '/mfa/', {
    summary: 'List your second factors',
    description: 'With the number of recovery codes that are left.',
  })
    .input(NoInput)
    .output(Output('SecondFactors', { factors: z.array(SecondFactorOutput), recovery_codes: z.int() }))
    .query(({ ctx }) => ctx.services.secondFactors.list(ctx.actor)),

  startTotp: route(accountProcedure, 'POST', '/mfa/totp/', {
    summary: 'Start the enrolment of an authenticator app',
    description:
      'Returns the secret, and the address for a QR code. Within an hour, `POST /api/v1/mfa/totp/confirm/` completes the enrolment; nothing changes before. Another start replaces this one.',
    problems: ['reauthentication-required'],
    example: { name: 'Phone' },
    isShownOnce: true,
  })
    .input(OptionalInput({ name: Name(100).default(DEFAULT_FACTOR_NAME) }))
    .output(EnrolmentOutput)
    .mutation(({ ctx, input }) => ctx.services.totpEnrolment.start(ctx.actor, input.name, ctx.host)),

  confirmTotp: route(accountProcedure, 'POST', '/mfa/totp/confirm/', {
    summary: 'Complete the enrolment of an authenticator app',
    description:
      'From now on, logins ask for a code. A browser session becomes one with a second factor: its cookie, and the cookie `csrftoken`, then get new values. The first app comes with ten recovery codes, which only this response contains; for another app the list is empty.',
    problems: ['invalid-otp', 'not-found', 'reauthentication-required'],
    example: { code: '492039' },
    isShownOnce: true,
  })
    .input(z.object({ code: OneTimeCode }))
    .output(RecoveryCodesOutput)
    .mutation(async ({ ctx: { actor, browser, services }, input }) => {
      if (browser.session !== null) browser.prepareLogin();
      const { recoveryCodes, session } = await services.totpEnrolment.confirm(actor, input.code);
      if (session !== null) browser.keepSession(session);
      return { recovery_codes: recoveryCodes };
    }),

  startPasskey: route(accountProcedure, 'POST', '/mfa/passkeys/options/', {
    summary: 'Start the enrolment of a passkey',
    description:
      'Returns what a browser needs to create it: pass them to `PublicKeyCredential.parseCreationOptionsFromJSON()`. Within five minutes, `POST /api/v1/mfa/passkeys/` completes the enrolment; nothing changes before. Another start replaces this one.',
    problems: ['reauthentication-required', 'passkeys-unavailable'],
  })
    .input(NoInput)
    .output(CreationOptionsOutput)
    .mutation(({ ctx }) => ctx.services.passkeyEnrolment.start(ctx.actor, ctx.host)),

  addPasskey: route(accountProcedure, 'POST', '/mfa/passkeys/', {
    summary: 'Complete the enrolment of a passkey',
    description:
      'Takes what `PublicKeyCredential.toJSON()` returns. From now on, the passkey logs in alone, and logins by password ask for a second factor. A browser session becomes one with a passkey, and its cookies get new values. Without a `name`, it is named after the browser. The first factor comes with ten recovery codes, which only this response contains; for another one the list is empty.',
    problems: ['invalid-passkey', 'not-found', 'reauthentication-required', 'passkeys-unavailable'],
    status: 201,
    example: { name: 'Laptop' },
    isShownOnce: true,
  })
    .input(z.object({ credential: NewCredential, name: Name(100).optional() }))
    .output(z.object({ factor: SecondFactorOutput, recovery_codes: z.array(z.string()) }))
    .mutation(async ({ ctx: { actor, browser, services }, input }) => {
      if (browser.session !== null) browser.prepareLogin();
      const passkey = { ...input, name: input.name, userAgent: browser.userAgent };
      const { factor, recoveryCodes, session } = await services.passkeyEnrolment.add(actor, passkey);
      if (session !== null) browser.keepSession(session);
      return { factor, recovery_codes: recoveryCodes };
    }),

  rename: route(accountProcedure, 'PATCH', '/mfa/{id}/', {
    summary: 'Rename one of your second factors',
  })
    .input(z.object({ id: LongIdKey, name: Name(100) }))
    .output(SecondFactorOutput)
    .mutation(({ ctx, input }) => ctx.services.secondFactors.rename(ctx.actor, input.id, input.name)),

  renewRecoveryCodes: route(accountProcedure, 'POST', '/mfa/recovery-codes/', {
    summary: 'Replace your recovery codes',
    description: 'Returns ten new ones, which only this response contains. The old ones end.',
    problems: ['not-found', 'reauthentication-required'],
    isShownOnce: true,
  })
    .input(NoInput)
    .output(RecoveryCodesOutput)
    .mutation(async ({ ctx }) => ({
      recovery_codes: await ctx.services.secondFactors.renewRecoveryCodes(ctx.actor),
    })),

  remove: route(accountProcedure, 'DELETE', '/mfa/{id}/', {
    summary: 'Remove one of your second factors',
    description: 'With the last one, your recovery codes end, and logins ask for the password alone.',
    problems: ['reauthentication-required'],
  })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.secondFactors.remove(ctx.actor, input.id)),
});
