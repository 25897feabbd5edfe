import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { claimsIn, setApp } from '../support/access-views.ts';
import type { createScript } from '../support/http-clients.ts';
import { loggedIn } from '../support/logins.ts';
import { createAuthenticator } from '../support/passkeys.ts';
import { setRows } from '../support/rows.ts';
import { enroll, nextCode } from '../support/second-factors.ts';
import { ADA, appSuite, EDSGER, GRACE, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const methods = appSuite('authentication methods of sessions, and the tickets that they get');

methods.before(({ app }) => setApp(app, { launch_url: 'https://sales.test/' }));

type Browser = Pick<ReturnType<typeof createScript>, 'send'>;

const claimsOf = (ticket: string) => {
  const { amr, auth_time } = claimsIn(ticket);
  return { amr, auth_time };
};
const ticketOf = async ({ send }: Browser) =>
  claimsOf((await send(`POST /jb/apps/${SALES}/ticket/`)).json().ticket);

const seconds = (app: TestApp) => app.clock.now().getTime() / 1000;

const statusOf = async (app: TestApp, session = '') =>
  (await app.send('GET /session/', { headers: { cookie: `steward_session=${session}` } })).statusCode;

methods('are the password, since the login', async ({ app }) => {
  const at = seconds(app);
  const browser = await loggedIn(app, ADA);
  app.clock.advance(5 * MINUTE_MS);

  assert.equal(await ticketOf(browser), { amr: ['pwd'], auth_time: at });
});

methods('are the password of a session that was begun before an upgrade', async ({ app }) => {
  const browser = await loggedIn(app, ADA);
  const at = new Date(app.clock.now().getTime() - 60 * MINUTE_MS);
  await setRows(app, 'sessions', {}, { created_at: at, authenticated_at: new Date(0) });

  assert.equal(await ticketOf(browser), { amr: ['pwd'], auth_time: at.getTime() / 1000 });
});

methods('get the code of an enrolment or a confirmation, in this session only', async ({ app }) => {
  const at = seconds(app);
  const [browser, other] = [await loggedIn(app, GRACE), await loggedIn(app, GRACE)];
  const { secret } = (await browser.send('POST /mfa/totp/')).json();
  const code = nextCode(app, secret);
  assert.is((await browser.send('POST /mfa/totp/confirm/', { payload: { code } })).statusCode, 200);

  assert.equal((await ticketOf(browser)).amr, ['pwd', 'otp', 'mfa']);
  assert.equal(await ticketOf(other), { amr: ['pwd'], auth_time: at });

  const again = nextCode(app, secret);
  assert.is((await other.send('POST /session/confirm/', { payload: { code: again } })).statusCode, 204);
  assert.equal(await ticketOf(other), { amr: ['pwd', 'otp', 'mfa'], auth_time: seconds(app) });
});

methods('reach the app also by a launch and the gate', async ({ app }) => {
  const browser = await loggedIn(app, ADA);
  const expected = { amr: ['pwd'], auth_time: seconds(app) };
  const { url } = (await browser.send('POST /app/launch/sales/')).json();
  const payload = { code: new URL(url).searchParams.get('code'), app: 'sales' };
  const exchanged = await app.send('POST /gate/exchange/', { payload });
  const admitted = await browser.send('GET !/gate/sales/');

  assert.equal(claimsOf(exchanged.json().ticket), expected);
  assert.equal(claimsOf(String(admitted.headers['x-steward-ticket'])), expected);
});

methods('are none for a token', async ({ app }) => {
  const { ticket } = (await app.send(`POST /jb/apps/${SALES}/ticket/`, { as: ADA })).json();

  assert.equal(claimsOf(ticket), { amr: [], auth_time: null });
});

methods('come with a new secret if a confirmation makes a session stronger', async ({ app }) => {
  const browser = await loggedIn(app, ADA);
  const { secret } = await enroll(app, ADA);
  const stolen = browser.cookies.get('steward_session');
  const confirm = () => browser.send('POST /session/confirm/', { payload: { code: nextCode(app, secret) } });

  assert.is((await confirm()).statusCode, 204);
  const renewed = browser.cookies.get('steward_session');
  assert.equal([await statusOf(app, stolen), await statusOf(app, renewed)], [401, 200]);

  assert.is((await confirm()).statusCode, 204, 'the browser has a CSRF token of the new session');
  assert.is(browser.cookies.get('steward_session'), renewed, 'one that is as strong as before keeps it');
});

methods('come with a new secret if an enrolment makes a session stronger', async ({ app }) => {
  const browser = await loggedIn(app, EDSGER);
  const stolen = browser.cookies.get('steward_session');
  const { secret } = (await browser.send('POST /mfa/totp/')).json();
  const payload = { code: nextCode(app, secret) };
  assert.is((await browser.send('POST /mfa/totp/confirm/', { payload })).statusCode, 200);

  const withApp = browser.cookies.get('steward_session');
  assert.equal([await statusOf(app, stolen), await statusOf(app, withApp)], [401, 200]);

  const options = (await browser.send('POST /mfa/passkeys/options/')).json();
  const credential = createAuthenticator().create(options);
  const added = await browser.send('POST /mfa/passkeys/', { payload: { credential } });
  assert.is(added.statusCode, 201, added.body);
  const withPasskey = browser.cookies.get('steward_session');
  assert.equal([await statusOf(app, withApp), await statusOf(app, withPasskey)], [401, 200]);
});

methods.run();
