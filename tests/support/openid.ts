import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { userId } from './access-views.ts';
import { createVisitor } from './http-clients.ts';
import { enterPassword } from './logins.ts';
import { addRows } from './rows.ts';
import { ADA, ROOT, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

export const CALLBACK = 'https://sales.acme.test/oauth/callback';
export const AFTER_LOGOUT = 'https://sales.acme.test/bye';
export const BACKCHANNEL = 'https://sales.acme.test/backchannel';

type Settings = Partial<Parameters<ReturnType<TestApp['as']>['openid']['update']>[0]>;

/** The app Sales as a relying party. */
export const registerApp = async (app: TestApp, settings: Settings = {}) => {
  const caller = app.as(ROOT);
  const { client_id: id, is_public: isPublic } = await caller.openid.update({
    app_id: SALES,
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [AFTER_LOGOUT],
    ...settings,
  });
  const secret = isPublic ? '' : (await caller.openid.addSecret({ app_id: id })).secret;
  return createRelyingParty(app, id, secret);
};

export type RelyingParty = ReturnType<typeof createRelyingParty>;

type Tokens = {
  access_token: string;
  refresh_token?: string;
  id_token: string;
  expires_in: number;
  scope: string;
  error?: string;
};

/** An app that logs people in, in the process of the service. */
export const createRelyingParty = (app: TestApp, id: string, secret: string) => {
  const verifier = randomBytes(32).toString('base64url');
  const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

  const post = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const response = await app.server.inject({
      method: 'POST',
      url: path,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(secret !== '' && { authorization: basic }),
        ...headers,
      },
      payload: new URLSearchParams({ ...fields, ...(secret === '' && { client_id: id }) }).toString(),
    });
    return { status: response.statusCode, headers: response.headers, json: response.body && response.json() };
  };

  const authorizationPath = (params: Record<string, string | undefined> = {}): string => {
    const all: Record<string, string | undefined> = {
      client_id: id,
      redirect_uri: CALLBACK,
      response_type: 'code',
      scope: 'openid profile email groups data_permissions offline_access',
      state: 'the state',
      nonce: 'the nonce',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...params,
    };
    const defined = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return `/oidc/authorize?${new URLSearchParams(defined)}`;
  };

  const exchange = (code: string, fields: Record<string, string> = {}) =>
    post('/oidc/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
      ...fields,
    });

  return {
    id,
    secret,
    verifier,
    post,
    authorizationPath,
    exchange,
    refresh: (token: string, fields: Record<string, string> = {}) =>
      post('/oidc/token', { grant_type: 'refresh_token', refresh_token: token, ...fields }),
    introspect: async (token: string) => (await post('/oidc/introspect', { token })).json,
    userInfo: async (accessToken: string) => {
      const authorization = `Bearer ${accessToken}`;
      const response = await app.server.inject({ url: '/oidc/userinfo', headers: { authorization } });
      return { status: response.statusCode, json: response.json() };
    },

    /** The tokens for the person of a browser that is logged in. */
    logIn: async (visitor: Visitor, params: Record<string, string | undefined> = {}): Promise<Tokens> => {
      const { location = '', body } = await visitor.get(authorizationPath(params));
      const code = URL.parse(location)?.searchParams.get('code');
      if (!code) throw new Error(`no code: ${location} ${body.slice(0, 500)}`);
      const { json } = await exchange(code);
      if (json.error) throw new Error(JSON.stringify(json));
      return json;
    },
  };
};

export type Visitor = ReturnType<typeof createVisitor>;

/** A browser in which a person of the demo data is logged in. */
export const visitorOf = async (app: TestApp, email = ADA): Promise<Visitor> => {
  const visitor = createVisitor(app);
  await enterPassword(visitor, email);
  return visitor;
};

/** What an ID token says, without verifying it. */
export const claimsOf = (idToken: string): Record<string, unknown> => decodeJwt(idToken);

/** Logouts that wait to be sent to an app of Acme. */
export const addLogouts = async (
  app: TestApp,
  app_id: string,
  email: string,
  count: number,
): Promise<void> => {
  const now = app.clock.now();
  const user_id = await userId(app, email);
  const of = { app_id, client_id: 1, user_id, subject: 'x', sid: 'x', signing_algorithm: 'RS256' };
  const times = { started_at: now, check_at: now, ended_at: now, next_attempt_at: now };
  for (let n = 0; n < count; n += 1)
    await addRows(app, 'openid_logins', { ...of, ...times, backchannel_logout_uri: BACKCHANNEL });
};
