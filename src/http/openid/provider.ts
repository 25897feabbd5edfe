import { createHmac, type KeyObject } from 'node:crypto';
import Provider, {
  type Account,
  errors,
  interactionPolicy,
  type JWK,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import type { Clock } from '../../lib/clock.ts';
import { deriveKey } from '../../lib/sealed-box.ts';
import type { Door } from '../../services/openid/openid-logins.ts';
import { localPath, loginPath, stepUpPath } from '../pages/page-layout.ts';
import { CLAIMS, openAdapter, REQUIRES_PKCE, requireNoMaintenance, SCOPES } from './adapter.ts';
import { currentContext, visitOf } from './visit.ts';

export const OPENID_PATHS = {
  authorization: '/oidc/authorize',
  token: '/oidc/token',
  userinfo: '/oidc/userinfo',
  jwks: '/oidc/jwks',
  introspection: '/oidc/introspect',
  revocation: '/oidc/revoke',
  end_session: '/oidc/logout',
} as const;

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
    interactions: { policy: policyOf(deps), url: (context, { prompt }) => answerPrompt(context, prompt) },
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
 * this method for it (panva/node-oidc-provider, discussion 1186).
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

/** The account of the person whom the app sees, while the login may open the app. */
const findAccount = async (
  context: KoaContextWithOIDC,
  sub: string,
  token?: { grantId?: string | undefined },
): Promise<Account | undefined> => {
  const visit = visitOf(context);
  if (token === undefined) return { accountId: sub, claims: () => ({ sub }) };
  const door = await visit.checkLogin(String(token.grantId));
  if (!door || String(door.opening.user_id) !== sub) return undefined;
  requireNoMaintenance(door);
  const claims = await visit.services.openidLogins.claims(door);
  visit.claims = claims;
  const allowed = await statedClaims(context, door);
  const act = claims.act && { ...claims.act, sub: await subjectOf(context, claims.act.sub) };
  if (act && !allowed.includes('email')) Reflect.deleteProperty(act, 'email');
  const stated = Object.entries({ ...claims, act }).filter(
    ([name, value]) => value !== null && (ALWAYS.includes(name) || allowed.includes(name)),
  );
  return { accountId: sub, claims: () => ({ ...Object.fromEntries(stated), sub }) };
};

/** The claims that the settings allow, and to which the person has agreed if they must. */
const statedClaims = async (context: KoaContextWithOIDC, door: Door): Promise<string[]> => {
  const agreed = await visitOf(context).services.openidLogins.agreedClaims(door);
  return allowedClaims(context).filter((claim) => agreed === null || agreed.includes(claim));
};

const ALWAYS: readonly string[] = SCOPES.openid;

const allowedClaims = ({ oidc }: KoaContextWithOIDC): string[] => {
  const claims = oidc.client?.[CLAIMS];
  return Array.isArray(claims) ? claims.map(String) : [];
};

const mayIntrospect = async (
  context: KoaContextWithOIDC,
  { clientId }: { clientId: string },
  { kind, ...token }: { kind?: string; clientId?: string | undefined; grantId?: string | undefined },
): Promise<boolean> => {
  const door = await visitOf(context).checkLogin(String(token.grantId));
  return kind === 'AccessToken' && token.clientId === clientId && door?.access === 'allowed';
};

/** What introspection of a token says beside the usual: that someone looks at the app as the person. */
const extraClaims = async (context: KoaContextWithOIDC) => {
  const { act, read_only } = visitOf(context).claims ?? {};
  return act && read_only ? { act: { sub: await subjectOf(context, act.sub) }, read_only } : undefined;
};

/** The rights of a login, which begins only after the last check. */
const grantOf = ({ oidc }: KoaContextWithOIDC) => {
  const { account, client } = oidc;
  if (!account || !client) return undefined;
  const grant = new oidc.provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  grant.jti = 'of a login that has not begun';
  grant.addOIDCScope(Object.keys(SCOPES).join(' '));
  return grant;
};

/** What must be true before a code is issued, in this order. */
const policyOf = ({ clock }: Deps) => {
  const { Check, Prompt, base } = interactionPolicy;
  const door = (context: KoaContextWithOIDC): Door | null => visitOf(context).door;
  const login = new Prompt(
    { name: 'login', requestable: true },
    new Check('no_session', 'The person is not logged in.', (context) => door(context) === null),
    new Check('max_age', 'The login is too old.', (context) => {
      const { max_age: seconds } = context.oidc.params ?? {};
      const at = door(context)?.proof.authTime;
      return (
        seconds !== undefined &&
        at !== undefined &&
        clock.now().getTime() - at.getTime() > Number(seconds) * 1000
      );
    }),
    new Check('other_person', 'Another person is logged in.', isOtherPerson),
    new Check(
      'factor',
      'The login needs a second factor.',
      (context) => (door(context)?.step ?? null) !== null,
    ),
  );
  const selection = new Prompt({ name: 'select_account', requestable: true });
  const access = new Prompt(
    { name: 'access', requestable: false },
    new Check('refused', 'The person may not open the app.', 'access_denied', (context) => {
      return door(context)?.access !== 'allowed';
    }),
  );
  const consent = new Prompt(
    { name: 'consent', requestable: true },
    new Check('not_given', 'The person has not agreed yet.', async (context) => {
      const known = door(context);
      return known !== null && (await statedClaims(context, known)).length < allowedClaims(context).length;
    }),
  );
  // Asked only for apps of clients to which the person does not belong.
  consent.checks.remove('consent_prompt');
  const begin = new Prompt(
    { name: 'begin', requestable: false },
    new Check(
      'ended',
      'The session has just ended.',
      'login_required',
      async (context) => !(await beginLogin(context)),
    ),
  );
  const policy = base();
  policy.clear();
  for (const prompt of [login, selection, access, consent, begin]) policy.add(prompt);
  return policy;
};

const isOtherPerson = async (context: KoaContextWithOIDC): Promise<boolean> => {
  const hint = context.oidc.entities.IdTokenHint;
  return hint !== undefined && hint.payload.sub !== (await subjectOf(context, accountOf(context)));
};

const accountOf = ({ oidc }: KoaContextWithOIDC): string => oidc.session?.accountId ?? '';

/** What the app knows a person by. */
const subjectOf = async ({ oidc }: KoaContextWithOIDC, accountId: string): Promise<string> => {
  const { client } = oidc;
  if (client?.subjectType !== 'pairwise') return accountId;
  const claims = new oidc.provider.Claims({ sub: accountId }, { client });
  return String((await claims.scope('openid').result()).sub);
};

/** Begins the login to the app. False if the session has ended. */
const beginLogin = async (context: KoaContextWithOIDC): Promise<boolean> => {
  const { door, services } = visitOf(context);
  const { session, client } = context.oidc;
  if (!door || !session || !client) return false;
  const subject = await subjectOf(context, accountOf(context));
  const login = await services.openidLogins.begin(door, subject);
  if (!login) return false;
  session.grantIdFor(client.clientId, String(login.id));
  session.sidFor(client.clientId, login.sid);
  return true;
};

/** Where the browser goes, or the page that it gets, if something must happen before the code is issued. */
const answerPrompt = (context: KoaContextWithOIDC, prompt: { name: string; reasons: string[] }): string => {
  const { name, reasons } = prompt;
  const visit = visitOf(context);
  const { door } = visit;
  const next = authorizationPath(context);
  const isStep = reasons.length === 1 && reasons[0] === 'factor';
  if (isStep && door?.step) return stepUpPath(door.step, next);
  if (door === null || name === 'begin') return loginPath(next);
  const appId = String(context.oidc.client?.clientId);
  const back = denialUrl(context);
  if (name === 'access') visit.page = { kind: 'refused', door, appId, back };
  else if (name === 'consent')
    visit.page = { kind: 'consent', door, appId, claims: allowedClaims(context), next, back };
  else return loginPath(next, 'again');
  return next;
};

/** The same request, after the login for which it asked. */
const authorizationPath = ({ oidc }: KoaContextWithOIDC): string => {
  const { prompt = '', ...params } = definedParams(oidc.params);
  const prompts = prompt.split(' ').filter((one) => !['', 'login', 'select_account'].includes(one));
  const query = new URLSearchParams({ ...params, ...(prompts.length > 0 && { prompt: prompts.join(' ') }) });
  const path = localPath(`${OPENID_PATHS.authorization}?${query}`);
  if (path === null) throw new errors.InvalidRequest('the request is too long to be continued after a login');
  return path;
};

const definedParams = (params: object = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

/** Where the app hears that the person was refused, or has not agreed. */
const denialUrl = ({ oidc }: KoaContextWithOIDC): string => {
  const { redirect_uri: uri = '', state } = definedParams(oidc.params);
  const url = new URL(uri);
  url.searchParams.set('error', 'access_denied');
  if (state !== undefined) url.searchParams.set('state', state);
  url.searchParams.set('iss', oidc.issuer);
  return url.href;
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
