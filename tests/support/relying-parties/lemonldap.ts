import { runPortal } from '../lemonldap-portal.ts';
import { type ClientSettings, type RelyingParty, SCOPES } from './relying-party.ts';

/** The portal reads the metadata from its configuration, into which an admin copies it. */
const readMetadata = async (issuer: string) => {
  const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).text();
  const keys = await (await fetch(JSON.parse(metadata).jwks_uri)).text();
  return { metadata, keys };
};

const configure = async ({ issuer, clientId, clientSecret }: ClientSettings) => {
  const { metadata, keys } = await readMetadata(issuer);
  return {
    authentication: 'OpenIDConnect',
    oidcOPMetaDataJSON: { steward: metadata },
    oidcOPMetaDataJWKS: { steward: keys },
    oidcOPMetaDataExportedVars: { steward: { cn: 'name', mail: 'email', teams: 'groups' } },
    oidcOPMetaDataOptions: {
      steward: {
        oidcOPMetaDataOptionsClientID: clientId,
        oidcOPMetaDataOptionsClientSecret: clientSecret,
        oidcOPMetaDataOptionsScope: SCOPES,
        oidcOPMetaDataOptionsCheckJWTSignature: 1,
        oidcOPMetaDataOptionsUseNonce: 1,
        oidcOPMetaDataOptionsStoreIDToken: 1,
      },
    },
    // The page shows this variable of the session.
    macros: { shown: '"$cn, $mail: " . (ref $teams ? join(\'; \', @{$teams}) : $teams)' },
    portalUserAttr: 'shown',
    whatToTrace: 'mail',
  };
};

/** Debian's portal of LemonLDAP::NG. Version 2.16 answers 501 at its address for back-channel logout, and knows no PKCE. */
export const lemonldap: RelyingParty = {
  name: 'LemonLDAP::NG',
  sendsCodeChallenge: false,
  addressesAt: (origin) => ({
    url: `${origin}/`,
    redirectUri: `${origin}/?openidconnectcallback=1`,
    postLogoutUri: `${origin}/?logout=1`,
    backchannelUri: null,
    logoutUrl: `${origin}/?logout=1`,
    // The portal uses the refresh token only once the access token has expired.
    refreshUrl: null,
  }),
  start: async (origin, settings) => runPortal(origin, await configure(settings)),
};
