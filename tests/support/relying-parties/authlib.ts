import { join } from 'node:path';
import { makeScratchFolder } from '../files.ts';
import { runProxy } from '../proxies.ts';
import { type RelyingParty, SCOPES } from './relying-party.ts';

const APP = join(import.meta.dirname, '../../fixtures/relying-parties/authlib_app.py');
/** Debian's libraries belong to it. */
const PYTHON = '/usr/bin/python3';

/** A Flask app with Debian's Authlib. */
export const authlib: RelyingParty = {
  name: 'Authlib',
  sendsCodeChallenge: true,
  addressesAt: (origin) => ({
    url: `${origin}/`,
    redirectUri: `${origin}/callback`,
    postLogoutUri: `${origin}/logged-out`,
    backchannelUri: `${origin}/backchannel-logout`,
    logoutUrl: `${origin}/logout`,
    refreshUrl: `${origin}/refresh`,
  }),
  start: async (origin, { issuer, clientId, clientSecret }) => {
    const port = Number(new URL(origin).port);
    const settings = { port, issuer, client_id: clientId, client_secret: clientSecret, scope: SCOPES };
    const folder = await makeScratchFolder();
    return runProxy([PYTHON, APP, JSON.stringify(settings)], { name: 'the app with Authlib', port, folder });
  },
};
