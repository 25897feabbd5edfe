import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../../src/lib/clock.ts';
import { createLogoutQueue } from '../../../src/services/openid/logout-queue.ts';
import { userId } from '../../support/access-views.ts';
import { createVisitor } from '../../support/http-clients.ts';
import { enterPassword, givePassword } from '../../support/logins.ts';
import { openedLook } from '../../support/looks.ts';
import { addLogouts, CALLBACK, claimsOf, registerApp, visitorOf } from '../../support/openid.ts';
import { rowsOf, setRows } from '../../support/rows.ts';
import { ACME, appSuite, ROOT } from '../../support/test-app.ts';
import { CHURN, SALES } from '../../support/usage.ts';

const people = appSuite('a person by OpenID Connect');

people('has a name that is never given to another one, even after an erasure', async ({ app }) => {
  const sales = await registerApp(app);
  const subOf = async (email: string) => {
    await app.as(ROOT).users.create({ email, client: 1 });
    await app.as(ROOT).users.update({ email, apps: [SALES] });
    await givePassword(app, email);
    return claimsOf((await sales.logIn(await visitorOf(app, email))).id_token).sub;
  };
  const before = await subOf('zoe@acme.test');
  const { confirmation } = await app.as(ROOT).users.previewErasure({ email: 'zoe@acme.test' });
  await app.as(ROOT).users.erase({ email: 'zoe@acme.test', confirmation, confirm_email: 'zoe@acme.test' });

  assert.is.not(await subOf('zoe@other.test'), before);
});

people(
  'who looks as someone is named to those who introspect, but without what the app may not know',
  async ({ app }) => {
    await setRows(app, 'apps', { id: SALES }, { view_as: true, launch_url: 'https://sales.acme.test/' });
    const sales = await registerApp(app, { claims: [], is_pairwise: true });
    const { browser } = await openedLook(app);
    const { headers } = await browser.send(`GET !${sales.authorizationPath()}`);
    const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
    const { json: tokens } = await sales.exchange(code);

    const { act, read_only } = await sales.introspect(tokens.access_token);
    const refresh = await sales.introspect(tokens.refresh_token);
    const stated = claimsOf(tokens.id_token).act as Record<string, unknown>;

    assert.is(read_only, true);
    assert.equal(act, stated);
    assert.equal(Object.keys(stated), ['sub']);
    assert.is.not(stated.sub, String(await userId(app, ACME)));
    assert.equal(refresh, { active: false }, 'only access tokens say anything');
  },
);

people('of another client states only what they have agreed to', async ({ app }) => {
  const sales = await registerApp(app, { claims: ['name'] });
  const visitor = await visitorOf(app, ROOT);
  await visitor.get(sales.authorizationPath());
  await app.as(ACME).openid.update({ app_id: SALES, redirect_uris: [CALLBACK], claims: ['name', 'email'] });
  await visitor.submit('/oidc/consent/');

  const again = await visitor.get(sales.authorizationPath());
  assert.match(again.text, 'It gets your email address and your name.');
  await visitor.submit('/oidc/consent/');
  const tokens = await sales.logIn(visitor);
  await app.as(ACME).openid.update({ app_id: SALES, redirect_uris: [CALLBACK] });
  const { json: information } = await sales.userInfo(tokens.access_token);

  assert.is(information.email, ROOT);
  assert.is(information.roles, undefined);
});

people('reads that the app gets their name if it gets a part of it', async ({ app }) => {
  const sales = await registerApp(app, { claims: ['given_name'] });
  const visitor = await visitorOf(app, ROOT);

  const { text } = await visitor.get(sales.authorizationPath());

  assert.match(text, 'It gets your name.');
});

people('cannot agree in a session that is confined to a client', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = createVisitor(app);
  await enterPassword(visitor, ROOT);
  await visitor.get(sales.authorizationPath());
  const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
  const { id } = await app.as(ACME).sso.create({ id: 1, ...provider });
  await setRows(app, 'sessions', { user_id: await userId(app, ROOT) }, { connection_id: id });
  const before = await rowsOf(app, 'openid_consents', {});

  const { status } = await visitor.submit('/oidc/consent/');

  assert.is(status, 403);
  assert.equal(await rowsOf(app, 'openid_consents', {}), before);
});

people.run();

const requests = appSuite('a wrong request for OpenID Connect');

requests('is refused without a redirect, for each media type that the caller accepts', async ({ app }) => {
  await registerApp(app);
  const evil = encodeURIComponent('https://evil.test/x');
  const wrong = [
    `/oidc/logout?client_id=${SALES}&post_logout_redirect_uri=${evil}`,
    `/oidc/logout?client_id=${CHURN}&post_logout_redirect_uri=${evil}`,
    `/oidc/logout?id_token_hint=x&post_logout_redirect_uri=${evil}`,
    `/oidc/authorize?client_id=${SALES}&redirect_uri=${evil}&response_type=code&scope=openid`,
  ];

  for (const url of wrong)
    for (const accept of ['*/*', 'text/html', 'application/json']) {
      const { statusCode, headers } = await app.server.inject({ url, headers: { accept } });
      assert.equal([statusCode, headers.location], [400, undefined], `${url} ${accept}`);
    }
});

requests('gets an answer also for text that PostgreSQL cannot read', async ({ app }) => {
  const sales = await registerApp(app);
  const nul = '%00';
  const posted = { client_id: '\0', token: '\0', code: '\0', refresh_token: '\0' };

  const { statusCode } = await app.server.inject(
    `/oidc/authorize?client_id=${nul}&scope=${nul}&state=${nul}`,
  );
  const logout = await app.server.inject(`/oidc/logout?client_id=${nul}`);
  const statuses = await Promise.all(
    ['/oidc/token', '/oidc/introspect', '/oidc/revoke'].map(
      async (path) =>
        (await sales.post(path, { grant_type: 'refresh_token', ...posted }, { authorization: '' })).status,
    ),
  );
  const own = await sales.refresh('\0');

  assert.equal([statusCode, logout.statusCode, ...statuses], [400, 400, 400, 400, 400]);
  assert.is(own.json.error, 'invalid_grant');
});

requests('as a form continues without bytes that a header cannot have', async ({ app }) => {
  await registerApp(app);

  const { statusCode, headers } = await app.server.inject({
    method: 'POST',
    url: '/oidc/authorize',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'http://other.localhost',
      cookie: `steward_session=${'x'.repeat(43)}`,
    },
    payload: 'client_id=a\r\nb&state=ä#x',
  });

  assert.is(statusCode, 303);
  assert.is(headers.location, '/oidc/authorize?client_id=a%0D%0Ab&state=%C3%A4%23x');
});

requests('that is too long to be continued after a login gets an error', async ({ app }) => {
  const sales = await registerApp(app);

  const { statusCode, headers } = await app.server.inject(
    sales.authorizationPath({ state: 'x'.repeat(4_000) }),
  );

  assert.is(statusCode, 303);
  assert.match(
    String(headers.location),
    /^https:\/\/sales\.acme\.test\/oauth\/callback\?error=invalid_request/,
  );
});

requests.run();

const answers = appSuite('an answer of OpenID Connect as a form');

answers('may run the script that sends it, and nothing else', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);

  const { status, headers, body } = await visitor.get(
    sales.authorizationPath({ response_mode: 'form_post' }),
  );

  assert.is(status, 200);
  assert.match(body, `action="${CALLBACK}"`);
  assert.match(String(headers['content-security-policy']), /script-src 'report-sample' 'sha256-[\w+/]+=*'/);
  assert.match(String(headers['content-security-policy']), "default-src 'none'");
});

answers.run();

const logins = appSuite('a login by OpenID Connect');

logins('does not come back when the settings of the app do', async ({ app }) => {
  const sales = await registerApp(app);
  const { refresh_token: token = '' } = await sales.logIn(await visitorOf(app));

  await app.as(ACME).openid.remove({ app_id: SALES });
  const renewed = await registerApp(app);

  assert.is((await renewed.refresh(token)).json.error, 'invalid_grant');
});

logins('ends when the app begins to know people by other names', async ({ app }) => {
  const sales = await registerApp(app);
  const { refresh_token: token = '' } = await sales.logIn(await visitorOf(app));

  await app.as(ACME).openid.update({ app_id: SALES, redirect_uris: [CALLBACK], is_pairwise: true });

  assert.is((await sales.refresh(token)).json.error, 'invalid_grant');
});

logins('keeps used refresh tokens for an hour', async ({ app }) => {
  const sales = await registerApp(app);
  const first = await sales.logIn(await visitorOf(app));
  await sales.refresh(first.refresh_token ?? '');

  const [used] = (await rowsOf(app, 'openid_tokens', { kind: 'RefreshToken' })).filter(
    ({ consumed_at: at }) => at?.getTime() === app.clock.now().getTime(),
  );

  assert.is(used?.expires_at.getTime(), app.clock.now().getTime() + HOUR_MS);
});

logins.run();

const logouts = appSuite('logouts that are sent to apps');

logouts('are sent in turns, so that an app that does not answer holds up no other', async ({ app }) => {
  await addLogouts(app, SALES, ROOT, 20);
  await addLogouts(app, CHURN, ROOT, 1);
  const queue = createLogoutQueue({ em: app.orm.em, clock: app.clock });

  const first = await queue.claim(100);
  await addLogouts(app, CHURN, ROOT, 1);
  const second = await queue.claim(100);

  const appsOf = ({ claimed }: typeof first) => claimed.map(({ app_id: id }) => id).toSorted();
  assert.equal(appsOf(first), [CHURN, SALES, SALES].toSorted());
  assert.equal(appsOf(second), [CHURN]);
});

logouts('show an admin no address of a person who does not belong to the client', async ({ app }) => {
  await addLogouts(app, SALES, ROOT, 1);
  const [logout] = await app.as(ACME).openid.logouts({ app_id: SALES });

  assert.equal([logout?.email, logout?.subject], [null, 'x']);
});

logouts.run();
