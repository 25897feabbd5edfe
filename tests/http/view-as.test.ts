import * as assert from 'uvu/assert';
import { askGate, claimsIn } from '../support/access-views.ts';
import { cookieHeader, loggedIn } from '../support/logins.ts';
import { openedLook, sessionOf } from '../support/looks.ts';
import { ACME, appSuite, GRACE, type TestApp } from '../support/test-app.ts';

const looks = appSuite('a look at an app as someone', { APP_URL: 'http://apps.test/{slug}/' });

type Browser = Awaited<ReturnType<typeof openedLook>>['browser'];

const ask = (app: TestApp, { cookies }: Pick<Browser, 'cookies'>) =>
  askGate(app, { headers: { cookie: cookieHeader(cookies) } });

const page = (browser: Browser, path: string) =>
  browser.send(`GET !${path}`, { headers: { accept: 'text/html' } });

looks('sends the app the person, who looks, and that it is read-only', async ({ app }) => {
  const own = (await askGate(app, { as: GRACE })).headers;
  assert.equal([own['x-steward-actor'], own['x-steward-read-only']], ['', 'false']);

  const { browser, opened } = await openedLook(app);
  assert.is(opened.statusCode, 303);
  assert.match(String(opened.headers.location), /^http:\/\/apps\.test\/sales\/\?code=/);
  const cookie = opened.cookies.find(({ name }) => name === '__Host-steward_view_as_sales');
  assert.equal([cookie?.httpOnly, cookie?.secure, cookie?.sameSite], [true, true, 'Lax']);
  const { statusCode, headers } = await ask(app, browser);
  assert.equal(
    [statusCode, headers['x-steward-user'], headers['x-steward-actor'], headers['x-steward-read-only']],
    [204, GRACE, ACME, 'true'],
  );
  const { act, read_only, email } = claimsIn(String(headers['x-steward-ticket']));
  assert.equal([act?.email, read_only, email], [ACME, true, GRACE]);
});

looks('opens only once, and only in the session that began it', async ({ app }) => {
  const { browser, look } = await openedLook(app);
  const path = `!${new URL(look.url).pathname}`;

  assert.is((await browser.send(`GET ${path}`)).statusCode, 404);
  const other = await sessionOf(app, ACME);
  const { self } = await sessionOf(app, ACME);
  const unused = await self.users.viewAs({ email: GRACE, app: 'zylTKNVx', reason: 'x', minutes: 1 });
  assert.is((await other.browser.send(`GET !${new URL(unused.url).pathname}`)).statusCode, 404);
  const stolen = new Map([...other.browser.cookies, ...browser.cookies]);
  for (const [name, value] of other.browser.cookies) stolen.set(name, value);
  assert.is((await ask(app, { cookies: stolen })).statusCode, 403);
});

looks('is refused by the gate after its end, until the browser launches the app', async ({ app }) => {
  const { browser, self, look } = await openedLook(app);
  await self.users.endViewAs({ id: look.id });
  const refused = await ask(app, browser);
  assert.is(refused.statusCode, 403);
  assert.is(refused.json().detail, 'You no longer look at this app as someone else.');

  const launched = await page(browser, '/launch/sales/');
  assert.match(String(launched.headers.location), /^http:\/\/apps\.test\/sales\/\?code=/);
  assert.is((await ask(app, browser)).headers['x-steward-user'], ACME);
});

looks('is refused by the gate after the logout of the person who looks', async ({ app }) => {
  const { browser } = await openedLook(app);
  const cookie = cookieHeader(browser.cookies);
  await browser.send('DELETE /session/');

  assert.is((await askGate(app, { headers: { cookie } })).statusCode, 403);
});

looks('is shown by the launch page, which opens the app for an app that asks', async ({ app }) => {
  const { browser, look } = await openedLook(app);
  assert.is((await page(browser, '/launch/sales/')).headers.location, `/view-as/${look.id}/`);
  const { body } = await page(browser, `/view-as/${look.id}/`);
  assert.match(body, `${ACME} is looking at Sales as ${GRACE}`);
  assert.match(body, 'Ticket 4711');

  const again = new URL(String((await page(browser, '/launch/sales/?state=s1')).headers.location));
  assert.is(again.searchParams.get('state'), 's1');
  const code = again.searchParams.get('code') ?? '';
  const { ticket } = await app.as(null).tickets.exchange({ code, app: 'sales' });
  assert.is(claimsIn(ticket).read_only, true);
});

looks('ends by the button of its page, which others do not see', async ({ app }) => {
  const { browser, look } = await openedLook(app);
  assert.is((await page(await loggedIn(app), `/view-as/${look.id}/`)).statusCode, 404);
  const csrf_token = browser.cookies.get('csrftoken') ?? '';
  const ended = await browser.send(`POST !/view-as/${look.id}/end/`, {
    payload: new URLSearchParams({ csrf_token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });

  assert.equal([ended.statusCode, ended.headers.location], [303, `/view-as/${look.id}/`]);
  assert.match((await page(browser, `/view-as/${look.id}/`)).body, 'Viewing has ended');
  assert.is((await ask(app, browser)).statusCode, 403);
});

looks.run();
