import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type * as Oidc from 'openid-client';
import { html } from '../lib/html.ts';
import { sendDemoPage } from './demo-page.ts';

/**
 * A small app that knows nothing of Steward but its address as an OpenID provider, like any app that supports OpenID Connect. It is public:
 * it has no secret, and proves with PKCE that a code is its own.
 */

/** `issuer` is Steward's public URL; `steward` the URL at which this app reaches it. */
type Deps = { issuer: string; steward: string };

/** The app of the demo that logs people in with OpenID Connect. */
export const OPENID_APP = { id: 'Pr4cNg8u', slug: 'pricing' };

const PATH = `/demo-apps/${OPENID_APP.slug}/`;
const COOKIE = 'demo_openid_app';
const MAX_SESSIONS = 1_000;

export const openidCallback = (issuer: string): string => `${issuer}${PATH}callback/`;

/** A login that waits for the provider, or a person who is logged in. */
type Session =
  | { kind: 'waiting'; verifier: string; state: string; nonce: string }
  | { kind: 'open'; claims: Record<string, unknown>; tokens: Oidc.TokenEndpointResponse; endsAt: number };

/** Adds the app to a server that does not listen yet. */
export const serveOpenidApp = (server: FastifyInstance, { issuer, steward }: Deps): void => {
  const sessions = new Map<string, Session>();
  const provider = createProviderClient({ issuer, steward });
  const cookie = {
    path: PATH,
    httpOnly: true,
    sameSite: 'lax',
    secure: issuer.startsWith('https:'),
  } as const;

  const keep = (reply: FastifyReply, session: Session): FastifyReply => {
    const secret = randomBytes(32).toString('base64url');
    sessions.set(secret, session);
    const [oldest] = sessions.keys();
    if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    return reply.setCookie(COOKIE, secret, cookie);
  };
  const find = ({ cookies }: FastifyRequest): Session | undefined => sessions.get(cookies[COOKIE] ?? '');

  const logIn = async (reply: FastifyReply): Promise<FastifyReply> => {
    const { oidc, config } = await provider();
    const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: openidCallback(issuer),
      scope: 'openid profile email groups data_permissions offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
    return keep(reply, { kind: 'waiting', verifier, state, nonce }).redirect(url.href, 303);
  };

  const open = (
    reply: FastifyReply,
    tokens: Oidc.TokenEndpointResponse & Oidc.TokenEndpointResponseHelpers,
  ) => {
    const endsAt = performance.now() + (tokens.expires_in ?? 0) * 1000;
    return keep(reply, { kind: 'open', claims: { ...tokens.claims() }, tokens, endsAt });
  };

  /** After each lifetime of an access token, the provider is asked whether the person may still open the app. */
  const refresh = async (session: Extract<Session, { kind: 'open' }>, reply: FastifyReply) => {
    const { oidc, config } = await provider();
    const tokens = await oidc
      .refreshTokenGrant(config, session.tokens.refresh_token ?? '')
      .catch((error: unknown) => {
        if (error instanceof oidc.ResponseBodyError) return null;
        throw error;
      });
    return tokens ? open(reply, tokens).redirect(PATH, 303) : logIn(reply);
  };

  server.get(PATH, async (request, reply) => {
    const session = find(request);
    if (session?.kind !== 'open') return logIn(reply);
    if (session.endsAt <= performance.now()) return refresh(session, reply);
    return sendApp(reply, session.claims, { logoutUrl: `${PATH}logout/` });
  });

  server.get(`${PATH}callback/`, async (request, reply) => {
    const session = find(request);
    if (session?.kind !== 'waiting') return logIn(reply);
    const { oidc, config } = await provider();
    try {
      const tokens = await oidc.authorizationCodeGrant(config, new URL(issuer + request.url), {
        pkceCodeVerifier: session.verifier,
        expectedState: session.state,
        expectedNonce: session.nonce,
      });
      return open(reply, tokens).redirect(PATH, 303);
    } catch (error) {
      if (!(error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError))
        throw error;
      return sendDemoPage(reply.code(403), {
        title: 'Not logged in',
        body: html`<main><h1>You are not logged in</h1>
<p>Steward says: ${error.error}.</p>
<p><a href="${PATH}">Try again</a></p></main>`,
      });
    }
  });

  server.get(`${PATH}logout/`, async (request, reply) => {
    const session = find(request);
    const { oidc, config } = await provider();
    const hint = session?.kind === 'open' ? { id_token_hint: session.tokens.id_token ?? '' } : {};
    sessions.delete(request.cookies[COOKIE] ?? '');
    const url = oidc.buildEndSessionUrl(config, { ...hint, post_logout_redirect_uri: `${issuer}/` });
    return reply.clearCookie(COOKIE, cookie).redirect(url.href, 303);
  });
};

/** Reads the metadata of the provider once. The package is loaded with the first request. */
const createProviderClient = ({ issuer, steward }: Deps) => {
  const discover = async () => {
    const oidc = await import('openid-client');
    const config = await oidc.discovery(new URL(issuer), OPENID_APP.id, undefined, oidc.None(), {
      [oidc.customFetch]: (url, init) => fetch(url.replace(issuer, steward), init as RequestInit), // differs only in an undefined body
      execute: [oidc.allowInsecureRequests],
    });
    return { oidc, config };
  };
  let known: ReturnType<typeof discover> | undefined;
  return () => {
    known ??= discover().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
};

const sendApp = (
  reply: FastifyReply,
  claims: Record<string, unknown>,
  { logoutUrl }: { logoutUrl: string },
) =>
  sendDemoPage(reply, {
    title: 'Pricing',
    body: html`<header><strong>Pricing</strong> <span class="muted">logged in by OpenID Connect</span></header>
<main>
${claims.act !== undefined && html`<p class="banner" role="status">Someone looks at this app as ${String(claims.email)}: it is read-only.</p>`}
<h1>Hello, ${String(claims.name)}</h1>
<p>You are ${String(claims.email)}. <a href="${logoutUrl}">Log out</a></p>
<details open>
<summary>What the ID token says</summary>
<pre>${JSON.stringify(claims, null, 2)}</pre>
</details>
</main>`,
  });
