import { z } from 'zod';
import { invalid, Problem } from '../src/lib/problems.ts';
import { MINUTES } from '../src/services/auth/login-challenges.ts';
import type { OpenedLogin } from '../src/services/auth/login-opening.ts';
import { PASSKEY_MINUTES, type PasskeyAnswer, type PasskeyPurpose } from '../src/services/auth/passkeys.ts';
import type { Services } from '../src/services/index.ts';
import { startUrl } from '../src/services/sso/connections.ts';
import type { Browser, Context } from './context.ts';
import { routesOf } from './procedure-meta.ts';
import { Login, NoInput, OneTimeCode, OptionalInput } from './schemas/fields.ts';
import { Output } from './schemas/outputs.ts';
import {
  Assertion,
  CreationOptionsOutput,
  NewCredential,
  Purpose,
  RequestOptionsOutput,
} from './schemas/passkeys.ts';
import { UserOutput, userOutput } from './schemas/users.ts';
import { publicProcedure } from './trpc.ts';

const route = routesOf('Sessions', { hasSecrets: true });

const LoginOutput = z.object({
  user: UserOutput,
  csrf_token: z.string().meta({ examples: ['pTq0cVd2Y8Qn7mFzJ1s5wR'] }),
});

const FACTOR_PROBLEMS = [
  ...(['invalid-otp', 'invalid-passkey', 'invalid-challenge'] as const),
  ...(['passkeys-unavailable', 'second-factor-required'] as const),
] as const;

const NEEDS_CODE = {
  detail:
    'This account has a second factor. Send a code of the authenticator app, a recovery code or the answer of a passkey with POST /api/v1/session/otp/.',
};

/** The answer to a login or a confirmation: one of these fields. */
export const factorFields = { code: OneTimeCode.optional(), passkey: Assertion.optional() };

type FactorInput = { code?: string | undefined; passkey?: PasskeyAnswer['assertion'] | undefined };

/** The second factor in an input, or undefined without one. */
export const factorIn = ({ code, passkey }: FactorInput, purpose: PasskeyPurpose, { browser }: Context) => {
  if (passkey) return { passkey: answerOf(passkey, purpose, browser) };
  return code === undefined ? undefined : { code };
};

/** The answer of a passkey in this browser. The browser has to request options again for the next answer. */
const answerOf = (assertion: PasskeyAnswer['assertion'], purpose: PasskeyPurpose, browser: Browser) => {
  browser.passkey.forget();
  return { assertion, purpose, token: browser.passkey.value };
};

/** The options for a signature: by any passkey, or by a passkey of the user whom the purpose concerns. */
const requestPasskey = async (ctx: Context & { services: Services }, purpose: PasskeyPurpose) => {
  const { browser, services } = ctx;
  if (purpose === 'login') return services.passkeys.requestLogin(browser.passkey.value);
  const userId = await (purpose === 'challenge' ? challengedUser(ctx) : currentUser(ctx));
  return services.passkeys.requestOf(userId, purpose, browser.passkey.value);
};

const challengedUser = async (ctx: Context & { services: Services }) =>
  (await ctx.services.logins.readChallenge(challengeOf(ctx))).user_id;

const currentUser = async (ctx: Context) => {
  const actor = await ctx.findActor();
  if (!actor) throw ctx.unauthenticated();
  return actor.id;
};

/** Sets the cookies of a new session, which replaces the session of the request. */
const openSession = async (ctx: Context & { services: Services }, secret: string) => {
  const { browser, services } = ctx;
  const actor = await services.authentication.findBySession(secret);
  // The session may have been revoked in between.
  if (!actor) throw new Problem('unauthenticated');
  if (browser.session !== null) await services.sessions.replace(browser.session, secret);
  const user = await services.users.get(actor, actor.email).then(userOutput(ctx));
  return { user, csrf_token: browser.keepSession(secret) };
};

const NEEDS_FACTOR = {
  detail:
    'This account needs a second factor. Get what sets up an authenticator app or a passkey with GET /api/v1/session/enrol/, and send its first code or the passkey with POST /api/v1/session/enrol/.',
  status: 400,
} as const;

/**
 * Sets the cookies of a new session, or of a challenge.
 * @throws Problem `otp-required`, `second-factor-required`
 */
const finishLogin = (ctx: Context & { services: Services }, login: OpenedLogin) => {
  if ('session' in login) return openSession(ctx, login.session);
  ctx.browser.challenge.keep(login.challenge, MINUTES[login.step]);
  throw login.step === 'code'
    ? new Problem('otp-required', NEEDS_CODE)
    : new Problem('second-factor-required', NEEDS_FACTOR);
};

/** The token of the challenge in this browser. */
const challengeOf = ({ browser }: Context): string => {
  if (browser.challenge.value === null) throw new Problem('invalid-challenge');
  return browser.challenge.value;
};

/** The part of the router of sessions that creates sessions. */
export const loginProcedures = {
  /** A POST, because addresses must not appear in URLs. */
  methods: route(publicProcedure, 'POST', '/session/methods/', {
    summary: 'Find out how an address logs in',
    description:
      '`sso` is the page that logs in with the identity provider to which the domain of the address leads, or null: then ask for the password. `?next=` may be added, a path to continue to. Whether the address has an account makes no difference.',
    example: { email: 'ada@acme.test' },
  })
    .input(z.object({ email: Login.username }))
    .output(z.object({ sso: z.string().nullable() }))
    .mutation(async ({ ctx: { services, baseUrl }, input }) => {
      const connection = await services.domains.findConnection(input.email);
      return { sso: connection && startUrl(baseUrl, connection.id) };
    }),

  create: route(publicProcedure, 'POST', '/session/', {
    summary: 'Start a browser session',
    description:
      'Sets the session cookie. Send the CSRF token of the response as the header `X-CSRFToken` with every change. Users with a second factor get the problem `otp-required` and a cookie, and continue with `POST /api/v1/session/otp/`. Those who have to set one up, or send `enrol` to do so, get `second-factor-required` and a cookie, and continue with `GET /api/v1/session/enrol/`.',
    problems: [
      ...(['invalid-credentials', 'password_expired', 'sso-required', 'otp-required'] as const),
      ...(['second-factor-required', 'throttled', 'unauthenticated'] as const),
    ],
  })
    .input(
      z.object({
        username: Login.username,
        password: Login.password,
        enrol: z.boolean().default(false),
      }),
    )
    .output(LoginOutput)
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const { logins } = ctx.services;
      const { username, password, enrol } = input;
      return finishLogin(ctx, await logins.createSession(username, password, ctx.browser.userAgent, enrol));
    }),

  answerChallenge: route(publicProcedure, 'POST', '/session/otp/', {
    summary: 'Complete a login with a second factor',
    description:
      'For a login that got `otp-required`, within five minutes and with its cookie: a `code`, or the answer of a `passkey` to options for `challenge`. Sets the session cookie, as `POST /api/v1/session/` does.',
    problems: [...FACTOR_PROBLEMS, 'throttled', 'unauthenticated'],
    example: { code: '492039' },
  })
    .input(OptionalInput(factorFields))
    .output(LoginOutput)
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const factor = factorIn(input, 'challenge', ctx);
      if (!factor) throw invalid({ code: ['This field is required.'] });
      const { logins } = ctx.services;
      const login = await logins.answerChallenge(challengeOf(ctx), factor, ctx.browser.userAgent);
      return finishLogin(ctx, login);
    }),

  startPasskey: route(publicProcedure, 'POST', '/session/passkey/options/', {
    summary: 'Request a passkey',
    description:
      'Returns what a browser needs to sign with a passkey, and sets a cookie: pass them to `PublicKeyCredential.parseRequestOptionsFromJSON()`, and send the signature within five minutes. The purpose is a `login` by the passkey alone, a `challenge` (a login that got `otp-required`), or a `confirmation` of the user who is logged in.',
    problems: ['passkeys-unavailable', 'invalid-challenge', 'not-found', 'unauthenticated'],
    example: { purpose: 'login' },
  })
    .input(OptionalInput({ purpose: Purpose.default('login') }))
    .output(RequestOptionsOutput)
    .mutation(async ({ ctx, input: { purpose } }) => {
      ctx.browser.prepareLogin();
      const { token, options } = await requestPasskey(ctx, purpose);
      ctx.browser.passkey.keep(token, PASSKEY_MINUTES);
      return options;
    }),

  createByPasskey: route(publicProcedure, 'POST', '/session/passkey/', {
    summary: 'Start a browser session with a passkey',
    description:
      'Takes what `PublicKeyCredential.toJSON()` returns for the options of a `login`. Needs neither the password nor another factor. Every refusal has the same answer, also for unknown passkeys and inactive users. Sets the session cookie, as `POST /api/v1/session/` does.',
    problems: ['invalid-passkey', 'passkeys-unavailable', 'sso-required', 'throttled', 'unauthenticated'],
  })
    .input(z.object({ passkey: Assertion }))
    .output(LoginOutput)
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const answer = answerOf(input.passkey, 'login', ctx.browser);
      const { logins } = ctx.services;
      return finishLogin(ctx, await logins.createSessionByPasskey(answer, ctx.browser.userAgent));
    }),

  enrolment: route(publicProcedure, 'GET', '/session/enrol/', {
    summary: 'Get what sets up a second factor during a login',
    description:
      'For a login that got `second-factor-required`, within half an hour and with its cookie: the secret of an authenticator app, and the address for a QR code; or, if a policy requires a passkey, what a browser needs to create it, for `PublicKeyCredential.parseCreationOptionsFromJSON()`.',
    problems: ['invalid-challenge', 'passkeys-unavailable'],
  })
    .input(NoInput)
    .output(
      Output('LoginEnrolment', {
        secret: z.string().nullable(),
        otpauth_url: z.string().nullable(),
        passkey: CreationOptionsOutput.nullable(),
      }),
    )
    .query(({ ctx }) => ctx.services.logins.readEnrolment(challengeOf(ctx), ctx.host)),

  enrol: route(publicProcedure, 'POST', '/session/enrol/', {
    summary: 'Set up a second factor and complete the login',
    description:
      'Takes the first `code` of the app, or the `passkey`, as `PublicKeyCredential.toJSON()` returns it. Sets the session cookie, as `POST /api/v1/session/` does. Only this response contains the ten recovery codes; they come with the first factor.',
    problems: [...FACTOR_PROBLEMS, 'unauthenticated'],
    example: { code: '492039' },
  })
    .input(OptionalInput({ code: OneTimeCode.optional(), passkey: NewCredential.optional() }))
    .output(LoginOutput.extend({ recovery_codes: z.array(z.string()) }))
    .mutation(async ({ ctx, input }) => {
      ctx.browser.prepareLogin();
      const { code, passkey } = input;
      if (!passkey && code === undefined) throw invalid({ code: ['This field is required.'] });
      const added = passkey ? { credential: passkey } : { code: code ?? '' };
      const { login, codes } = await ctx.services.logins.enrol(
        challengeOf(ctx),
        added,
        ctx.browser.userAgent,
      );
      return { ...(await finishLogin(ctx, login)), recovery_codes: codes };
    }),
};
