import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { FetchError, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { isStorableText } from '../../lib/json-value.ts';
import { ProviderError, type ProviderFailure } from '../../lib/provider-error.ts';
import type { Assertion, IdentityProvider, LogoutNotice, Registration } from './identity-provider.ts';

type Deps = { fetch: GuardedFetch; allowsHttp: boolean };

/** The clock of a provider may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;
/** Metadata changes rarely. Unknown keys are looked up at once. */
const CACHE_MS = 10 * 60_000;
/** Many more connections than an installation has. */
const MAX_CACHED = 500;
/** A logout token reports a logout that just happened (§2.4 recommends two minutes). */
const LOGOUT_MAX_AGE_SECONDS = 10 * 60;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

type Discovered = {
  config: oidc.Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
  expiresAt: number;
};

/** OpenID Connect by the authorization code flow with PKCE, state, nonce and, where the provider sends it, `iss` (RFC 9207). */
export const createOpenIdConnect = ({ fetch, allowsHttp }: Deps): IdentityProvider => {
  const cache = new Map<string, Promise<Discovered>>();

  const discover = async ({ issuer, clientId, clientSecret }: Registration): Promise<Discovered> => {
    const config = await oidc.discovery(
      new URL(issuer),
      clientId,
      { [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      clientSecret === null ? oidc.None() : basicOrPost(clientSecret),
      {
        [oidc.customFetch]: fetch,
        // Verifies signatures, although the token comes from the provider itself.
        execute: [oidc.enableNonRepudiationChecks, ...(allowsHttp ? [oidc.allowInsecureRequests] : [])],
      },
    );
    const { issuer: stated, jwks_uri: jwks } = config.serverMetadata();
    // Some providers use one address for all customers, each of whom may state any email address.
    if (new URL(stated).href !== new URL(issuer).href)
      throw new ProviderError(
        'misconfigured',
        `The provider calls itself ${shorten(stated)}. Use that as the issuer.`,
      );
    if (jwks === undefined) throw new ProviderError('misconfigured', 'The provider publishes no keys.');
    const keys = createRemoteJWKSet(new URL(jwks), {
      [joseFetch]: (url, { headers, signal }) => fetch(url, { headers, signal }),
    });
    return { config, keys, expiresAt: performance.now() + CACHE_MS };
  };

  /** A failed discovery is not kept. */
  const discovered = async (registration: Registration, isFresh = false): Promise<Discovered> => {
    const key = JSON.stringify(registration);
    const kept = isFresh ? undefined : await cache.get(key);
    if (kept && kept.expiresAt > performance.now()) return kept;
    const discovery = discover(registration);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(key, discovery);
    discovery.catch(() => cache.delete(key));
    return discovery;
  };

  return {
    check: (registration) =>
      failing(async () => {
        const { keys } = await discovered(registration, true);
        await keys.reload();
      }),

    startLogin: (registration, request) =>
      failing(async () => {
        const { config } = await discovered(registration);
        const url = oidc.buildAuthorizationUrl(config, {
          redirect_uri: request.redirectUri,
          scope: request.scopes,
          state: request.state,
          nonce: request.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(request.codeVerifier),
          code_challenge_method: 'S256',
          ...(request.loginHint !== null && { login_hint: request.loginHint }),
          ...(request.forcesLogin && { prompt: 'login', max_age: '0' }),
        });
        return url.href;
      }),

    completeLogin: (registration, { url, state, nonce, codeVerifier, forcesLogin, needed }) =>
      failing(async () => {
        const { config } = await discovered(registration);
        const tokens = await oidc.authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
          ...(forcesLogin && { maxAge: 0 }),
        });
        const idToken = tokens.claims();
        if (!idToken) throw new ProviderError('invalid', 'The answer has no ID token.');
        const lacks = needed.some((claim) => idToken[claim] === undefined);
        const hasMore = lacks && config.serverMetadata().userinfo_endpoint !== undefined;
        const info = hasMore ? await oidc.fetchUserInfo(config, tokens.access_token, idToken.sub) : {};
        return assertionOf({ ...info, ...idToken });
      }),

    verifyLogout: (registration, token) =>
      failing(async () => {
        const { config, keys } = await discovered(registration);
        const { payload } = await jwtVerify(token, keys, {
          issuer: config.serverMetadata().issuer,
          audience: registration.clientId,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          maxTokenAge: LOGOUT_MAX_AGE_SECONDS,
        });
        return logoutOf(payload);
      }),

    logoutUrl: (registration, returnTo) =>
      failing(async () => {
        const { config } = await discovered(registration);
        if (config.serverMetadata().end_session_endpoint === undefined) return null;
        // Without `id_token_hint`, because no ID token is stored: the provider may ask the person.
        return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: returnTo }).href;
      }),
  };
};

/**
 * Providers accept Basic, POST or both; the standard's default is Basic, with encoded credentials (RFC 6749 §2.3.1). Some providers do not
 * decode them, so only characters that must be encoded are: `oidc.ClientSecretBasic` encodes dashes and dots, too.
 */
const basicOrPost =
  (secret: string): oidc.ClientAuth =>
  (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const takesPostOnly = methods !== undefined && !methods.includes('client_secret_basic');
    if (takesPostOnly) return oidc.ClientSecretPost(secret)(server, client, body, headers);
    const credentials = `${encodeURIComponent(client.client_id)}:${encodeURIComponent(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };

/** The limit in the standard (Core §2), and of the columns. */
const MAX_ID_LENGTH = 255;

const assertionOf = (claims: Record<string, unknown> & oidc.IDToken): Assertion => {
  const subject = idIn(claims.sub);
  if (subject === null) throw new ProviderError('invalid', 'The claim sub is empty or too long.');
  return {
    subject,
    sid: idIn(claims.sid),
    amr: stringsIn(claims.amr),
    authTime: claims.auth_time === undefined ? null : new Date(claims.auth_time * 1000),
    claims,
  };
};

/** Null if the value is no id, or cannot be stored. */
const idIn = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH && isStorableText(value)
    ? value
    : null;

/** Lists may also be sent as one string. */
const stringsIn = (value: unknown): string[] =>
  [value].flat().filter((each): each is string => typeof each === 'string');

/** @throws ProviderError if the token is no logout token, or lacks a required claim */
const logoutOf = (payload: Record<string, unknown>): LogoutNotice => {
  const { sub, sid, jti, events, nonce, iat } = payload;
  const isLogout = typeof events === 'object' && events !== null && LOGOUT_EVENT in events;
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || typeof iat !== 'number')
    throw new ProviderError('invalid', 'This is no logout token.');
  const subject = idIn(sub);
  const session = idIn(sid);
  if (subject === null && session === null)
    throw new ProviderError('invalid', 'The logout token names no person and no session.');
  // Afterwards, the token fails as too old.
  const expiresAt = new Date((iat + LOGOUT_MAX_AGE_SECONDS + CLOCK_TOLERANCE_SECONDS) * 1000);
  return { subject, sid: session, jti, expiresAt };
};

/** Converts errors of the library, which quote answers of the provider, into errors without secrets. */
const failing = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    const { failure, reason } = failureOf(error);
    throw new ProviderError(failure, reason, error);
  }
};

/** Errors of the token endpoint (RFC 6749 §5.2) that say that the registration is wrong, and what admins should check. */
const REGISTRATION_ERRORS = new Map([
  ['invalid_client', 'Check the client ID and the client secret.'],
  ['unauthorized_client', 'Allow the authorization code flow for this client there.'],
  ['invalid_scope', 'Check the scopes.'],
  ['unsupported_grant_type', 'Allow the authorization code flow for this client there.'],
]);
/** Errors of the authorization endpoint (RFC 6749 §4.1.2.1). */
const PROVIDER_FAULTS = ['server_error', 'temporarily_unavailable'];

const failureOf = (error: unknown): { failure: ProviderFailure; reason: string } => {
  const [top, ...causes] = causesOf(error);
  const answered = (failure: ProviderFailure, code: string) => ({
    failure,
    reason:
      `The provider answered ${CODE.test(code) ? code : 'with an error'}. ${REGISTRATION_ERRORS.get(code) ?? ''}`.trim(),
  });
  if (top instanceof oidc.AuthorizationResponseError) {
    if (PROVIDER_FAULTS.includes(top.error)) return answered('unavailable', top.error);
    return answered(REGISTRATION_ERRORS.has(top.error) ? 'misconfigured' : 'denied', top.error);
  }
  if (top instanceof oidc.ResponseBodyError) {
    if (REGISTRATION_ERRORS.has(top.error)) return answered('misconfigured', top.error);
    return answered(top.status >= 500 ? 'unavailable' : 'invalid', top.error);
  }
  // The answer to a wrong client secret (RFC 6749 §5.2). Another scheme concerns an access token.
  if (top instanceof oidc.WWWAuthenticateChallengeError)
    return top.cause.some(({ scheme }) => scheme === 'basic')
      ? answered('misconfigured', 'invalid_client')
      : answered('invalid', `with status ${top.status}`);
  const response = causes.find((cause) => cause instanceof Response);
  if (response) {
    const failure = response.status >= 500 ? 'unavailable' : 'misconfigured';
    return { failure, reason: `The provider answered with status ${response.status}.` };
  }
  const unreached = [top, ...causes].find((cause) => cause instanceof FetchError);
  if (unreached) return { failure: 'unavailable', reason: shorten(unreached.message) };
  return { failure: 'invalid', reason: shorten(top instanceof Error ? top.message : 'unknown') };
};

/** Error codes as in the standards. Anyone can send a browser back with another text. */
const CODE = /^[a-z_]{1,40}$/;

/** The error, its cause, the cause's cause, and so on. */
const causesOf = (error: unknown): unknown[] =>
  error instanceof Error ? [error, ...causesOf(error.cause)] : [error];

const MAX_REASON_LENGTH = 200;

const shorten = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, MAX_REASON_LENGTH);
