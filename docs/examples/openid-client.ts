// An app that logs people in with Steward, and shows what it gets. Run it with Node 22.18 or newer:
//   npm install openid-client@6 jose@6
//   CLIENT_ID=… CLIENT_SECRET=… node openid-client.ts
// The app's redirect address is APP_URL/callback, its address for back-channel logout APP_URL/backchannel-logout, and its address after a
// logout APP_URL/. STEWARD_URL and APP_URL select the services. The default is the demo.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oidc from 'openid-client';

const { STEWARD_URL = 'http://localhost:8000', APP_URL = 'http://localhost:4000' } = process.env;
const { CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;
const redirect_uri = `${APP_URL}/callback`;
const scope = 'openid profile email groups';
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

// Without https, as in the demo, the library needs permission.
const execute = STEWARD_URL.startsWith('http:') ? [oidc.allowInsecureRequests] : [];
const steward = await oidc.discovery(new URL(STEWARD_URL), CLIENT_ID, CLIENT_SECRET, undefined, { execute });
const keys = createRemoteJWKSet(new URL(steward.serverMetadata().jwks_uri ?? ''));

type Login = { state: string; nonce: string; pkceCodeVerifier: string };
type Session = { claims: oidc.IDToken; idToken: string };
/** By the secret in a cookie. An app on several hosts keeps them in its database, and deletes old ones. */
const logins = new Map<string, Login>();
const sessions = new Map<string, Session>();

const isSecure = APP_URL.startsWith('https:') ? '; Secure' : '';
const cookieOf = (request: IncomingMessage, name: string): string =>
  new RegExp(`(?:^|; )${name}=([^;]*)`).exec(request.headers.cookie ?? '')?.[1] ?? '';

const redirect = (response: ServerResponse, to: URL | string, ...cookies: [name: string, value: string][]) =>
  response
    .writeHead(303, {
      location: String(to),
      'set-cookie': cookies.map(
        ([name, value]) => `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure}`,
      ),
    })
    .end();

/** Sends the browser to Steward. */
const startLogin = async (response: ServerResponse) => {
  const [secret, pkceCodeVerifier] = [randomUUID(), oidc.randomPKCECodeVerifier()];
  const login = { state: oidc.randomState(), nonce: oidc.randomNonce(), pkceCodeVerifier };
  logins.set(secret, login);
  const code_challenge = await oidc.calculatePKCECodeChallenge(pkceCodeVerifier);
  const { state, nonce } = login;
  const request = { redirect_uri, scope, state, nonce, code_challenge, code_challenge_method: 'S256' };
  redirect(response, oidc.buildAuthorizationUrl(steward, request), ['login', secret]);
};

/** The browser comes back with a code. The library checks all that must be checked of an ID token. */
const finishLogin = async (request: IncomingMessage, response: ServerResponse) => {
  const login = logins.get(cookieOf(request, 'login'));
  logins.delete(cookieOf(request, 'login'));
  if (!login) return void response.writeHead(400).end('This login has not begun in this browser.');
  const { state, nonce, pkceCodeVerifier } = login;
  const checks = { pkceCodeVerifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
  const tokens = await oidc.authorizationCodeGrant(steward, new URL(request.url ?? '', APP_URL), checks);
  const [claims, secret] = [tokens.claims(), randomUUID()];
  if (!claims) throw new Error('Steward sends an ID token.');
  sessions.set(secret, { claims, idToken: tokens.id_token ?? '' });
  redirect(response, '/', ['session', secret]);
};

/** Ends the session here, then at Steward, which ends those of other apps. */
const logOut = (request: IncomingMessage, response: ServerResponse) => {
  const id_token_hint = sessions.get(cookieOf(request, 'session'))?.idToken ?? '';
  sessions.delete(cookieOf(request, 'session'));
  const there = { ...(id_token_hint && { id_token_hint }), post_logout_redirect_uri: `${APP_URL}/` };
  redirect(response, oidc.buildEndSessionUrl(steward, there), ['session', '']);
};

/** Steward notifies the app that a login has ended. */
const endSessions = async (request: IncomingMessage, response: ServerResponse) => {
  const token = new URLSearchParams(await text(request)).get('logout_token') ?? '';
  const options = { issuer: steward.serverMetadata().issuer, audience: CLIENT_ID, typ: 'logout+jwt' };
  const { payload } = await jwtVerify<{ sid: string; events: object }>(token, keys, options);
  if (!(LOGOUT_EVENT in payload.events)) throw new Error('not a logout');
  for (const [secret, { claims }] of sessions) if (claims.sid === payload.sid) sessions.delete(secret);
  response.writeHead(200, { 'cache-control': 'no-store' }).end();
};

const showClaims = (request: IncomingMessage, response: ServerResponse) => {
  const session = sessions.get(cookieOf(request, 'session'));
  response.writeHead(session ? 200 : 401, { 'content-type': 'application/json' });
  response.end(JSON.stringify(session?.claims ?? { login: `${APP_URL}/login` }, null, 2));
};

const respond = async (request: IncomingMessage, response: ServerResponse) => {
  const { pathname } = new URL(request.url ?? '', APP_URL);
  if (pathname === '/login') return startLogin(response);
  if (pathname === '/callback') return finishLogin(request, response);
  if (pathname === '/logout') return logOut(request, response);
  if (pathname === '/backchannel-logout' && request.method === 'POST') return endSessions(request, response);
  return showClaims(request, response);
};

createServer((request, response) => {
  respond(request, response).catch((error) => response.writeHead(400).end(String(error)));
}).listen(Number(new URL(APP_URL).port), 'localhost', () => console.log(`Open ${APP_URL}/login`));
