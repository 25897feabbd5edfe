import { createServer, type IncomingHttpHeaders } from 'node:http';
import { makeScratchFolder, writeFiles } from '../files.ts';
import { runProxy } from '../proxies.ts';
import { closeServer, listen } from './listening.ts';
import { type Addresses, type ClientSettings, type RelyingParty, SCOPES } from './relying-party.ts';

const MODULES = '/usr/lib/apache2/modules';

const addressesAt = (origin: string): Addresses => {
  const redirectUri = `${origin}/openid-connect`;
  const postLogoutUri = `${origin}/logged-out`;
  return {
    url: `${origin}/`,
    redirectUri,
    postLogoutUri,
    backchannelUri: `${redirectUri}?logout=backchannel`,
    logoutUrl: `${redirectUri}?logout=${encodeURIComponent(postLogoutUri)}`,
    refreshUrl: `${redirectUri}?info=json&access_token_refresh_interval=0`,
  };
};

const CLAIM = /^oidc_claim_(.*)/;

/** The claims that Apache passes on in headers, which are UTF-8. */
const claimsIn = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([header, value]) => {
      const [, name] = CLAIM.exec(header) ?? [];
      return name === undefined ? [] : [[name, Buffer.from(String(value), 'latin1').toString()]];
    }),
  );

/** The app behind Apache, which shows the claims. */
const startApp = async () => {
  const server = createServer(({ headers, url }, response) => {
    const page = url === '/logged-out' ? 'Logged out' : claimsIn(headers);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(page));
  });
  const port = await listen(server);
  return { port, [Symbol.asyncDispose]: () => closeServer(server) };
};

type Setup = { origin: string; folder: string; appPort: number; settings: ClientSettings };

/** As root, Apache serves pages as the user of Debian's package. */
const configure = ({ origin, folder, appPort, settings }: Setup): string => {
  const { redirectUri, postLogoutUri } = addressesAt(origin);
  const modules = [
    'mpm_event',
    'authn_core',
    'authz_core',
    'authz_user',
    'proxy',
    'proxy_http',
    'auth_openidc',
  ];
  const user = process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : '';
  return `${modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
${user}
ServerName ${origin}
UseCanonicalName On
Listen ${new URL(origin).host}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog "|$cat >&2"
LogLevel warn

OIDCProviderMetadataURL ${settings.issuer}/.well-known/openid-configuration
OIDCClientID ${settings.clientId}
OIDCClientSecret ${settings.clientSecret}
OIDCRedirectURI ${redirectUri}
OIDCCryptoPassphrase passphrase-of-tests
OIDCScope "${SCOPES}"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
OIDCPassClaimsAs headers
OIDCInfoHook access_token id_token userinfo

ProxyPass ${new URL(redirectUri).pathname} !
ProxyPass / http://127.0.0.1:${appPort}/
<Location />
  AuthType openid-connect
  Require valid-user
</Location>
<Location ${new URL(postLogoutUri).pathname}>
  AuthType None
  Require all granted
</Location>
`;
};

/** Apache with Debian's mod_auth_openidc, in front of an app. */
export const modAuthOpenidc: RelyingParty = {
  name: 'mod_auth_openidc',
  sendsCodeChallenge: true,
  addressesAt,
  start: async (origin, settings) => {
    const started = new AsyncDisposableStack();
    const app = started.use(await startApp());
    const folder = await makeScratchFolder();
    const { path } = folder;
    await writeFiles(path, { config: configure({ origin, folder: path, appPort: app.port, settings }) });
    const command = ['/usr/sbin/apache2', '-f', folder.join('config'), '-D', 'FOREGROUND'];
    started.use(await runProxy(command, { name: 'Apache', port: Number(new URL(origin).port), folder }));
    return started;
  },
};
