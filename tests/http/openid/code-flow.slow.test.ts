import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { userId } from '../../support/access-views.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { enterPassword } from '../../support/logins.ts';
import { AFTER_LOGOUT, CALLBACK, claimsOf, registerApp, visitorOf } from '../../support/openid.ts';
import { ADA, appSuite, EDSGER, ROOT } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

const flow = appSuite('a login to an app by OpenID Connect');

flow('states who the person is in the ID token, and again at the UserInfo endpoint', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);

  const tokens = await sales.logIn(visitor);
  const { iss, aud, nonce, exp, iat, ...claims } = claimsOf(tokens.id_token);
  const { json: info } = await sales.userInfo(tokens.access_token);

  assert.equal([iss, aud, nonce], ['http://localhost:8000', SALES, 'the nonce']);
  assert.is(Number(exp) - Number(iat), app.config.ticketSeconds);
  assert.is(tokens.expires_in, app.config.ticketSeconds);
  assert.equal(info, claims);
  assert.equal(claims, {
    sub: String(await userId(app, ADA)),
    email: ADA,
    email_verified: true,
    name: 'Ada Lovelace',
    given_name: 'Ada',
    family_name: 'Lovelace',
    groups: [],
    roles: ['member'],
    app_roles: [],
    client: { id: 1, name: 'Acme Analytics' },
    amr: ['pwd'],
    auth_time: Math.floor(app.clock.now().getTime() / 1000),
  });
});

flow('states only what its scopes and the settings of the app allow', async ({ app }) => {
  const sales = await registerApp(app, { claims: ['email', 'name'] });
  const visitor = await visitorOf(app);

  const minimal = claimsOf((await sales.logIn(visitor, { scope: 'openid email' })).id_token);
  const all = claimsOf((await sales.logIn(visitor)).id_token);

  const always = ['sub', 'amr', 'auth_time', 'nonce', 'aud', 'exp', 'iat', 'iss'];
  assert.equal(Object.keys(minimal).toSorted(), [...always, 'email'].toSorted());
  assert.equal(Object.keys(all).toSorted(), [...always, 'email', 'name'].toSorted());
});

flow('states that an address is not verified until its mailbox was proved', async ({ app }) => {
  const sales = await registerApp(app);
  await app.db().updateTable('users').set({ is_email_verified: false }).where('email', '=', ADA).execute();

  const { id_token } = await sales.logIn(await visitorOf(app));

  assert.is(claimsOf(id_token).email_verified, false);
});

flow('can be signed with ES256, and name the person differently in each app', async ({ app }) => {
  const sales = await registerApp(app, { signing_algorithm: 'ES256', is_pairwise: true });

  const { id_token } = await sales.logIn(await visitorOf(app));

  const header = JSON.parse(Buffer.from(id_token.split('.')[0] ?? '', 'base64url').toString());
  const { keys } = (await app.server.inject('/oidc/jwks')).json();
  assert.is(header.alg, 'ES256');
  assert.ok(keys.some(({ kid, d }: { kid: string; d?: string }) => kid === header.kid && d === undefined));
  assert.match(String(claimsOf(id_token).sub), /^[\w-]{43}$/);
});

flow('sends a person who is not logged in to the login page, and back to the app', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = createVisitor(app);

  const { location = '' } = await visitor.get(sales.authorizationPath());
  await visitor.get(location);
  const page = await visitor.submit('/login/', { username: ADA, password: 'steward-demo-1' });
  const back = await visitor.get(page.location ?? '');

  assert.match(location, /^\/login\/\?next=%2Foidc%2Fauthorize%3F/);
  const url = new URL(back.location ?? '');
  assert.is(url.origin + url.pathname, CALLBACK);
  assert.is(url.searchParams.get('state'), 'the state');
  assert.is(url.searchParams.get('iss'), 'http://localhost:8000');
  assert.is((await sales.exchange(url.searchParams.get('code') ?? '')).status, 200);
});

flow('sets no cookie, and stores nothing before the person is logged in', async ({ app }) => {
  const sales = await registerApp(app);

  const countRows = async () => {
    const { count } = app.db().fn;
    const logins = app.db().selectFrom('openid_logins').select(count('id').as('count'));
    const tokens = app.db().selectFrom('openid_tokens').select(count('digest').as('count'));
    return [await logins.execute(), await tokens.execute()];
  };
  const before = await countRows();

  const response = await app.server.inject(sales.authorizationPath());

  assert.is(response.statusCode, 303);
  assert.is(response.headers['set-cookie'], undefined);
  assert.equal(await countRows(), before);
});

flow('needs a registered address, letter by letter, and PKCE', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);

  const other = await visitor.get(sales.authorizationPath({ redirect_uri: `${CALLBACK}/` }));
  const unknown = await visitor.get(sales.authorizationPath({ client_id: 'Qm3vR8pa' }));
  const plain = await visitor.get(sales.authorizationPath({ code_challenge_method: 'plain' }));
  const without = await visitor.get(
    sales.authorizationPath({ code_challenge: undefined, code_challenge_method: undefined }),
  );
  const implicit = await visitor.get(sales.authorizationPath({ response_type: 'id_token' }));

  assert.equal([other.status, other.location], [400, undefined]);
  assert.match(other.text, 'redirect_uri');
  assert.equal([unknown.status, unknown.location], [400, undefined]);
  for (const { location = '' } of [plain, without, implicit])
    assert.match(location, /^https:\/\/sales\.acme\.test\/oauth\/callback[?#].*error=/);
});

flow('needs no PKCE if the settings of a confidential app say so', async ({ app }) => {
  const without = { code_challenge: undefined, code_challenge_method: undefined };
  const visitor = await visitorOf(app);

  const old = await registerApp(app, { requires_pkce: false });
  const { location = '' } = await visitor.get(old.authorizationPath(without));
  const open = await registerApp(app, { requires_pkce: false, is_public: true });
  const refused = await visitor.get(open.authorizationPath(without));

  assert.match(location, /\?code=/);
  assert.match(refused.location ?? '', /error=invalid_request/);
});

flow('ends when a code is used twice, or a refresh token', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);
  const { location = '' } = await visitor.get(sales.authorizationPath());
  const code = new URL(location).searchParams.get('code') ?? '';

  const first = await sales.exchange(code);
  const second = await sales.exchange(code);

  assert.equal([second.status, second.json.error], [400, 'invalid_grant']);
  assert.is((await sales.userInfo(first.json.access_token)).status, 401);

  const { refresh_token: token = '' } = await sales.logIn(visitor);
  const renewed = await sales.refresh(token);
  assert.is.not(renewed.json.refresh_token, token);
  assert.is((await sales.refresh(token)).json.error, 'invalid_grant');
  assert.is((await sales.refresh(renewed.json.refresh_token)).json.error, 'invalid_grant');
});

flow('ends when two requests send the same refresh token at the same time', async ({ app }) => {
  const sales = await registerApp(app);
  const { refresh_token: token = '' } = await sales.logIn(await visitorOf(app));

  const answers = await Promise.all([sales.refresh(token), sales.refresh(token)]);

  const won = answers.filter(({ status }) => status === 200);
  assert.ok(won.length <= 1);
  for (const { json } of won) assert.is((await sales.refresh(json.refresh_token)).status, 400);
});

flow('refuses a code of another app, with another verifier, or after a minute', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);
  const newCode = async () =>
    new URL((await visitor.get(sales.authorizationPath())).location ?? '').searchParams.get('code') ?? '';

  const wrong = await sales.exchange(await newCode(), { code_verifier: 'x'.repeat(43) });
  const other = await sales.exchange(await newCode(), { redirect_uri: AFTER_LOGOUT });
  const late = await newCode();
  app.clock.advance(MINUTE_MS);
  const expired = await sales.exchange(late);

  for (const { status, json } of [wrong, other, expired])
    assert.equal([status, json.error], [400, 'invalid_grant']);
});

flow('takes two secrets for a day after a new one was made', async ({ app }) => {
  const sales = await registerApp(app);
  const { secret } = await app.as(ROOT).openid.addSecret({ app_id: SALES });
  const renewed = { ...sales, secret };
  const tokens = await sales.logIn(await visitorOf(app));

  const byPost = { client_id: SALES, client_secret: renewed.secret };
  const post = (fields: Record<string, string>) =>
    sales.post('/oidc/introspect', { token: tokens.access_token, ...fields }, { authorization: '' });

  assert.is((await sales.introspect(tokens.access_token)).active, true, 'the previous secret');
  assert.is((await post(byPost)).json.active, true, 'the new secret, as form fields');
  assert.is((await post({ ...byPost, client_secret: 'wrong' })).status, 401);
  app.clock.advance(DAY_MS);
  assert.is((await sales.refresh('x')).json.error, 'invalid_client', 'the previous secret has ended');
});

flow('works without a secret for a public app, also from a script of its site', async ({ app }) => {
  const sales = await registerApp(app, { is_public: true });
  const { access_token } = await sales.logIn(await visitorOf(app));

  const ask = (origin: string) =>
    app.server.inject({
      url: '/oidc/userinfo',
      headers: { origin, authorization: `Bearer ${access_token}` },
    });
  const own = await ask('https://sales.acme.test');
  const other = await ask('https://evil.test');

  assert.equal(
    [own.statusCode, own.headers['access-control-allow-origin']],
    [200, 'https://sales.acme.test'],
  );
  assert.equal([other.statusCode, other.headers['access-control-allow-origin']], [400, undefined]);
});

flow('may use any port of a loopback address if the app is native', async ({ app }) => {
  const sales = await registerApp(app, {
    is_public: true,
    redirect_uris: ['http://127.0.0.1/cb'],
    post_logout_redirect_uris: [],
  });
  const visitor = await visitorOf(app);

  const { location = '' } = await visitor.get(
    sales.authorizationPath({ redirect_uri: 'http://127.0.0.1:49152/cb' }),
  );
  const other = await visitor.get(sales.authorizationPath({ redirect_uri: 'http://127.0.0.1:49152/other' }));

  assert.match(location, /^http:\/\/127\.0\.0\.1:49152\/cb\?code=/);
  assert.is(other.status, 400);
});

flow('asks for a login again if the app wants one, or the login is too old', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);
  const before = await sales.logIn(visitor);
  app.clock.advance(MINUTE_MS);

  const asked = await visitor.get(sales.authorizationPath({ prompt: 'login' }));
  const tooOld = await visitor.get(sales.authorizationPath({ max_age: '59' }));
  const fresh = await visitor.get(sales.authorizationPath({ max_age: '60' }));
  assert.match(asked.location ?? '', /^\/login\/\?next=.*&again=1$/);
  assert.match(tooOld.location ?? '', /^\/login\/\?next=.*&again=1$/);
  assert.match(fresh.location ?? '', /^https:.*[?&]code=/);

  await visitor.get(asked.location ?? '');
  const page = await visitor.submit('/login/', { username: ADA, password: 'steward-demo-1' });
  const { location = '' } = await visitor.get(page.location ?? '');
  const { json } = await sales.exchange(new URL(location).searchParams.get('code') ?? '');

  assert.is(claimsOf(json.id_token).auth_time, Math.floor(app.clock.now().getTime() / 1000));
  assert.is((await sales.refresh(before.refresh_token ?? '')).status, 200, 'the first login goes on');
});

flow('answers prompt=none without a page', async ({ app }) => {
  const sales = await registerApp(app);
  const errorOf = async (visitor: ReturnType<typeof createVisitor>) =>
    new URL((await visitor.get(sales.authorizationPath({ prompt: 'none' }))).location ?? '').searchParams.get(
      'error',
    );

  assert.is(await errorOf(createVisitor(app)), 'login_required');
  assert.is(await errorOf(await visitorOf(app)), null);
  assert.is(await errorOf(await visitorOf(app, EDSGER)), 'access_denied');
  assert.is(await errorOf(await visitorOf(app, ROOT)), 'consent_required');
});

flow('asks a person of no client of the app whether it may know them, once', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = createVisitor(app);
  await enterPassword(visitor, ROOT);

  const page = await visitor.get(sales.authorizationPath());
  assert.match(
    page.text,
    'Sales belongs to Acme Analytics, of which you are not a member. It gets your email',
  );
  const agreed = await visitor.submit('/oidc/consent/');
  const { location = '' } = await visitor.get(agreed.location ?? '');
  const again = await visitor.get(sales.authorizationPath());

  assert.match(location, /^https:\/\/sales\.acme\.test\/oauth\/callback\?code=/);
  assert.match(again.location ?? '', /\?code=/);
});

flow('sends a person without access to a page that says why, and what to do', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app, 'admin@globex.test');
  const stranger = await visitor.get(sales.authorizationPath());
  assert.is(stranger.status, 403);
  assert.match(stranger.text, 'You may not open Sales');
  assert.match(stranger.text, 'Ask an admin of Acme Analytics for access.');
  assert.match(stranger.body, 'https://sales.acme.test/oauth/callback?error=access_denied');

  await app.as(ROOT).users.update({ email: ADA, apps: [] });
  await app.as(ROOT).apps.update({ app_id: SALES, is_requestable: true });
  const member = await visitorOf(app);
  const refused = await member.get(sales.authorizationPath());
  assert.match(refused.text, 'you may ask Acme Analytics for it');
  const asked = await member.submit('/launch/sales/ask/', { reason: 'Year-end closing' });

  assert.match(asked.text, 'You have asked for access');
  const [request] = await app.as(ROOT).requests.list({ status: 'pending' });
  assert.equal([request?.email, request?.reason], [ADA, 'Year-end closing']);
  assert.match((await member.get(sales.authorizationPath())).text, 'You have asked for Sales.');
});

flow('needs no launch code: the app logs the person in itself', async ({ app }) => {
  await app
    .db()
    .updateTable('apps')
    .set({ launch_url: 'https://sales.acme.test/start' })
    .where('id', '=', SALES)
    .execute();
  const visitor = await visitorOf(app, 'admin@acme.test');

  await app.as(ROOT).openid.remove({ app_id: SALES });
  const before = await visitor.get('/launch/sales/');
  await registerApp(app);
  const after = await visitor.get('/launch/sales/');

  assert.match(before.location ?? '', /\?code=/);
  assert.is(after.location, 'https://sales.acme.test/start');
});

flow.run();
