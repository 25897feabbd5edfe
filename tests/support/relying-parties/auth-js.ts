import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Auth, type AuthConfig, skipCSRFCheck } from '@auth/core';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { closeServer, listen } from './listening.ts';
import { type Addresses, type ClientSettings, type RelyingParty, SCOPES } from './relying-party.ts';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

const addressesAt = (origin: string): Addresses => ({
  url: `${origin}/`,
  redirectUri: `${origin}/auth/callback/provider`,
  postLogoutUri: `${origin}/logged-out`,
  backchannelUri: `${origin}/backchannel-logout`,
  logoutUrl: `${origin}/logout`,
  // The library uses no refresh tokens itself.
  refreshUrl: null,
});

/** A session is a cookie, which keeps the ID token. `ended`: the `sid` of sessions that the provider has ended. */
const configure = ({ issuer, clientId, clientSecret }: ClientSettings, ended: Set<unknown>): AuthConfig => ({
  basePath: '/auth',
  secret: 'a secret of tests',
  trustHost: true,
  providers: [
    {
      id: 'provider',
      name: 'the provider',
      type: 'oidc',
      issuer,
      clientId,
      clientSecret,
      checks: ['pkce', 'state', 'nonce'],
      authorization: { params: { scope: SCOPES } },
    },
  ],
  callbacks: {
    jwt: ({ token, profile, account }) => {
      if (profile && account) return { ...token, profile, idToken: account.id_token, sid: profile.sid };
      return ended.has(token.sid) ? null : token;
    },
    session: ({ session, token }) => ({ ...session, profile: token.profile, idToken: token.idToken }),
  },
});

const toRequest = async (origin: string, request: IncomingMessage): Promise<Request> => {
  const { method = 'GET', url = '/', rawHeaders } = request;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  const body = method === 'POST' ? new Uint8Array(await buffer(request)) : null;
  return new Request(new URL(url, origin), { method, headers, body });
};

const redirectTo = (location: URL | string, cookies: string[] = []): Response => {
  const headers = new Headers({ location: String(location) });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 302, headers });
};

/** An app whose pages are functions of a request, as those of the frameworks for which the library is made. */
const createApp = (origin: string, settings: ClientSettings) => {
  const ended = new Set<unknown>();
  const config = configure(settings, ended);
  const { url, postLogoutUri } = addressesAt(origin);

  const readMetadata = async () =>
    (await fetch(`${settings.issuer}/.well-known/openid-configuration`)).json() as Promise<
      Record<string, string> // of those that the app reads
    >;

  const readSession = async ({ headers }: Request) =>
    (await Auth(new Request(`${origin}/auth/session`, { headers }), config)).json();

  const showSession = async (request: Request): Promise<Response> => {
    const session = await readSession(request);
    return session === null ? redirectTo(`${origin}/auth/signin?callbackUrl=${url}`) : Response.json(session);
  };

  /** The library only ends the session of the app. */
  const logOut = async (request: Request): Promise<Response> => {
    const { idToken } = (await readSession(request)) as { idToken: string }; // of the callback
    const signOut = new Request(`${origin}/auth/signout`, { method: 'POST', headers: request.headers });
    const { headers } = await Auth(signOut, { ...config, skipCSRFCheck });
    const location = new URL((await readMetadata()).end_session_endpoint ?? '');
    location.searchParams.set('id_token_hint', idToken);
    location.searchParams.set('post_logout_redirect_uri', postLogoutUri);
    return redirectTo(location, headers.getSetCookie());
  };

  /** The library has no function for logout tokens. */
  const endSession = async (request: Request): Promise<Response> => {
    const token = new URLSearchParams(await request.text()).get('logout_token') ?? '';
    const keys = createRemoteJWKSet(new URL((await readMetadata()).jwks_uri ?? ''));
    const options = { issuer: settings.issuer, audience: settings.clientId, requiredClaims: ['jti', 'sid'] };
    try {
      const { payload } = await jwtVerify(token, keys, { ...options, typ: 'logout+jwt' });
      if (!Object.hasOwn(payload.events ?? {}, LOGOUT_EVENT)) throw new Error('another event');
      ended.add(payload.sid);
      return new Response(null, { headers: { 'cache-control': 'no-store' } });
    } catch (error) {
      return Response.json({ error: 'invalid_request', error_description: String(error) }, { status: 400 });
    }
  };

  const pages: Record<string, (request: Request) => Response | Promise<Response>> = {
    '/': showSession,
    '/logout': logOut,
    '/logged-out': () => new Response('Logged out'),
    '/backchannel-logout': endSession,
  };
  return (request: Request) => {
    const page = pages[new URL(request.url).pathname];
    return page ? page(request) : Auth(request, config);
  };
};

/** Auth.js, the core of NextAuth, in the process of the tests. */
export const authJs: RelyingParty = {
  name: 'Auth.js',
  sendsCodeChallenge: true,
  addressesAt,
  requestLogin: (page) => page.getByRole('button', { name: 'Sign in with the provider' }).click(),
  start: async (origin, settings) => {
    const respond = createApp(origin, settings);
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { status, headers, body } = await respond(await toRequest(origin, request));
      response.writeHead(status, [...headers].flat());
      response.end(body && (await new Response(body).bytes()));
    };
    const server = createServer((request, response) => {
      void answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
    });
    await listen(server, Number(new URL(origin).port));
    return { [Symbol.asyncDispose]: () => closeServer(server) };
  },
};
