import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Client, type Configuration, type KoaContextWithOIDC } from 'oidc-provider';
import { closeServer, listen } from './listening.ts';
import type { TestedProvider } from './tested-provider.ts';

const SUBJECT = 'ada';
const PERSON = { name: 'Ada Lovelace', email: 'ada@acme.test', groups: ['engineers', 'analysts'] };

const LOGIN_PAGE =
  '<!doctype html><title>Log in</title><form method="post"><button>Log in as Ada</button></form>';

const sendLogoutPage = (context: KoaContextWithOIDC, form: string): void => {
  const button = '<button form="op.logoutForm" name="logout" value="yes">Log out there</button>';
  context.body = `<!doctype html><title>Log out?</title>${form}${button}`;
};

/** @param unchallenged the ids of clients that send no code challenge */
const configurationOf = async (unchallenged: Set<string>): Promise<Configuration> => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'test', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['a key of test cookies'] },
    claims: {
      openid: ['sub', 'sid', 'auth_time'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    scopes: ['openid', 'email', 'profile', 'groups', 'offline_access'],
    // Else the library leaves claims out of ID tokens, where Auth.js and Authlib read them.
    conformIdTokenClaims: false,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: sendLogoutPage },
    },
    // Without the dispatcher of the library, which refuses loopback.
    fetch: (url, { method = 'GET', headers = {}, body = null } = {}) =>
      fetch(url, { method, headers, body, redirect: 'manual' }),
    pkce: { required: (_context, { clientId }) => !unchallenged.has(clientId) },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email_verified: true, ...PERSON }),
    }),
  };
};

/** Without this prompt, which no app here sends, the library takes `offline_access` from the scopes of an authorization request. */
const withConsent = (url: string): string => {
  const isOffline = url.startsWith('/auth?') && url.includes('offline_access') && !url.includes('prompt=');
  return isOffline ? `${url}&prompt=consent` : url;
};

/** Asks for a login by a button, and grants what an app asks for. */
const interact = async (provider: Provider, request: IncomingMessage, response: ServerResponse) => {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    if (request.method === 'GET') return void response.setHeader('content-type', 'text/html').end(LOGIN_PAGE);
    return provider.interactionFinished(request, response, { login: { accountId: SUBJECT } });
  }
  const clientId = String(params.client_id);
  const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId });
  grant.addOIDCScope(String(params.scope));
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
};

type Session = NonNullable<KoaContextWithOIDC['oidc']['session']>;

/** The types of the library leave this method out. */
type ToldClient = Client & {
  backchannelLogout: (accountId: string | undefined, sid: string | undefined) => Promise<void>;
};

/** Tells all apps of a session that it has ended. Fails if one refuses that. */
const end = async (provider: Provider, session: Session): Promise<void> => {
  for (const clientId of Object.keys(session.authorizations ?? {})) {
    const client = (await provider.Client.find(clientId)) as ToldClient | undefined;
    if (client?.backchannelLogoutUri)
      await client.backchannelLogout(session.accountId, session.sidFor(clientId));
  }
  await session.destroy();
};

/** The library on loopback, with one person who logs in without a password. */
export const startPlainProvider = async (): Promise<TestedProvider> => {
  const server = createServer();
  const issuer = `http://localhost:${await listen(server)}`;
  const unchallenged = new Set<string>();
  const provider = new Provider(issuer, await configurationOf(unchallenged));
  let session: Session | undefined;
  provider.on('authorization.success', (context) => {
    session = context.oidc.session;
  });
  const handle = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/interaction/'))
      void interact(provider, request, response).catch((error) => response.writeHead(500).end(String(error)));
    else {
      request.url = withConsent(request.url ?? '');
      handle(request, response);
    }
  });
  const waitForLogin: TestedProvider['waitForLogin'] = (page) =>
    page.getByRole('button', { name: 'Log in as Ada' }).waitFor();

  return {
    person: PERSON,
    register: async ({ sendsCodeChallenge }, { redirectUri, postLogoutUri, backchannelUri }) => {
      const response = await fetch(`${issuer}/reg`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          redirect_uris: [redirectUri],
          post_logout_redirect_uris: [postLogoutUri],
          ...(backchannelUri !== null && {
            backchannel_logout_uri: backchannelUri,
            backchannel_logout_session_required: true,
          }),
          grant_types: ['authorization_code', 'refresh_token'],
        }),
      });
      const client = JSON.parse(await response.text());
      if (response.status !== 201) throw new Error(JSON.stringify(client));
      if (!sendsCodeChallenge) unchallenged.add(client.client_id);
      return { issuer, clientId: client.client_id, clientSecret: client.client_secret };
    },
    waitForLogin,
    logIn: async (page) => {
      await waitForLogin(page);
      await page.getByRole('button', { name: 'Log in as Ada' }).click();
    },
    confirmLogout: (page) => page.getByRole('button', { name: 'Log out there' }).click(),
    endSession: async () => {
      if (!session) throw new Error('No session has started.');
      await end(provider, session);
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  };
};
