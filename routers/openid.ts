import { z } from 'zod';
import { OPENID_CLAIMS, SIGNING_ALGORITHMS } from '../src/services/openid/openid-apps.ts';
import { routesOf } from './procedure-meta.ts';
import { Text } from './schemas/fields.ts';
import { AppKey, distinct, IdCursor } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { allowedTo, router, viewerProcedure } from './trpc.ts';

const route = routesOf('OpenID Connect');

const managingProcedure = allowedTo('client', 'manage-apps');

const MAX_URIS = 20;

const OpenidAppOutput = Output('OpenidApp', {
  client_id: z.string().meta({ examples: ['zylTKNVx'] }),
  /** The provider, whose metadata is at `/.well-known/openid-configuration` below it. */
  issuer: z.string(),
  redirect_uris: z.array(z.string()),
  post_logout_redirect_uris: z.array(z.string()),
  /** Empty: no logouts are sent. */
  backchannel_logout_uri: z.string(),
  is_public: z.boolean(),
  requires_pkce: z.boolean(),
  claims: z.array(z.string()),
  is_pairwise: z.boolean(),
  signing_algorithm: z.string(),
  has_secret: z.boolean(),
  /** Until then, the previous secret works too. */
  previous_until: Instant.nullable(),
  created_at: Instant,
});

const SecretOutput = Output('OpenidSecret', {
  /** No other response contains it. */
  secret: z.string(),
  previous_until: Instant.nullable(),
});

const LogoutOutput = Output('OpenidLogout', {
  id: z.int(),
  /** What the app knows the person by. */
  subject: z.string(),
  /** Null for people who do not belong to the client of the app. */
  email: z.string().nullable(),
  started_at: Instant,
  ended_at: Instant,
  attempts: z.int(),
  next_attempt_at: Instant.nullable(),
  delivered_at: Instant.nullable(),
  /** When the service gave up. */
  failed_at: Instant.nullable(),
  /** The HTTP status of the last attempt. */
  response_status: z.nullable(z.int()),
  /** Why there was no response. */
  error: z.string().nullable(),
});

const NOT_ABSOLUTE = 'Must be an absolute address without a fragment, a user name and a password.';
/** A browser would run or show it itself. */
const NOT_A_SITE = /^(javascript|data|blob|file|about|vbscript|view-source|mailto|tel|sms):$/;

const isAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return (
    url !== null &&
    `${url.hash}${url.username}${url.password}` === '' &&
    !text.includes('#') &&
    !NOT_A_SITE.test(url.protocol)
  );
};

/** Compared as text, so it is kept as sent. */
const Address = Text(2048).refine(isAddress, NOT_ABSOLUTE);

const WebAddress = Text(2048).refine(
  (text) => text === '' || (isAddress(text) && /^https?:$/.test(new URL(text).protocol)),
  'Must be an address that begins with https:// or http://.',
);

const Settings = z.object({
  redirect_uris: distinct(Address, MAX_URIS)
    .refine((uris) => uris.length > 0, 'Needs at least one address.')
    .meta({ examples: [['https://sales.acme.test/oauth/callback']] }),
  post_logout_redirect_uris: distinct(Address, MAX_URIS).default([]),
  backchannel_logout_uri: WebAddress.default(''),
  /** Whether it runs in a browser or on the person's device, where it cannot keep a secret. */
  is_public: z.boolean().default(false),
  /** Whether its requests must have a code challenge (PKCE, S256). Without effect for a public app, whose requests must. */
  requires_pkce: z.boolean().default(true),
  /** Claims that it may get. Which of them it gets depends on the scopes that it asks for. */
  claims: distinct(z.enum(OPENID_CLAIMS), OPENID_CLAIMS.length).default([...OPENID_CLAIMS]),
  /** Whether `sub` of a person differs from app to app. */
  is_pairwise: z.boolean().default(false),
  /** Signs its ID tokens. */
  signing_algorithm: z.enum(SIGNING_ALGORITHMS).default('RS256'),
});

const ByApp = z.object({ app_id: AppKey });

export const openidRouter = router({
  get: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/oidc/', {
    summary: "Get an app's OpenID settings",
    description: 'How the app logs people in with Steward as its OpenID provider. 404 if it does not.',
  })
    .input(ByApp)
    .output(OpenidAppOutput)
    .query(({ ctx, input }) => ctx.services.openidApps.get(ctx.actor, input.app_id)),

  update: route(managingProcedure, 'PUT', '/jb/apps/{app_id}/oidc/', {
    summary: "Set an app's OpenID settings",
    description:
      'Redirect addresses are compared letter by letter; of native apps, the port of a loopback address may differ. What is not sent gets its default. A public app loses its secrets.',
    problems: ['reauthentication-required'],
    example: { redirect_uris: ['https://sales.acme.test/oauth/callback'] },
  })
    .input(ByApp.extend(Settings.shape))
    .output(OpenidAppOutput)
    .mutation(({ ctx, input: { app_id, ...settings } }) =>
      ctx.services.openidApps.set(ctx.actor, app_id, settings),
    ),

  remove: route(managingProcedure, 'DELETE', '/jb/apps/{app_id}/oidc/', {
    summary: "Remove an app's OpenID settings",
    description: 'Ends all logins to it, and notifies it of each.',
    problems: ['reauthentication-required'],
  })
    .input(ByApp)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.openidApps.remove(ctx.actor, input.app_id)),

  addSecret: route(managingProcedure, 'POST', '/jb/apps/{app_id}/oidc/secret/', {
    summary: 'Make a new secret for an app',
    description: 'The previous one works for another 24 hours.',
    problems: ['reauthentication-required'],
    hasSecrets: true,
  })
    .input(ByApp)
    .output(SecretOutput)
    .mutation(({ ctx, input }) => ctx.services.openidApps.addSecret(ctx.actor, input.app_id)),

  logouts: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/oidc/logouts/', {
    summary: 'List the logouts that are sent to an app',
    description:
      'By login, newest first, for seven days after its end. `cursor` is the id of the last one of the previous page.',
  })
    .input(ByApp.extend(limitedPagingFields(IdCursor)))
    .output(z.array(LogoutOutput))
    .query(({ ctx, input }) =>
      ctx.services.openidApps.logouts(ctx.actor, input.app_id, toPageRequest(ctx, input)),
    ),
});
