import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import type { Page } from './http-clients.ts';

const CLIENT_ID = 'steward';
const CLIENT_SECRET = 'a secret that only tests and their provider know';

/** The claims of a person, by their `sub`. */
type Person = Record<string, unknown> & { email?: string | string[] };

export type TestProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** An identity provider on loopback, with people who log in without a password. `baseUrl`: of the service that it knows. */
export const startIdentityProvider = async (baseUrl: string) => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'test', alg: 'RS256', use: 'sig' };
  const people = new Map<string, Person>();
  /** Who uses the browser, and how they have logged in. */
  const state: {
    subject: string | null;
    amr: string[];
    tamper: ((claims: Record<string, unknown>) => Record<string, unknown>) | null;
    respond: ((path: string, response: ServerResponse) => boolean) | null;
    /** Signs tampered tokens with another key. */
    signWith: ((claims: Record<string, unknown>) => Promise<string>) | null;
  } = { subject: null, amr: ['pwd'], tamper: null, respond: null, signWith: null };

  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0;
  const issuer = `http://127.0.0.1:${port}`;
  const paths = Array.from({ length: 20 }, (_, index) => `${baseUrl}/sso/${index + 1}`);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: paths.map((path) => `${path}/callback/`),
        post_logout_redirect_uris: [`${baseUrl}/login/`],
        backchannel_logout_uri: `${paths[0]}/backchannel-logout/`,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: ['a key of test cookies'] },
    claims: {
      openid: ['sub', 'sid', 'amr', 'auth_time'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name'],
      groups: ['groups'],
    },
    scopes: ['openid', 'email', 'profile', 'groups', 'offline_access'],
    acrValues: [],
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: sendLogoutPage },
    },
    pkce: { required: () => true },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, ...people.get(id) }),
    }),
  });

  const interact = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (state.subject === null) {
      const denied = { error: 'access_denied', error_description: 'The person has cancelled.' };
      return provider.interactionFinished(request, response, denied);
    }
    if (prompt.name === 'login') {
      const login = { accountId: state.subject, amr: state.amr };
      return provider.interactionFinished(request, response, { login });
    }
    const grant = new provider.Grant({
      accountId: session?.accountId ?? '',
      clientId: String(params.client_id),
    });
    grant.addOIDCScope(String(params.scope));
    const consent = { grantId: await grant.save() };
    return provider.interactionFinished(request, response, { consent });
  };
  const handle = provider.callback();

  const sign = (claims: Record<string, unknown>, type = 'JWT') =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'test', typ: type }).sign(privateKey);

  /** Passes a request on to the provider itself, and replaces the claims of the ID token. */
  const tampered = async (request: IncomingMessage, response: ServerResponse, tamper: Tamper) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { url: path = '', method = '', headers } = request;
    const sent = httpRequest(`${issuer}${path}`, { method, headers: { ...headers, 'x-untampered': '1' } });
    sent.end(Buffer.concat(chunks));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer) text += chunk;
    const json = JSON.parse(text);
    const payload = JSON.parse(
      Buffer.from(String(json.id_token).split('.')[1] ?? '', 'base64url').toString(),
    );
    const body = JSON.stringify({ ...json, id_token: await (state.signWith ?? sign)(tamper(payload)) });
    response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' }).end(body);
  };

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    if (state.respond?.(path, response)) return;
    const isTampered = state.tamper && path === '/token' && !request.headers['x-untampered'];
    if (isTampered && state.tamper) void tampered(request, response, state.tamper);
    else if (path.startsWith('/interaction/'))
      void interact(request, response).catch(() => response.writeHead(500).end());
    else handle(request, response);
  });

  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    people,
    state,
    sign,
    /** A logout token with these claims besides those that every one has. */
    logoutToken: (claims: Record<string, unknown>) =>
      sign(
        {
          iss: issuer,
          aud: CLIENT_ID,
          iat: Math.floor(Date.now() / 1000),
          exp: Math.floor(Date.now() / 1000) + 120,
          jti: randomUUID(),
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          ...claims,
        },
        'logout+jwt',
      ),
    /** A new browser at the provider. */
    openBrowser: () => createProviderBrowser(),
    close: async (): Promise<void> => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

type Tamper = (claims: Record<string, unknown>) => Record<string, unknown>;

/** Without the fonts of another site, which the page of the library has. */
const sendLogoutPage = (context: { body: unknown }, form: string): void => {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Log out there</button>';
  context.body = `<!doctype html><title>Log out?</title>${form}${button}`;
};

/** Follows the pages of a provider, and keeps its cookies. */
const createProviderBrowser = () => {
  const jar = new Map<string, string>();
  const request = async (url: URL | string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  };
  return {
    jar,
    /** Opens the page for the logout, confirms it, and returns the URL to which it sends the browser. */
    confirmLogout: async (start: string): Promise<string> => {
      const page = await (await request(start)).text();
      const [, action = ''] = /<form [^>]*action="([^"]+)"/.exec(page) ?? [];
      const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
      const body = new URLSearchParams({ xsrf, logout: 'yes' });
      const response = await request(new URL(action, start), { method: 'POST', body });
      return response.headers.get('location') ?? `${response.status}: ${page}`;
    },
    /** Opens the URL and follows redirects until one leads to another origin, which is returned. */
    follow: async (start: string): Promise<string> => {
      let url = new URL(start);
      const { origin } = url;
      for (let hops = 0; hops < 10; hops++) {
        const response = await request(url);
        const location = response.headers.get('location');
        if (location === null) throw new Error(`${response.status} at ${url}: ${await response.text()}`);
        url = new URL(location, url);
        if (url.origin !== origin) return url.href;
      }
      throw new Error(`too many redirects from ${start}`);
    },
  };
};

/** The path of a URL of the service, as `createVisitor` takes it. */
export const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** The address to which a page redirects. */
export const locationOf = ({ status, location, text }: Page): string => {
  if (status !== 303) throw new Error(`no redirect: ${status} ${text}`);
  return String(location);
};

/** A provider that has metadata and keys, but logs nobody in. It keeps no process running. Returns its issuer. */
export const startProviderMetadata = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const bound = server.address();
  const issuer = `http://127.0.0.1:${bound !== null && typeof bound === 'object' ? bound.port : 0}`;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const body = request.url === '/jwks' ? { keys: [] } : metadata;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return issuer;
};
