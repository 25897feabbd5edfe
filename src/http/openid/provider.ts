import { createHmac, type KeyObject } from 'node:crypto';
import Provider, { type JWK, type KoaContextWithOIDC } from 'oidc-provider';
import type { Clock } from '../../lib/clock.ts';
import { deriveKey } from '../../lib/sealed-box.ts';
import { extraClaims, findAccount, isOtherPerson, mayIntrospect } from './accounts.ts';
import { CLAIMS, openAdapter, REQUIRES_PKCE, SCOPES } from './adapter.ts';
import { answerPrompt, definedParams, OPENID_PATHS, policyOf } from './policy.ts';
import { currentContext, visitOf } from './visit.ts';

type PrivateKey = { id: string; privateKey: KeyObject; algorithm: string };

type Deps = {
  baseUrl: string;
  secretKey: string;
  /** The name of the cookie of Steward's session, which is the session of the library too. */
  sessionCookie: string;
  clock: Clock;
  sessionMaxDays: number;
  /** Of each algorithm, the first one signs. */
  keys: PrivateKey[];
};

/** The OpenID provider, with a fixed set of keys: a rotation makes a new one. */
export const createProvider = (deps: Deps): Provider => {
  const { baseUrl, secretKey, keys, sessionMaxDays } = deps;
  const pairwiseKey = deriveKey(secretKey, 'steward pairwise subjects');
  const provider = new Provider(baseUrl, {
    adapter: openAdapter,
    jwks: { keys: keys.map(jwkOf) },
    routes: OPENID_PATHS,
    // Only Steward sends cookies.
    cookies: { names: { session: deps.sessionCookie } },
    claims: SCOPES,
    scopes: Object.keys(SCOPES),
    // In the ID token too: many apps do not ask for the rest.
    conformIdTokenClaims: false,
    subjectTypes: ['public', 'pairwise'],
    pairwiseIdentifier: (_context, accountId, { clientId }) =>
      createHmac('sha256', pairwiseKey).update(`${clientId}\0${accountId}`).digest('base64url'),
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    extraClientMetadata: { properties: [CLAIMS, REQUIRES_PKCE] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256'] },
    pkce: { required: (_context, client) => client[REQUIRES_PKCE] === true },
    allowOmittingSingleRegisteredRedirectUri: false,
    clientBasedCORS: (_context, origin, { redirectUris = [] }) =>
      origin !== 'null' && redirectUris.some((uri) => URL.parse(uri)?.origin === origin),
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      introspection: { enabled: true, allowedPolicy: mayIntrospect },
      revocation: { enabled: true },
      // Steward sends these itself: see `createLogoutWorker`.
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: showLogout },
    },
    // A login ends with its session because it is stored with it.
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    extraTokenClaims: (context) => extraClaims(context),
    issueRefreshToken: (_context, _client, { scopes }) => scopes.has('offline_access'),
    ttl: {
      AuthorizationCode: 60,
      AccessToken: (context) => secondsOfClaims(context),
      IdToken: (context) => secondsOfClaims(context),
      RefreshToken: sessionMaxDays * 24 * 3600,
      Grant: 60,
      Session: 60,
      Interaction: 60,
    },
    loadExistingGrant: (context) => grantOf(context),
    interactions: {
      policy: policyOf(deps.clock),
      url: (context, { prompt }) => answerPrompt(context, prompt),
    },
    findAccount: (context, sub, token) => findAccount(context, sub, token),
    renderError: (context, { error, error_description: description }) => {
      visitOf(context).page = {
        kind: 'error',
        message: description ?? error,
        status: context.status,
      };
    },
  });
  // Behind any proxy, the addresses of the provider are those of its issuer: see `serveOpenid`.
  provider.proxy = true;
  compareDigests(provider);
  provider.use(answerThroughVisit);
  provider.use(askForRefreshTokens);
  provider.on('server_error', (context, error) => {
    visitOf(context).fault = error;
  });
  return provider;
};

/**
 * Only digests of secrets are stored, two while a secret is rotated. The one place where the library is changed: its maintainer suggests
 * this method for it (panva/node-oidc-provider, discussion 1410).
 */
const compareDigests = (provider: Provider): void => {
  provider.Client.prototype.compareClientSecret = function compare(secret: string) {
    return visitOf(currentContext()).services.openidApps.isSecret(this.clientId, secret);
  };
};

/** Hands the response over, instead of sending it. */
const answerThroughVisit = async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
  const visit = visitOf(context);
  try {
    await next();
    const isRefused = context.status >= 400;
    if (context.oidc?.route === 'end_session' && visit.page === null && !isRefused)
      visit.page = { kind: 'logged-out', next: logoutTarget(context) };
    visit.answer = { status: context.status, body: context.body };
  } catch (error) {
    visit.fault = error;
  }
  context.respond = false;
};

/**
 * The library ignores the scope `offline_access` without `prompt=consent` (OpenID Connect Core §11), which few apps send. A person agrees to
 * refresh tokens by logging in, because these end with the session.
 */
const askForRefreshTokens = (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
  const { scope, prompt = '', response_mode: mode } = context.query;
  // The library adds the hash of the script that sends the form.
  if (mode === 'form_post') context.set('content-security-policy', FORM_POLICY);
  const isAsked = typeof scope === 'string' && scope.split(' ').includes('offline_access');
  if (context.path === OPENID_PATHS.authorization && isAsked && typeof prompt === 'string')
    if (!/\b(none|consent)\b/.test(prompt))
      context.query = { ...context.query, prompt: `${prompt} consent`.trim() };
  return next();
};

const FORM_POLICY = "default-src 'none'; script-src 'report-sample'; base-uri 'none'; frame-ancestors 'none'";

const secondsOfClaims = (context: KoaContextWithOIDC): number =>
  Math.max(1, visitOf(context).claims?.expiresIn ?? 1);

/** The rights of a login, which begins only after the last check. */
const grantOf = ({ oidc }: KoaContextWithOIDC) => {
  const { account, client } = oidc;
  if (!account || !client) return undefined;
  const grant = new oidc.provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  grant.jti = 'of a login that has not begun';
  grant.addOIDCScope(Object.keys(SCOPES).join(' '));
  return grant;
};

/** The page of the app after a logout; null without one. It has been checked. */
const logoutTarget = ({ oidc }: KoaContextWithOIDC): string | null => {
  const { post_logout_redirect_uri: uri, state } = definedParams(oidc.params);
  if (uri === undefined) return null;
  const url = new URL(uri);
  if (state !== undefined) url.searchParams.set('state', state);
  return url.href;
};

/** An ID token of the person proves that the app asks, so that no other page can log people out. Otherwise the person confirms. */
const showLogout = async (context: KoaContextWithOIDC): Promise<void> => {
  const { oidc } = context;
  const { id_token_hint: _, ...params } = definedParams(oidc.params);
  const query = new URLSearchParams({ ...params, ...(oidc.client && { client_id: oidc.client.clientId }) });
  const next = `${OPENID_PATHS.end_session}?${query}`;
  const isProven = oidc.entities.IdTokenHint !== undefined && !(await isOtherPerson(context));
  visitOf(context).page = isProven
    ? { kind: 'log-out-now', next }
    : { kind: 'logout', next, appName: oidc.client?.clientName ?? null };
};

/** A signing key as the library takes it. */
const jwkOf = ({ id, privateKey, algorithm }: PrivateKey): JWK => ({
  ...(privateKey.export({ format: 'jwk' }) as JWK), // has the fields of its type
  kid: id,
  alg: algorithm,
  use: 'sig',
});
