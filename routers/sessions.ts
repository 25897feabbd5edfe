import { z } from 'zod';
import { proofOf } from '../src/services/access/actor.ts';
import { roleFieldsOf } from '../src/services/access/permissions.ts';
import { logoutUrl, startUrl } from '../src/services/sso/connections.ts';
import { routesOf } from './procedure-meta.ts';
import { Login, NoInput, OptionalInput } from './schemas/fields.ts';
import { ByEmail, EmailKey, LongIdKey } from './schemas/keys.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { UserOutput, userOutput } from './schemas/users.ts';
import { factorFields, factorIn, loginProcedures } from './sessions-logins.ts';
import { credentialProcedure, memberProcedure, router, visitorProcedure } from './trpc.ts';

const route = routesOf('Sessions', { hasSecrets: true });

const SessionOutput = Output('Session', {
  id: z.int(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  user_agent: z.string(),
  is_current: z.boolean(),
});

/** `admin_of`: ids of clients. `client_roles`: by the id of a client, the names of delegated roles. */
const RolesOutput = z.object({
  is_superuser: z.boolean(),
  is_staff: z.boolean(),
  admin_of: z.array(z.int()).readonly(),
  client_roles: z.record(z.string(), z.array(z.string()).readonly()),
});

/**
 * `required_from`: null if the user has what is required; in the past if the next login requires it. `needs_passkey`: whether a passkey is
 * required.
 */
const FactorStatusOutput = z.object({
  is_set_up: z.boolean(),
  required_from: Instant.nullable(),
  needs_passkey: z.boolean(),
  is_recommended: z.boolean(),
});

/**
 * A session that began at an identity provider: where to log in again to confirm it, and where to log out at the provider after a logout
 * here.
 */
const SsoOutput = z.object({
  id: z.int().meta({ examples: [3] }),
  name: z.string().meta({ examples: ['Acme ID'] }),
  confirm_url: z.string().meta({ examples: ['http://localhost:8000/sso/3/start/?confirm=1'] }),
  logout_url: z.string().meta({ examples: ['http://localhost:8000/sso/3/logout/'] }),
});

export const sessionsRouter = router({
  ...loginProcedures,

  /**
   * `app_url` is the URL template of an app, with `{slug}` or `{id}`. `sends_mail` is false without a mail server. `methods` are the
   * login's, by RFC 8176; empty for a token. `confined_to` is the client whose identity provider the session began with, or null for an
   * unconfined session. Null for visitors.
   */
  current: route(visitorProcedure, 'GET', '/session/', {
    summary: 'Get the current user',
    description:
      'With the policies for second factors that concern the user: from when on a login needs one that the user does not have. tRPC: null for visitors.',
  })
    .input(NoInput)
    .output(
      z
        .object({
          user: UserOutput,
          roles: RolesOutput,
          app_url: z.string(),
          sends_mail: z.boolean(),
          methods: z.array(z.string()),
          second_factor: FactorStatusOutput,
          sso: SsoOutput.nullable(),
          confined_to: z.int().nullable(),
        })
        .nullable(),
    )
    .query(async ({ ctx }) => {
      const { actor, services, baseUrl, appUrl } = ctx;
      if (!actor) return null;
      const [user, second_factor, connection] = await Promise.all([
        services.users.get(actor, actor.email),
        services.secondFactors.status(actor),
        services.ssoLogins.findOwn(actor),
      ]);
      return {
        user: userOutput(ctx)(user),
        roles: roleFieldsOf(actor),
        app_url: appUrl,
        sends_mail: services.mails.isSending(),
        methods: [...(proofOf(actor)?.methods ?? [])],
        second_factor,
        sso: connection && {
          id: connection.id,
          name: connection.name,
          confirm_url: `${startUrl(baseUrl, connection.id)}?confirm=1`,
          logout_url: logoutUrl(baseUrl, connection.id),
        },
        confined_to: actor.scope.only,
      };
    }),

  end: route(memberProcedure, 'DELETE', '/session/', {
    summary: 'Log out',
    description: 'Ends the session or token of this request.',
    mayRevokeOwnCredential: true,
  })
    .input(NoInput)
    .output(z.void())
    .mutation(async ({ ctx }) => {
      ctx.browser.forgetSession();
      const { credential } = ctx.actor;
      if (credential?.kind === 'session') await ctx.services.sessions.revoke(ctx.actor, credential.id);
      if (credential?.kind === 'token') await ctx.services.apiTokens.revoke(ctx.actor, credential.id);
    }),

  confirm: route(memberProcedure, 'POST', '/session/confirm/', {
    summary: 'Confirm your password or second factor',
    description:
      'Allows this browser session to create tokens and grant roles for 15 minutes. Users with a second factor send a `code` of it, a recovery code, or the answer of a `passkey` to options for a `confirmation`; others send their `password`. A second factor also makes it a session with one: its cookie then gets a new value, and so does the cookie `csrftoken`. API tokens need it only to change second factors.',
    problems: [
      ...(['otp-required', 'invalid-otp', 'invalid-passkey', 'passkeys-unavailable'] as const),
      ...(['throttled', 'confined-session'] as const),
    ],
    example: { password: 'steward-demo-1' },
    handlesIdempotency: true,
  })
    .input(OptionalInput({ password: Login.password.optional(), ...factorFields }))
    .output(z.void())
    .mutation(async ({ ctx, input: { password, ...factor } }) => {
      const { actor, browser, services } = ctx;
      const proof = { password, factor: factorIn(factor, 'confirmation', ctx) };
      // A second factor makes the session stronger, which sets a new cookie.
      if (browser.session !== null && proof.factor) browser.prepareLogin();
      const renewed = await services.sessions.confirm(actor, proof, ctx.idempotencyKey());
      if (renewed !== null) browser.keepSession(renewed);
    }),

  list: route(memberProcedure, 'GET', '/jb/sessions/', { summary: 'List your sessions' })
    .input(OptionalInput(pagingFields(LongIdKey)))
    .output(z.array(SessionOutput))
    .query(({ ctx, input }) => ctx.services.sessions.list(ctx.actor, toPageRequest(ctx, input))),

  revoke: route(memberProcedure, 'DELETE', '/jb/sessions/{id}/', {
    summary: 'Revoke one of your sessions',
    mayRevokeOwnCredential: true,
  })
    .input(z.object({ id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.sessions.revoke(ctx.actor, input.id)),

  listByUser: route(credentialProcedure, 'GET', '/jb/users/{email}/sessions/', {
    summary: 'List the sessions of a user',
    description:
      'The browsers in which the user is logged in, last used first. For those who may change this user.',
    problems: ['shared-user'],
  })
    .input(z.object({ email: EmailKey, ...pagingFields(LongIdKey) }))
    .output(z.array(SessionOutput))
    .query(({ ctx, input }) => ctx.services.sessions.list(ctx.actor, toPageRequest(ctx, input), input.email)),

  revokeForUser: route(credentialProcedure, 'DELETE', '/jb/users/{email}/sessions/{id}/', {
    summary: 'Revoke a session of a user',
    description: 'For those who may change this user.',
    problems: ['shared-user'],
    mayRevokeOwnCredential: true,
  })
    .input(z.object({ email: EmailKey, id: LongIdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.sessions.revoke(ctx.actor, input.id, input.email)),

  revokeAll: route(credentialProcedure, 'DELETE', '/jb/users/{email}/sessions/', {
    summary: 'Revoke all sessions of a user',
    description: 'Revokes all sessions and tokens. The user may log in again.',
    problems: ['shared-user'],
  })
    .input(ByEmail)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.sessions.revokeAll(ctx.actor, input.email)),
});
