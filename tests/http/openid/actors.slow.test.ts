import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../../src/lib/clock.ts';
import { userId } from '../../support/access-views.ts';
import { openedLook } from '../../support/looks.ts';
import { CALLBACK, claimsOf, createRelyingParty, registerApp, visitorOf } from '../../support/openid.ts';
import { setRows } from '../../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

const FLEET = 'Hb7cW2ke';

/** The app of another client. */
const registerFleet = async (app: TestApp) => {
  await app.as(ROOT).openid.update({ app_id: FLEET, redirect_uris: [CALLBACK] });
  const { secret } = await app.as(ROOT).openid.addSecret({ app_id: FLEET });
  return createRelyingParty(app, FLEET, secret);
};

/** Makes the sessions of a person sessions of the provider of Acme. */
const confine = async (app: TestApp, email: string): Promise<void> => {
  const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
  const { id } = await app.as(ACME).sso.create({ id: 1, ...provider });
  await setRows(app, 'sessions', { user_id: await userId(app, email) }, { connection_id: id });
};

type Case = {
  email?: string;
  /** Of another client, to which the person belongs too. */
  isFleet?: boolean;
  happen: (app: TestApp) => Promise<unknown>;
  /** Whether a session may open the app before. */
  isOpenBefore?: boolean;
  /** Status of a request for authorization, of a refresh and of UserInfo afterwards. */
  expected: [authorize: number, refresh: number, userInfo: number];
};

const OPEN = [303, 200, 200] as const;
const CLOSED = [403, 400, 401] as const;

const CASES: Record<string, Case> = {
  'a session that is confined to the client of the app': {
    email: GRACE,
    happen: (app) => confine(app, GRACE),
    expected: [...OPEN],
  },
  'a session that is confined to another client': {
    email: GRACE,
    isFleet: true,
    happen: (app) => confine(app, GRACE),
    expected: [...CLOSED],
  },
  'a confined session of a superuser, at an app of another client': {
    email: ROOT,
    isFleet: true,
    happen: (app) => confine(app, ROOT),
    expected: [...CLOSED],
  },
  'a password session in a client that requires its provider': {
    happen: async (app) => {
      const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
      const { id } = await app.as(ACME).sso.create({ id: 1, ...provider });
      await setRows(app, 'sso_connections', { id }, { is_active: true, is_required: true });
    },
    expected: [...CLOSED],
  },
  'a suspended member': {
    happen: (app) => app.as(ACME).memberships.update({ id: 1, email: ADA, is_active: false }),
    expected: [...CLOSED],
  },
  'a person whose grant has expired': {
    happen: async (app) => {
      const expires_at = new Date(app.clock.now().getTime() + HOUR_MS);
      await app.as(ACME).grants.update({ app_id: SALES, email: ADA, expires_at });
      app.clock.advance(HOUR_MS);
    },
    expected: [...CLOSED],
  },
  'a deactivated account': {
    happen: (app) => app.as(ROOT).users.update({ email: ADA, is_active: false }),
    expected: [303, 400, 401],
  },
};

for (const [actor, { email = ADA, isFleet = false, happen, expected }] of Object.entries(CASES)) {
  const suite = appSuite(`OpenID Connect for ${actor}`);

  suite(`answers ${expected.join(', ')} to authorize, refresh and UserInfo`, async ({ app }) => {
    await app.as(ROOT).users.update({ email: GRACE, apps: [SALES, FLEET] });
    const party = isFleet ? await registerFleet(app) : await registerApp(app);
    const visitor = await visitorOf(app, email);
    if (email === ROOT) {
      await visitor.get(party.authorizationPath());
      await visitor.submit('/oidc/consent/');
    }
    const tokens = await party.logIn(visitor);

    await happen(app);
    const authorized = await visitor.get(party.authorizationPath());
    const information = await party.userInfo(tokens.access_token);
    const refreshed = await party.refresh(tokens.refresh_token ?? '');

    assert.equal([authorized.status, refreshed.status, information.status], expected);
    const hasCode = /[?&]code=/.test(authorized.location ?? '');
    assert.is(hasCode, refreshed.status === 200, authorized.location);
  });

  suite.run();
}

const others = appSuite('OpenID Connect');

others('gives a stranger no code, with any parameters', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app, EDSGER);

  for (const params of [{}, { prompt: 'consent' }, { scope: 'openid' }, { max_age: '1000' }]) {
    const { status, location } = await visitor.get(sales.authorizationPath(params));
    assert.equal([status, location], [403, undefined]);
  }
  const { location = '' } = await visitor.get(sales.authorizationPath({ prompt: 'none' }));
  assert.match(location, /^https:\/\/sales\.acme\.test\/oauth\/callback\?error=access_denied/);
});

others('ignores API tokens: only a browser session asks for authorization', async ({ app }) => {
  const sales = await registerApp(app);
  const headers = { authorization: `Token ${await app.tokenOf(ADA)}` };

  const { statusCode, headers: answer } = await app.server.inject({
    url: sales.authorizationPath(),
    headers,
  });

  assert.is(statusCode, 303);
  assert.match(String(answer.location), /^\/login\//);
});

others('names the actor in every token while someone looks at the app as a person', async ({ app }) => {
  await setRows(app, 'apps', { id: SALES }, { view_as: true, launch_url: 'https://sales.acme.test/' });
  const sales = await registerApp(app);
  const { browser } = await openedLook(app);
  const { headers } = await browser.send(`GET !${sales.authorizationPath()}`);
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';

  const { json: tokens } = await sales.exchange(code);
  const { json: refreshed } = await sales.refresh(tokens.refresh_token);
  const { json: information } = await sales.userInfo(refreshed.access_token);

  for (const claims of [claimsOf(tokens.id_token), claimsOf(refreshed.id_token), information])
    assert.equal(
      [claims.email, claims.act, claims.read_only],
      [GRACE, { sub: String(await userId(app, ACME)), email: ACME }, true],
    );
  const secondsLeft = 10 * 60;
  assert.ok(refreshed.expires_in <= secondsLeft);
});

others.run();
