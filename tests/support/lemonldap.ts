import { generateKeyPairSync } from 'node:crypto';
import { runPortal } from './lemonldap-portal.ts';
import { ACME_ID, activate, verifyDomain } from './sso.ts';
import { freePort } from './tcp.ts';
import { ROOT, type TestApp } from './test-app.ts';

const CLIENT_ID = 'steward';
/** The portal does not decode credentials (RFC 6749 §2.3.1), so this one has nothing to encode. */
const CLIENT_SECRET = 'secret-of-steward';

/** For so long after a login, the portal does not ask again, even if it should: the login is fresh. */
export const FRESH_SECONDS = 1;

type Setup = {
  port: number;
  redirectUri: string;
  postLogoutUri: string;
  /** More options of the relying party, by their names without the prefix. */
  options?: Record<string, string | number>;
};

/** The portal as an OpenID provider on loopback, with its demo accounts, whose passwords are their names. */
const startLemonldap = async ({ port, redirectUri, postLogoutUri, options = {} }: Setup) => {
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const portal = await runPortal(issuer, {
    authentication: 'Demo',
    portalForceAuthnInterval: FRESH_SECONDS,
    demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
    issuerDBOpenIDConnectActivation: 1,
    oidcServiceMetaDataIssuer: issuer,
    oidcServiceAllowAuthorizationCodeFlow: 1,
    oidcServicePrivateKeySig: privateKey,
    oidcServicePublicKeySig: publicKey,
    oidcServiceKeyIdSig: 'key',
    oidcRPMetaDataExportedVars: {
      steward: { email: 'mail', name: 'cn', groups: 'groups;array;always', sid: 'uid' },
    },
    // `session` is a scope that only a connection with front-channel logout asks for.
    oidcRPMetaDataOptionsExtraClaims: { steward: { groups: 'groups', session: 'sid' } },
    oidcRPMetaDataOptions: {
      steward: {
        oidcRPMetaDataOptionsClientID: CLIENT_ID,
        oidcRPMetaDataOptionsClientSecret: CLIENT_SECRET,
        oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
        oidcRPMetaDataOptionsBypassConsent: 1,
        oidcRPMetaDataOptionsRequirePKCE: 1,
        oidcRPMetaDataOptionsRedirectUris: redirectUri,
        oidcRPMetaDataOptionsPostLogoutRedirectUris: postLogoutUri,
        ...Object.fromEntries(
          Object.entries(options).map(([name, value]) => [`oidcRPMetaDataOptions${name}`, value]),
        ),
      },
    },
  });
  return { ...portal, issuer, openBrowser: () => createBrowser(issuer) };
};

type Created = Awaited<ReturnType<ReturnType<TestApp['as']>['sso']['create']>>;

/** Starts the portal, and connects the client Acme to it. `optionsOf` returns more options of the relying party. */
export const connectPortal = async (
  started: AsyncDisposableStack,
  app: TestApp,
  connection: object,
  optionsOf = (_created: Created): Record<string, string | number> => ({}),
) => {
  const port = await freePort();
  const account = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const provider = { name: 'Acme ID', issuer: `http://127.0.0.1:${port}`, provisions: true, ...account };
  const created = await app.as(ROOT).sso.create({ id: ACME_ID, ...provider, ...connection });
  const { redirect_uri: redirectUri, post_logout_redirect_uri: postLogoutUri } = created;
  const setup = { port, redirectUri, postLogoutUri, options: optionsOf(created) };
  const portal = started.use(await startLemonldap(setup));
  await activate(app, created.id);
  await verifyDomain(app, ACME_ID, 'badwolf.org');
  return { app, portal, connection: created.id };
};

export type Portal = Awaited<ReturnType<typeof connectPortal>>;

type Entered = { user: string; password?: string };

/** A browser at the portal, which keeps its cookies. */
const createBrowser = (issuer: string) => {
  const jar = new Map<string, string>();
  const request = async (url: URL | string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    return response;
  };

  return {
    /** The text of a page of the portal. */
    open: async (url: string): Promise<string> => (await request(url)).text(),

    /** Opens a URL of the portal, and logs in if it asks for that. Returns where it sends the browser, and whether it has asked. */
    visit: async (start: string, { user, password = user }: Entered) => {
      let [url, init, hasAsked] = [new URL(start), {} as RequestInit, false];
      for (let hops = 0; hops < 9; hops += 1) {
        const response = await request(url, init);
        const location = response.headers.get('location');
        const page = await response.text();
        // The first asks for the password, the others whether to go on.
        const [form, id, action = '#'] =
          /<form id="(lform|upgrd|form)" action="([^"]*)".*?<\/form>/s.exec(page) ?? [];
        // After a logout, a page of frames leads on with a form.
        const next = location ?? (action.startsWith('http') ? action : null);
        if (next !== null && !next.startsWith(issuer)) return { location: next, hasAsked, page };
        if (location === null && form === undefined) throw new Error(`${response.status} at ${url}: ${page}`);
        url = new URL(location ?? (action === '#' ? url : action), url);
        if (form === undefined) {
          init = {};
          continue;
        }
        const hidden = form.matchAll(/<input type="hidden"[^>]* name="([^"]+)"(?: value="([^"]*)")?/g);
        const body = new URLSearchParams(
          [...hidden].map(([, name = '', value = '']): [string, string] => [name, value]),
        );
        if (id === 'lform') {
          body.append('user', user);
          body.append('password', password);
          hasAsked = true;
        }
        init = { method: 'POST', body };
      }
      throw new Error(`too many pages from ${start}`);
    },
  };
};
