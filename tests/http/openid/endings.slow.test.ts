import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, jwtVerify } from 'jose';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { publishEvents } from '../../../src/services/events/event-rows.ts';
import { userId } from '../../support/access-views.ts';
import { openedLook, sessionOf } from '../../support/looks.ts';
import { claimsOf, type RelyingParty, registerApp, type Visitor, visitorOf } from '../../support/openid.ts';
import { freePort } from '../../support/tcp.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

/** An app that hears of logouts. */
const startReceiver = async (statusOf: () => number = () => 200) => {
  const tokens: string[] = [];
  const server = createServer(async (request, response) => {
    tokens.push(new URLSearchParams(await text(request)).get('logout_token') ?? '');
    response.writeHead(statusOf()).end();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}/backchannel`,
    tokens,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

type Tokens = Awaited<ReturnType<RelyingParty['logIn']>>;

/** What a login may still do. */
const stateOf = async (sales: RelyingParty, { access_token, refresh_token = '' }: Tokens) => ({
  userInfo: (await sales.userInfo(access_token)).status,
  introspection: (await sales.introspect(access_token)).active,
  refresh: (await sales.refresh(refresh_token)).status,
});

const LIVE = { userInfo: 200, introspection: true, refresh: 200 };
const ENDED = { userInfo: 401, introspection: false, refresh: 400 };

type Cause = {
  /** Who is logged in; Ada by default. */
  email?: string;
  prepare?: (app: TestApp) => Promise<unknown>;
  happen: (app: TestApp, visitor: Visitor) => Promise<unknown>;
  /** What the end leaves behind; by default, nothing works. */
  left?: Partial<typeof ENDED>;
};

/** The app has removed its settings: its own requests fail. */
const UNKNOWN_APP = { userInfo: 401, introspection: undefined as unknown as boolean, refresh: 401 };

const dropOwnGrant = (app: TestApp) => app.as(ROOT).grants.remove({ app_id: SALES, email: ADA });

const closeApp = (app: TestApp) => app.as(ROOT).apps.update({ app_id: SALES, in_maintenance: true });

const CAUSES: Record<string, Cause> = {
  'when the account is deactivated': {
    happen: (app) => app.as(ROOT).users.update({ email: ADA, is_active: false }),
  },
  'when the membership is suspended': {
    happen: (app) => app.as(ACME).memberships.update({ id: 1, email: ADA, is_active: false }),
  },
  'when the membership ends': { happen: (app) => app.as(ACME).memberships.remove({ id: 1, email: ADA }) },
  'when the grant is revoked': { happen: dropOwnGrant },
  'when the grant ends by the clock': {
    prepare: (app) => {
      const expires_at = new Date(app.clock.now().getTime() + HOUR_MS);
      return app.as(ACME).grants.update({ app_id: SALES, email: ADA, expires_at });
    },
    happen: async (app) => app.clock.advance(HOUR_MS),
  },
  'when the person leaves the group that gave the app': {
    prepare: async (app) => {
      await dropOwnGrant(app);
      await app.as(ACME).groups.create({ id: 1, name: 'Finance', members: [ADA], apps: [SALES] });
    },
    happen: async (app) => {
      const [group] = await app.as(ACME).groups.list({ id: 1 });
      await app.as(ACME).groups.update({ id: 1, group_id: group?.id ?? 0, members: [] });
    },
  },
  'when the client is closed': {
    happen: (app) => app.as(ROOT).clients.updateGate({ id: 1, is_open: false }),
  },
  'when the app is removed': {
    happen: async (app) => {
      await closeApp(app);
      await app.as(ROOT).apps.remove({ app_id: SALES, confirm_name: 'Sales' });
    },
    left: UNKNOWN_APP,
  },
  'when the settings of the app are removed': {
    happen: (app) => app.as(ACME).openid.remove({ app_id: SALES }),
    left: UNKNOWN_APP,
  },
  'when the role that opened the app ends': {
    email: ACME,
    prepare: (app) => app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true }),
    happen: (app) => app.as(ROOT).roles.setClientAdmin({ id: 1, email: ACME, is_admin: false }),
  },
  'when the client begins to demand a second factor': {
    happen: (app) =>
      app.as(ROOT).clients.updateFactorPolicy({ id: 1, factor_policy: 'required', factor_grace_days: 0 }),
  },
  'when the person logs out': { happen: (_app, visitor) => logOut(visitor) },
  'when the session is ended by an admin': {
    happen: async (app) => {
      const [session] = await app.as(ROOT).sessions.listByUser({ email: ADA });
      await app.as(ROOT).sessions.revokeForUser({ email: ADA, id: session?.id ?? 0 });
    },
  },
  'when the person is logged out everywhere': {
    happen: (app) => app.as(ROOT).sessions.revokeAll({ email: ADA }),
  },
  'when the tickets of the person are revoked': {
    happen: (app) => app.as(ROOT).tickets.revoke({ user: ADA }),
  },
  'when the tickets of the app are revoked': {
    happen: (app) => app.as(ROOT).tickets.revoke({ app_id: SALES }),
  },
  'when the session has not been used for 14 days': {
    happen: async (app) => app.clock.advance(14 * DAY_MS + MINUTE_MS),
  },
  'when the person is erased': {
    happen: async (app) => {
      const { confirmation } = await app.as(ROOT).users.previewErasure({ email: ADA });
      await app.as(ROOT).users.erase({ email: ADA, confirmation, confirm_email: ADA });
    },
  },
};

const logOut = async (visitor: Visitor) => {
  await visitor.get('/');
  await visitor.submit('/logout/');
};

for (const [when, { email = ADA, prepare, happen, left = ENDED }] of Object.entries(CAUSES)) {
  const ending = appSuite(`a login by OpenID Connect ends ${when}`);

  ending(
    'for UserInfo, introspection and refresh tokens at once, and the app is notified',
    async ({ app }) => {
      await using receiver = await startReceiver();
      const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
      const visitor = await visitorOf(app, email);
      const first = await sales.logIn(visitor);
      await prepare?.(app);
      const { json: tokens } = await sales.refresh(first.refresh_token ?? '');
      assert.is(tokens.error, undefined);
      await app.logoutWorker.drain();
      assert.is(receiver.tokens.length, 0);

      await happen(app, visitor);
      const state = await stateOf(sales, tokens);
      await app.logoutWorker.drain();
      await app.logoutWorker.drain();

      assert.equal(state, left);
      assert.is(receiver.tokens.length, 1);
      await assertLogoutToken(app, receiver.tokens[0] ?? '', first.id_token);
    },
  );

  ending.run();
}

const late = appSuite('a login by OpenID Connect');

late('that has just begun is decided again, in case the access ended meanwhile', async ({ app }) => {
  await using receiver = await startReceiver();
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  await sales.logIn(await visitorOf(app));

  // No event is left that leads the worker to the login: it reads only those after its start.
  while (await publishEvents(app.orm.em.fork()));
  await app.db().updateTable('users').set({ is_active: false }).where('email', '=', ADA).execute();
  await app.logoutWorker.drain();

  assert.is(receiver.tokens.length, 1);
});

late.run();

/** OpenID Connect Back-Channel Logout 1.0 §2.6. */
const assertLogoutToken = async (app: TestApp, token: string, idToken: string): Promise<void> => {
  const keys = createLocalJWKSet({ keys: (await app.signingKeys['openid-rs256'].publishedKeys()).keys });
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: 'http://localhost:8000',
    audience: SALES,
    typ: 'logout+jwt',
    currentDate: app.clock.now(),
  });
  const { sub, sid } = claimsOf(idToken);
  assert.is(protectedHeader.alg, 'RS256');
  assert.equal([payload.sub, payload.sid], [sub, sid]);
  assert.equal(payload.events, { 'http://schemas.openid.net/event/backchannel-logout': {} });
  assert.is(payload.nonce, undefined);
};

const going = appSuite('a login by OpenID Connect goes on');

going('while other things of the person change, and when another session ends', async ({ app }) => {
  await using receiver = await startReceiver();
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const tokens = await sales.logIn(await visitorOf(app));
  const other = await visitorOf(app);

  await app.as(ROOT).users.update({ email: ADA, first_name: 'Augusta', apps: [SALES] });
  await logOut(other);
  await app.logoutWorker.drain();
  const { json } = await sales.refresh(tokens.refresh_token ?? '');

  assert.is(claimsOf(json.id_token).given_name, 'Augusta', 'a new token states the new name');
  assert.equal(receiver.tokens, []);
});

going('after a maintenance of the app, in which it gets no tokens', async ({ app }) => {
  await using receiver = await startReceiver();
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const tokens = await sales.logIn(await visitorOf(app));

  await closeApp(app);
  await app.logoutWorker.drain();
  const refused = await sales.refresh(tokens.refresh_token ?? '');
  const introspection = await sales.introspect(tokens.access_token);
  await app.as(ROOT).apps.update({ app_id: SALES, in_maintenance: false });

  assert.equal([refused.status, refused.json.error], [400, 'temporarily_unavailable']);
  assert.is(introspection.active, false);
  assert.equal(await stateOf(sales, tokens), LIVE);
  assert.equal(receiver.tokens, []);
});

going.run();

const acting = appSuite('a login by OpenID Connect while someone looks at the app as a person');

acting('is the login of that person, names the actor, and ends with the look', async ({ app }) => {
  await using receiver = await startReceiver();
  await app.db().updateTable('apps').set({ view_as: true, launch_url: 'https://sales.acme.test/' }).execute();
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const { browser, self, look } = await openedLook(app);
  const get = async (path: string) => (await browser.send(`GET !${path}`)).headers.location ?? '';

  const code = new URL(String(await get(sales.authorizationPath()))).searchParams.get('code') ?? '';
  const { json: tokens } = await sales.exchange(code);
  const { act, read_only, email } = claimsOf(tokens.id_token);
  assert.equal([email, act, read_only], [GRACE, { sub: String(await userId(app, ACME)), email: ACME }, true]);

  await self.users.endViewAs({ id: look.id });
  const state = await stateOf(sales, tokens);
  await app.logoutWorker.drain();
  const after = await browser.send(`GET !${sales.authorizationPath()}`, { headers: { accept: 'text/html' } });

  assert.equal(state, ENDED);
  assert.is(receiver.tokens.length, 1);
  assert.is(after.statusCode, 403);
  assert.match(after.body, 'You no longer look at Sales as someone else.');
});

acting('ends the login that the actor had before in the same browser', async ({ app }) => {
  await using receiver = await startReceiver();
  await app.db().updateTable('apps').set({ view_as: true, launch_url: 'https://sales.acme.test/' }).execute();
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const session = await sessionOf(app, ACME);
  const { headers } = await session.browser.send(`GET !${sales.authorizationPath()}`);
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const { json: tokens } = await sales.exchange(code);

  const { url } = await session.self.users.viewAs({
    email: GRACE,
    app: SALES,
    reason: 'Ticket',
    minutes: 10,
  });
  await session.browser.send(`GET !${new URL(url).pathname}`);
  await app.logoutWorker.drain();

  assert.is((await sales.userInfo(tokens.access_token)).status, 401);
  assert.is(receiver.tokens.length, 1);
});

acting.run();

const delivery = appSuite('the logout that is sent to an app');

delivery('is sent again with growing pauses, and listed', async ({ app }) => {
  let status = 503;
  await using receiver = await startReceiver(() => status);
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const visitor = await visitorOf(app);
  await sales.logIn(visitor);
  await logOut(visitor);

  await app.logoutWorker.drain();
  const [waiting] = await app.as(ACME).openid.logouts({ app_id: SALES });
  app.clock.advance(MINUTE_MS);
  status = 204;
  await app.logoutWorker.drain();
  const [delivered] = await app.as(ACME).openid.logouts({ app_id: SALES });

  assert.is(receiver.tokens.length, 2);
  assert.is.not(receiver.tokens[0], receiver.tokens[1]);
  assert.equal([waiting?.email, waiting?.attempts, waiting?.response_status], [ADA, 1, 503]);
  assert.ok(waiting?.next_attempt_at);
  assert.equal([delivered?.attempts, delivered?.response_status], [2, 204]);
  assert.ok(delivered?.delivered_at);
});

delivery('is given up when the app refuses it, or after a day', async ({ app }) => {
  let status = 400;
  await using receiver = await startReceiver(() => status);
  const sales = await registerApp(app, { backchannel_logout_uri: receiver.url });
  const visitors = [await visitorOf(app), await visitorOf(app)];
  for (const visitor of visitors) await sales.logIn(visitor);

  await logOut(visitors[0] as Visitor);
  await app.logoutWorker.drain();
  const [refused] = await app.as(ACME).openid.logouts({ app_id: SALES });
  status = 500;
  await logOut(visitors[1] as Visitor);
  await app.logoutWorker.drain();
  app.clock.advance(DAY_MS);
  await app.logoutWorker.drain();
  const [late] = await app.as(ACME).openid.logouts({ app_id: SALES });

  assert.ok(refused?.failed_at);
  assert.ok(late?.failed_at);
  assert.is(late?.next_attempt_at, null);
});

delivery.run();
