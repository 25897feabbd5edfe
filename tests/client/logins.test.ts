import * as assert from 'uvu/assert';
import { createStewardClient } from '../../src/client.ts';
import { createRecordedFetch } from '../support/http-clients.ts';
import { rejectsAs } from '../support/rejects.ts';
import { enroll, nextCode, WRONG_CODE } from '../support/second-factors.ts';
import { ACME, ADA, addressOf, appSuite, DEMO_PASSWORD, GRACE, type TestApp } from '../support/test-app.ts';

const logins = appSuite('client logins');

const browserOf = async (app: TestApp) => {
  const { send, ...browser } = createRecordedFetch();
  const steward = createStewardClient({ url: await addressOf(app), fetch: send });
  return { ...browser, steward };
};
const credentials = { email: ACME, password: DEMO_PASSWORD };
const rename = (last_name: string) => ({ email: GRACE, last_name });

logins('return a token by email or username, use it, and revoke it on logout', async ({ app }) => {
  const url = `${await addressOf(app)}/`;
  const steward = createStewardClient({ url });
  assert.is(await steward.api.sessions.current.query(), null);
  await rejectsAs(steward.api.sites.list.query(), 'unauthenticated');

  const token = await steward.login({ username: ADA.toUpperCase(), password: DEMO_PASSWORD });
  const other = createStewardClient({ url, token });
  assert.is((await steward.api.sessions.current.query())?.user.email, ADA);
  assert.is((await other.api.sessions.current.query())?.user.email, ADA);

  await steward.logout();
  await rejectsAs(other.api.sites.list.query(), 'unauthenticated');
  await steward.logout();
  assert.match(await steward.login({ email: ADA, password: DEMO_PASSWORD }), /^[0-9a-f]{40}$/);
});

logins('keep the previous token if the credentials are wrong', async ({ app }) => {
  const steward = createStewardClient({ url: await addressOf(app), token: await app.tokenOf(ADA) });

  await rejectsAs(steward.login({ email: ADA, password: 'wrong' }), 'invalid-credentials');
  await rejectsAs(steward.loginWithSession({ email: ADA, password: 'wrong' }), 'invalid-credentials');

  assert.is((await steward.api.sessions.current.query())?.user.email, ADA);
});

logins('keep a session in a browser, and send its CSRF token with every mutation', async ({ app }) => {
  const { steward, cookies, requests } = await browserOf(app);

  assert.is((await steward.loginWithSession(credentials)).email, ACME);
  assert.is((await steward.api.users.update.mutate(rename('Session'))).last_name, 'Session');
  await steward.logout();

  assert.not.ok(cookies.has('steward_session'));
  assert.is(requests.length, 3, 'uses the CSRF token of the login response');
  assert.is(await steward.api.sessions.current.query(), null);
});

logins('take a code of the second factor', async ({ app }) => {
  const { secret, codes } = await enroll(app, GRACE);
  const { steward, cookies } = await browserOf(app);
  const login = { email: GRACE, password: DEMO_PASSWORD };
  await rejectsAs(steward.login(login), 'otp-required');
  await rejectsAs(steward.loginWithSession(login), 'otp-required');
  await rejectsAs(steward.loginWithSession({ ...login, otp: WRONG_CODE }), 'invalid-otp');
  const user = await steward.loginWithSession({ ...login, otp: nextCode(app, secret) });
  await steward.api.profile.update.mutate({ last_name: 'Coded' });

  assert.is(user.email, GRACE);
  assert.ok(cookies.has('steward_session'));
  assert.match(await steward.login({ ...login, otp: codes[0] }), /^[0-9a-f]{40}$/);
});

logins('take the CSRF token of the session that a new password starts', async ({ app }) => {
  const { steward, requests } = await browserOf(app);
  await steward.loginWithSession(credentials);
  const new_password = 'violet-harbor-92-kite';
  await steward.api.passwords.change.mutate({ password: credentials.password, new_password });
  requests.length = 0;

  await steward.api.profile.update.mutate({ last_name: 'Renewed' });

  assert.is(requests.length, 1, 'no request for a token, and no retry');
  await steward.api.passwords.change.mutate({ password: new_password, new_password: credentials.password });
});

logins('make concurrent calls of another tab renew their CSRF token once', async ({ app }) => {
  const { steward, cookies, requests } = await browserOf(app);
  const otherTab = createStewardClient({
    url: await addressOf(app),
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      return response;
    },
  });
  await steward.loginWithSession(credentials);
  await otherTab.loginWithSession(credentials);
  requests.length = 0;

  const entries = [{ email: 'tab@acme.test' }];
  await Promise.all([
    steward.api.users.update.mutate(rename('Stale')),
    steward.api.users.update.mutate({ email: ADA, last_name: 'Stale' }),
    steward.api.invitations.create.mutate({ items: entries }),
  ]);

  const renewals = requests.filter(({ path }) => path.includes('csrf'));
  assert.equal([renewals.length, renewals[0]?.path], [1, '/api/v1/csrf/']);
  assert.is((await app.as(ACME).users.get({ email: GRACE })).last_name, 'Stale');
});

logins('fail after one retry if a new CSRF token does not help', async ({ app }) => {
  const { send, requests } = createRecordedFetch();
  const steward = createStewardClient({
    url: await addressOf(app),
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      if (headers.has('x-csrftoken')) headers.set('x-csrftoken', 'wrong');
      return send(url, { ...init, headers });
    },
  });
  await steward.loginWithSession(credentials);
  requests.length = 0;

  await rejectsAs(steward.api.users.update.mutate(rename('Never')), 'csrf-failed');

  const methods = requests.map(({ method }) => method);
  assert.equal(methods, ['POST', 'GET', 'POST']);
});

logins.run();
