import { createLocalJWKSet, jwtVerify, UnsecuredJWT } from 'jose';
import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import {
  CALLBACK,
  claimsOf,
  createRelyingParty,
  type RelyingParty,
  registerApp,
  type Visitor,
  visitorOf,
} from '../../support/openid.ts';
import { suiteWith } from '../../support/suite.ts';
import { ADA, DEMO_PASSWORD, ROOT, startTestApp, type TestApp } from '../../support/test-app.ts';
import { CHURN } from '../../support/usage.ts';

type Context = { app: TestApp; sales: RelyingParty; ada: Visitor };

/**
 * The cases of the OpenID Foundation's plan `oidcc-basic-certification-test-plan` for an app that is registered by hand, by their names.
 * The plan sends a code challenge in its last case only. Here, each request has one, because Steward demands it.
 */
/** The id of Ada in the demo data. */
const SUBJECT = '5';

const plan = suiteWith(
  'the certification plan "Basic" of OpenID Connect',
  async (started): Promise<Context> => {
    const app = await startTestApp();
    started.defer(app.close);
    return { app, sales: await registerApp(app), ada: await visitorOf(app) };
  },
);

type Params = Record<string, string | undefined>;

/** Where an authorization leads the browser. */
const destinationOf = async ({ sales, ada }: Omit<Context, 'app'>, params: Params): Promise<URL> => {
  const { location = '', body } = await ada.get(sales.authorizationPath(params));
  const url = URL.parse(location, 'http://localhost:8000');
  if (location === '' || !url) throw new Error(body);
  return url;
};

const userInfoOf = async ({ sales, ada }: Omit<Context, 'app'>, params: Params) => {
  const tokens = await sales.logIn(ada, params);
  const { status, json } = await sales.userInfo(tokens.access_token);
  assert.is(status, 200);
  assert.is(json.sub, claimsOf(tokens.id_token).sub);
  return json;
};

const AFTER_TWO_SECONDS = 2000;

/** Follows an authorization to the login page, and logs in there. Returns the tokens that the app gets in the end. */
const logInAgain = async ({ sales, ada }: Omit<Context, 'app'>, params: Params) => {
  const page = await destinationOf({ sales, ada }, params);
  assert.is(page.pathname, '/login/');
  await ada.get(page.pathname + page.search);
  const { location = '' } = await ada.submit('/login/', { username: ADA, password: DEMO_PASSWORD });
  const { searchParams } = new URL((await ada.get(location)).location ?? '');
  return (await sales.exchange(searchParams.get('code') ?? '')).json;
};

plan('oidcc-server: the code flow ends with a signed ID token for the app', async ({ app, sales, ada }) => {
  const answer = await destinationOf({ sales, ada }, { scope: 'openid' });
  const { status, headers, json } = await sales.exchange(answer.searchParams.get('code') ?? '');
  const keys = createLocalJWKSet((await app.server.inject('/oidc/jwks')).json());
  const issuer = app.config.baseUrl;
  const { payload, protectedHeader } = await jwtVerify(json.id_token, keys, { issuer, audience: sales.id });

  assert.is(answer.origin + answer.pathname, CALLBACK);
  assert.is(answer.searchParams.get('state'), 'the state');
  assert.is(answer.searchParams.get('iss'), issuer);
  assert.equal([status, json.token_type, headers['cache-control']], [200, 'Bearer', 'no-store']);
  assert.is(payload.nonce, 'the nonce');
  assert.equal(Object.keys(payload).sort(), ['amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sub']);
  assert.is(protectedHeader.alg, 'RS256');
  assert.ok(protectedHeader.kid);
});

plan('oidcc-response-type-missing: the app hears of the invalid request', async ({ sales, ada }) => {
  const { searchParams } = await destinationOf({ sales, ada }, { response_type: undefined });

  assert.is(searchParams.get('error'), 'invalid_request');
  assert.is(searchParams.get('state'), 'the state');
});

plan('oidcc-userinfo-get: userinfo takes the access token in a header', async ({ sales, ada }) => {
  const { sub } = await userInfoOf({ sales, ada }, { scope: 'openid' });

  assert.is(sub, SUBJECT);
});

plan('oidcc-userinfo-post-header: userinfo takes a POST with a header', async ({ app, sales, ada }) => {
  const { access_token: token } = await sales.logIn(ada);
  const headers = { authorization: `Bearer ${token}` };
  const response = await app.server.inject({ method: 'POST', url: '/oidc/userinfo', headers });

  assert.equal([response.statusCode, response.json().sub], [200, SUBJECT]);
});

plan('oidcc-userinfo-post-body: userinfo takes the access token in a form', async ({ app, sales, ada }) => {
  const { access_token } = await sales.logIn(ada);
  const response = await app.server.inject({
    method: 'POST',
    url: '/oidc/userinfo',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ access_token }).toString(),
  });

  assert.equal([response.statusCode, response.json().sub], [200, SUBJECT]);
});

plan(
  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow: the ID token then has no nonce',
  async ({ sales, ada }) => {
    const tokens = await sales.logIn(ada, { nonce: undefined });

    assert.not.ok('nonce' in claimsOf(tokens.id_token));
  },
);

plan('oidcc-scope-profile: the scope gives the names', async ({ sales, ada }) => {
  const { name, given_name, family_name, email } = await userInfoOf(
    { sales, ada },
    { scope: 'openid profile' },
  );

  assert.equal([name, given_name, family_name, email], ['Ada Lovelace', 'Ada', 'Lovelace', undefined]);
});

plan('oidcc-scope-email: the scope gives the address', async ({ sales, ada }) => {
  const { email, email_verified, name } = await userInfoOf({ sales, ada }, { scope: 'openid email' });

  assert.equal([email, email_verified, name], [ADA, true, undefined]);
});

for (const scope of ['address', 'phone'])
  plan(
    `oidcc-scope-${scope}: the scope is not supported, and changes nothing`,
    async ({ app, sales, ada }) => {
      const { scopes_supported } = (await app.server.inject('/.well-known/openid-configuration')).json();
      const info = await userInfoOf({ sales, ada }, { scope: `openid ${scope}` });

      assert.not.ok(scopes_supported.includes(scope));
      assert.equal(Object.keys(info).sort(), ['amr', 'auth_time', 'sub']);
    },
  );

plan('oidcc-scope-all: unknown scopes do not keep the known ones from working', async ({ sales, ada }) => {
  const tokens = await sales.logIn(ada, { scope: 'openid profile email address phone' });
  const { json } = await sales.userInfo(tokens.access_token);

  assert.is(tokens.scope, 'openid profile email');
  assert.equal([json.name, json.email], ['Ada Lovelace', ADA]);
});

plan(
  'oidcc-ensure-other-scope-order-succeeds: openid need not be the first scope',
  async ({ sales, ada }) => {
    const { email } = await userInfoOf({ sales, ada }, { scope: 'email openid' });

    assert.is(email, ADA);
  },
);

/** Parameters that may not keep a request from its success. */
const HARMLESS: [name: string, params: Params][] = [
  ['oidcc-display-page', { display: 'page' }],
  ['oidcc-display-popup', { display: 'popup' }],
  ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
  ['oidcc-ui-locales', { ui_locales: 'de fr' }],
  ['oidcc-claims-locales', { claims_locales: 'de' }],
  ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
  ['oidcc-claims-essential', { claims: '{"userinfo":{"name":{"essential":true}}}' }],
];

for (const [name, params] of HARMLESS)
  plan(`${name}: the request succeeds`, async ({ sales, ada }) => {
    const { sub } = await userInfoOf({ sales, ada }, { scope: 'openid', ...params });

    assert.is(sub, SUBJECT);
  });

plan('oidcc-prompt-login: the person logs in again', async ({ app, sales }) => {
  const ada = await visitorOf(app);
  const first = claimsOf((await sales.logIn(ada)).id_token);
  app.clock.advance(AFTER_TWO_SECONDS);
  const second = claimsOf((await logInAgain({ sales, ada }, { prompt: 'login' })).id_token);

  assert.is(second.sub, first.sub);
  assert.is(Number(second.auth_time) - Number(first.auth_time), AFTER_TWO_SECONDS / 1000);
});

plan('oidcc-prompt-none-not-logged-in: the app hears that a login is required', async ({ app, sales }) => {
  const { searchParams } = await destinationOf({ sales, ada: createVisitor(app) }, { prompt: 'none' });

  assert.is(searchParams.get('error'), 'login_required');
  assert.is(searchParams.get('state'), 'the state');
});

plan('oidcc-prompt-none-logged-in: the session answers without a page', async ({ sales, ada }) => {
  const first = claimsOf((await sales.logIn(ada)).id_token);
  const second = claimsOf((await sales.logIn(ada, { prompt: 'none' })).id_token);

  assert.equal([second.sub, second.auth_time], [first.sub, first.auth_time]);
});

plan('oidcc-max-age-1: the person logs in again after two seconds', async ({ app, sales }) => {
  const ada = await visitorOf(app);
  const first = claimsOf((await sales.logIn(ada)).id_token);
  app.clock.advance(AFTER_TWO_SECONDS);
  const second = claimsOf((await logInAgain({ sales, ada }, { max_age: '1' })).id_token);

  assert.is(Number(second.auth_time) - Number(first.auth_time), AFTER_TWO_SECONDS / 1000);
});

plan('oidcc-max-age-10000: a recent login is enough', async ({ sales, ada }) => {
  const first = claimsOf((await sales.logIn(ada)).id_token);
  const second = claimsOf((await sales.logIn(ada, { max_age: '10000' })).id_token);

  assert.type(first.auth_time, 'number');
  assert.equal([second.sub, second.auth_time], [first.sub, first.auth_time]);
});

plan('oidcc-id-token-hint: the hint names the person of the session', async ({ sales, ada }) => {
  const { id_token } = await sales.logIn(ada);
  const second = await sales.logIn(ada, { prompt: 'none', id_token_hint: id_token });

  assert.is(claimsOf(second.id_token).sub, claimsOf(id_token).sub);
});

plan('oidcc-login-hint: the hint does not keep a person from the login', async ({ app, sales }) => {
  const ada = createVisitor(app);
  const tokens = await logInAgain({ sales, ada }, { login_hint: 'buffy@localhost' });

  assert.is(claimsOf(tokens.id_token).sub, SUBJECT);
});

plan('oidcc-codereuse: a code works once', async ({ sales, ada }) => {
  const { searchParams } = await destinationOf({ sales, ada }, {});
  const code = searchParams.get('code') ?? '';
  await sales.exchange(code);
  const { status, json } = await sales.exchange(code);

  assert.equal([status, json.error], [400, 'invalid_grant']);
});

plan(
  'oidcc-codereuse-30seconds: a code that is sent again later revokes the access token',
  async ({ app, sales, ada }) => {
    const { searchParams } = await destinationOf({ sales, ada }, {});
    const code = searchParams.get('code') ?? '';
    const { access_token: token } = (await sales.exchange(code)).json;
    app.clock.advance(30_000);
    const before = await sales.userInfo(token);
    const { status, json } = await sales.exchange(code);
    const after = await sales.userInfo(token);

    assert.is(before.status, 200);
    assert.equal([status, json.error], [400, 'invalid_grant']);
    assert.is(after.status, 401);
  },
);

plan(
  'oidcc-ensure-registered-redirect-uri: an unknown address gets nothing, and the person a page',
  async ({ sales, ada }) => {
    const page = await ada.get(sales.authorizationPath({ redirect_uri: `${CALLBACK}/other` }));

    assert.equal([page.status, page.location], [400, undefined]);
    assert.match(page.text, 'redirect_uri');
  },
);

plan('oidcc-ensure-post-request-succeeds: a form can ask for a login', async ({ sales, ada }) => {
  const [path = '', query] = sales.authorizationPath().split('?');
  const { location: own = '' } = await ada.post(path, Object.fromEntries(new URLSearchParams(query)));
  const { location = '' } = await ada.get(own);

  assert.ok(new URL(location).searchParams.has('code'), location);
});

plan('oidcc-server-client-secret-post: the secret can be in the form', async ({ app, sales, ada }) => {
  const { searchParams } = await destinationOf({ sales, ada }, {});
  const { statusCode, body } = await app.server.inject({
    method: 'POST',
    url: '/oidc/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({
      grant_type: 'authorization_code',
      code: searchParams.get('code') ?? '',
      redirect_uri: CALLBACK,
      code_verifier: sales.verifier,
      client_id: sales.id,
      client_secret: sales.secret,
    }).toString(),
  });

  assert.is(statusCode, 200, body);
});

const requestObjectOf = ({ id }: RelyingParty, claims: Params = {}): string =>
  new UnsecuredJWT({
    client_id: id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    ...claims,
  }).encode();

plan(
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported: it is rejected as unsupported',
  async ({ sales, ada }) => {
    const { searchParams } = await destinationOf({ sales, ada }, { request: requestObjectOf(sales) });

    assert.is(searchParams.get('error'), 'request_not_supported');
  },
);

plan(
  'oidcc-ensure-request-object-with-redirect-uri: an unknown address beside the object gets nothing',
  async ({ sales, ada }) => {
    const params = { request: requestObjectOf(sales), redirect_uri: `${CALLBACK}/other` };
    const page = await ada.get(sales.authorizationPath(params));

    assert.equal([page.status, page.location], [400, undefined]);
  },
);

plan(
  'oidcc-refresh-token: it works for its app alone, and keeps to the person and the login',
  async ({ app, sales, ada }) => {
    await app.as(ROOT).openid.update({ app_id: CHURN, redirect_uris: [CALLBACK] });
    const { secret } = await app.as(ROOT).openid.addSecret({ app_id: CHURN });
    const churn = createRelyingParty(app, CHURN, secret);
    const tokens = await sales.logIn(ada, { scope: 'openid offline_access', prompt: 'consent' });
    const first = claimsOf(tokens.id_token);
    const foreign = await churn.refresh(tokens.refresh_token ?? '');
    const { json } = await sales.refresh(tokens.refresh_token ?? '');
    const second = claimsOf(json.id_token);

    assert.equal([foreign.status, foreign.json.error], [400, 'invalid_grant']);
    for (const claim of ['iss', 'sub', 'aud', 'auth_time']) assert.equal(second[claim], first[claim]);
    assert.is((await sales.userInfo(json.access_token)).status, 200);
  },
);

plan(
  'oidcc-ensure-request-with-valid-pkce-succeeds: the code needs the verifier of its challenge',
  async ({ sales, ada }) => {
    const stolen = (await destinationOf({ sales, ada }, {})).searchParams.get('code') ?? '';
    const wrong = await sales.exchange(stolen, { code_verifier: 'x'.repeat(43) });
    const right = await sales.exchange(stolen);

    assert.equal([wrong.status, wrong.json.error], [400, 'invalid_grant']);
    assert.is(right.status, 200);
  },
);

plan.run();
