import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { inviteByLink, mailedPasswordPath } from '../support/mails.ts';
import { enroll, problemIn } from '../support/second-factors.ts';
import {
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';

const known = appSuite('known browsers');

const DEVICE = 'steward_device';

known.before.each(async ({ app }) => {
  await app.db().deleteFrom('rate_limits').execute();
});

const logIn = async (app: TestApp, email: string, password = DEMO_PASSWORD) => {
  const browser = createScript(app);
  assert.is((await browser.logIn(email, password)).statusCode, 200);
  return browser;
};

/** A browser that has logged in before and now has no session. */
const loggedOut = async (app: TestApp, email: string) => {
  const browser = await logIn(app, email);
  assert.is((await browser.send('DELETE /session/')).statusCode, 204);
  return browser;
};

/** Strangers guess until the account is locked for unknown browsers, even with the right password. */
const lock = async (app: TestApp, username: string, password = DEMO_PASSWORD): Promise<void> => {
  for (let n = 0; n < 10; n += 1) await createScript(app).logIn(username, 'wrong');
  assert.is((await createScript(app).logIn(username, password)).statusCode, 429);
};

known('can log in while strangers lock the account', async ({ app }) => {
  const browser = await loggedOut(app, ROOT);
  await lock(app, ROOT);

  assert.is((await browser.logIn(ROOT, DEMO_PASSWORD)).statusCode, 200);
  // Which does not unlock it for strangers.
  assert.is((await createScript(app).logIn(ROOT, DEMO_PASSWORD)).statusCode, 429);
});

known('are not paced with their network', async ({ app }) => {
  const browser = await loggedOut(app, ROOT);
  await createScript(app).logIn(STAFF, 'wrong');
  const ofNetwork = app.db().updateTable('rate_limits').where('key', 'like', 'login-network:%');
  await ofNetwork.set({ points: 100 }).execute();
  await createScript(app).logIn(STAFF, DEMO_PASSWORD);
  assert.is((await createScript(app).logIn(STAFF, DEMO_PASSWORD)).statusCode, 429);

  const statuses = [];
  for (let n = 0; n < 8; n += 1) statuses.push((await browser.logIn(ROOT, DEMO_PASSWORD)).statusCode);
  assert.equal(statuses, Array(8).fill(200));
});

known('have a separate count of failures', async ({ app }) => {
  const browser = await loggedOut(app, ADA);
  for (let n = 0; n < 10; n += 1) assert.is((await browser.logIn(ADA, 'wrong')).statusCode, 400);
  const refused = await browser.logIn(ADA, DEMO_PASSWORD);

  assert.is(refused.statusCode, 429);
  assert.ok(Number(refused.headers['retry-after']) <= 15 * 60);
  assert.is((await createScript(app).logIn(ADA, DEMO_PASSWORD)).statusCode, 200);
});

known('are known by a cookie that scripts cannot read, and that is no credential', async ({ app }) => {
  const browser = createScript(app);
  const response = await browser.logIn(ADA, DEMO_PASSWORD);
  const cookie = response.cookies.find(({ name }) => name === DEVICE);
  await browser.send('DELETE /session/');

  assert.equal(
    [cookie?.httpOnly, cookie?.sameSite, cookie?.path, cookie?.maxAge],
    [true, 'Lax', '/', 400 * 24 * 3600],
  );
  assert.ok(browser.cookies.has(DEVICE));
  assert.is((await browser.send('GET /session/')).statusCode, 401);
});

known('are not known to other accounts, nor by a cookie that was altered', async ({ app }) => {
  const browser = await loggedOut(app, ADA);
  const cookie = browser.cookies.get(DEVICE) ?? '';
  const [device = '', signature = ''] = cookie.split('.');
  const other = (await loggedOut(app, ADA)).cookies.get(DEVICE) ?? '';
  await lock(app, GRACE);
  await lock(app, ADA);

  assert.is((await browser.logIn(GRACE, DEMO_PASSWORD)).statusCode, 429);
  const forged = [
    `${other.split('.')[0]}.${signature}`,
    `${device}.${signature.split('').reverse().join('')}`,
    `${device}.`,
    device,
    'x'.repeat(4000),
    `${cookie}.`,
  ];
  for (const value of forged) {
    const forger = createScript(app);
    forger.cookies.set(DEVICE, value);
    assert.is((await forger.logIn(ADA, DEMO_PASSWORD)).statusCode, 429, value.slice(0, 100));
  }
  assert.is((await browser.logIn(ADA, DEMO_PASSWORD)).statusCode, 200);
});

known('are forgotten when the password changes, except the one in which it was changed', async ({ app }) => {
  const elsewhere = await loggedOut(app, GRACE);
  const browser = await logIn(app, GRACE);
  await lock(app, GRACE);
  app.clock.advance(1000);
  const new_password = 'violet-harbor-92-kite';

  const changed = await browser.send('POST /password/change/', {
    payload: { password: DEMO_PASSWORD, new_password },
  });
  assert.is(changed.statusCode, 204, changed.body);
  assert.is((await elsewhere.logIn(GRACE, new_password)).statusCode, 429);
  assert.is((await browser.logIn(GRACE, new_password)).statusCode, 200);
});

known('stay known for the password after the first second factor', async ({ app }) => {
  const browser = await loggedOut(app, STAFF);
  await enroll(app, STAFF);
  await app.db().deleteFrom('rate_limits').execute();
  for (let n = 0; n < 11; n += 1) await createScript(app).logIn(STAFF, 'wrong');

  assert.is((await createScript(app).logIn(STAFF, DEMO_PASSWORD)).statusCode, 429);
  assert.is(problemIn(await browser.logIn(STAFF, DEMO_PASSWORD)), 'otp-required');
});

known('include those that set a password by a mailed link', async ({ app }) => {
  const browser = createScript(app);
  await app.as(null).passwords.requestReset({ email: EDSGER });
  const link = new URL(await mailedPasswordPath(app, EDSGER), 'http://x');
  const password = 'violet-harbor-93-kite';
  const payload = { token: link.searchParams.get('token') ?? '', password };
  assert.is((await browser.send('POST /password/reset/', { payload })).statusCode, 204);
  await lock(app, EDSGER, password);

  assert.is((await browser.logIn(EDSGER, password)).statusCode, 200);
});

known('include those that accepted an invitation', async ({ app }) => {
  const email = 'invited@acme.test';
  const { path } = await inviteByLink(app, { email });
  const { pathname, searchParams } = new URL(path, 'http://x');
  const password = 'violet-harbor-94-kite';
  const payload = {
    signature: searchParams.get('signature') ?? '',
    first_name: 'I',
    last_name: 'N',
    password,
  };
  const browser = createScript(app);
  const accepted = await browser.send(`POST ${pathname.replace('invitation', 'invitations')}accept/`, {
    payload,
  });
  assert.is(accepted.statusCode, 200, accepted.body);
  await lock(app, email, password);

  assert.is((await browser.logIn(email, password)).statusCode, 200);
});

known('are known on the login page, also with an expired password', async ({ app }) => {
  await app.db().updateTable('clients').set({ password_expiration_days: 30 }).where('id', '=', 1).execute();
  const email = 'expired@acme.test';
  await app.as(ROOT).users.create({ email, client: 1, send_email: true });
  const link = new URL(await mailedPasswordPath(app, email), 'http://x');
  const password = 'violet-harbor-95-kite';
  const browser = createScript(app);
  const payload = { token: link.searchParams.get('token') ?? '', password };
  await browser.send('POST /password/reset/', { payload });
  app.clock.advance(31 * 24 * 3600 * 1000);
  await lock(app, email, password);

  assert.is((await browser.logIn(email, password)).json().type, 'urn:steward:problem:password_expired');
  const new_password = 'violet-harbor-96-kite';
  const renewal = { username: email, password, new_password };
  assert.is((await browser.send('POST /password/change-expired/', { payload: renewal })).statusCode, 204);
  assert.is((await browser.logIn(email, new_password)).statusCode, 200);
  await app.db().updateTable('clients').set({ password_expiration_days: 0 }).where('id', '=', 1).execute();
});

known('live sessions confirm and change the password while strangers lock the account', async ({ app }) => {
  const session = await logIn(app, ROOT);
  session.cookies.delete(DEVICE);
  await lock(app, ROOT);
  const new_password = 'violet-harbor-92-kite';
  const change = { password: DEMO_PASSWORD, new_password };

  const confirmed = await session.send('POST /session/confirm/', { payload: { password: DEMO_PASSWORD } });
  const changed = await session.send('POST /password/change/', { payload: change });
  assert.equal([confirmed.statusCode, changed.statusCode], [204, 204]);
});

known(
  'live sessions have one count of failures per account, which strangers do not share',
  async ({ app }) => {
    const [first, second] = [await logIn(app, ADA), await logIn(app, ADA)];
    const confirm = (session: typeof first, password: string) =>
      session.send('POST /session/confirm/', { payload: { password } });
    for (let n = 0; n < 5; n += 1)
      for (const session of [first, second]) assert.is((await confirm(session, 'wrong')).statusCode, 400);

    assert.is((await confirm(first, DEMO_PASSWORD)).statusCode, 429);
    assert.is((await confirm(second, DEMO_PASSWORD)).statusCode, 429);
    assert.is((await createScript(app).logIn(ADA, DEMO_PASSWORD)).statusCode, 200);
  },
);

known.run();
