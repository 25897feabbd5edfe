import * as assert from 'uvu/assert';
import { createVisitor } from '../../support/http-clients.ts';
import { locationOf, pathOf } from '../../support/identity-provider.ts';
import { connectPortal, type Portal } from '../../support/lemonldap.ts';
import { personOf } from '../../support/sso.ts';
import { suiteWith } from '../../support/suite.ts';
import { startTestApp } from '../../support/test-app.ts';

type Browser = ReturnType<Portal['portal']['openBrowser']>;

const DOCTOR = 'dwho@badwolf.org';
const ROSE = 'rtyler@badwolf.org';

/** @param hasFrontChannel whether the portal ends sessions here, too, by a frame in its page */
const portalSuite = (name: string, hasFrontChannel: boolean) =>
  suiteWith(name, async (started) => {
    const app = await startTestApp();
    started.defer(app.close);
    const scopes = `openid email profile${hasFrontChannel ? ' session' : ''}`;
    return connectPortal(started, app, { scopes }, ({ frontchannel_logout_uri: LogoutUrl }) =>
      hasFrontChannel
        ? { LogoutUrl, LogoutType: 'front', LogoutSessionRequired: 1, IDTokenForceClaims: 1 }
        : {},
    );
  });

/** Logs in here with a new browser, which is at the portal the given one. */
const logIn = async ({ app, connection }: Portal, browser: Browser, user = 'dwho') => {
  const visitor = createVisitor(app);
  const started = locationOf(await visitor.get(`/sso/${connection}/start/`));
  const { location, hasAsked } = await browser.visit(started, { user });
  await visitor.get(pathOf(location));
  return { visitor, hasAsked, person: await personOf(app, visitor) };
};

/** Logs out here, follows the link of the login page, and confirms the logout at the portal. */
const logOut = async (visitor: ReturnType<typeof createVisitor>, browser: Browser) => {
  await visitor.get('/');
  const { location } = await visitor.submit('/logout/');
  const { body } = await visitor.get(String(location));
  const [, link = ''] = /href="([^"]+)">Log out at your provider, too/.exec(body) ?? [];
  return browser.visit(locationOf(await visitor.get(link)), { user: 'dwho' });
};

/** The path of the page here that a page of the portal shows in a frame. */
const frameIn = (page: string): string => {
  const [, source] = /<iframe src="([^"]+)"/.exec(page) ?? [];
  if (source === undefined) throw new Error(`no frame in ${page}`);
  return pathOf(source);
};

const logouts = portalSuite('logout at LemonLDAP::NG', false);

logouts('ends the session of the portal, which asks for the password again', async (fixture) => {
  const { app, portal } = fixture;
  const browser = portal.openBrowser();
  const { visitor, person } = await logIn(fixture, browser);
  assert.is(person, DOCTOR);
  assert.is((await logIn(fixture, browser)).hasAsked, false);
  const { location, hasAsked } = await logOut(visitor, browser);
  assert.equal([location, hasAsked], [`${app.config.baseUrl}/login/`, false]);
  assert.is(await personOf(app, visitor), null);

  assert.is((await logIn(fixture, browser)).hasAsked, true);
});

logouts.run();

const frontChannel = portalSuite('front-channel logout by LemonLDAP::NG', true);

frontChannel('ends all sessions of the person after a logout at the portal', async (fixture) => {
  const { app, portal } = fixture;
  const browser = portal.openBrowser();
  const { visitor: first } = await logIn(fixture, browser);
  const { visitor: second, hasAsked } = await logIn(fixture, portal.openBrowser());
  const { visitor: other } = await logIn(fixture, portal.openBrowser(), 'rtyler');
  assert.is(hasAsked, true, 'another session of the portal');
  const frame = frameIn(await browser.open(`${portal.issuer}/?logout=1`));
  assert.match(frame, /&sid=dwho$/);
  const page = await createVisitor(app).get(frame);

  assert.match(String(page.headers['content-security-policy']), `frame-ancestors ${portal.issuer}`);
  assert.equal(await Promise.all([first, second, other].map((visitor) => personOf(app, visitor))), [
    null,
    null,
    ROSE,
  ]);
});

frontChannel('also follows a logout that began here', async (fixture) => {
  const { app, portal } = fixture;
  const browser = portal.openBrowser();
  const { visitor } = await logIn(fixture, browser);
  const { visitor: other } = await logIn(fixture, portal.openBrowser());
  const { location, page } = await logOut(visitor, browser);
  assert.is(location, `${app.config.baseUrl}/login/`);
  assert.is((await createVisitor(app).get(frameIn(page))).status, 200);

  assert.is(await personOf(app, other), null);
  assert.is((await logIn(fixture, browser)).hasAsked, true);
});

frontChannel.run();
