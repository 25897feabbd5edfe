import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { isWaiting } from '../support/database-sessions.ts';
import { createScript, createVisitor } from '../support/http-clients.ts';
import { countSessions, enterPassword, givePassword } from '../support/logins.ts';
import { rowOf, setRows } from '../support/rows.ts';
import {
  challenged,
  codeAt,
  enroll,
  forgetAttempts,
  nextCode,
  problemIn,
  WRONG_CODE,
} from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const logins = appSuite('login with a second factor');
const COOKIE = 'steward_challenge';
const SESSION = 'steward_session';
let ada: { secret: string; codes: string[] };

logins.before(async ({ app }) => {
  ada = await enroll(app, ADA);
});

logins.before.each(async ({ app }) => {
  await forgetAttempts(app);
});

const addMember = async (app: TestApp, name: string): Promise<string> => {
  const { email } = await app.as(ROOT).users.create({ email: `${name}@acme.test`, client: 1 });
  await givePassword(app, email);
  return email;
};

logins('gets a challenge for the password, and a session for the code', async ({ app }) => {
  const before = await countSessions(app, ADA);
  const { browser, response, answer } = await challenged(app, ADA);
  const cookie = [response.headers['set-cookie']].flat().find((line) => line?.startsWith(COOKIE));

  assert.equal([response.statusCode, problemIn(response)], [400, 'otp-required']);
  assert.match(String(cookie), /Max-Age=300; Path=\/; HttpOnly; SameSite=Lax/);
  assert.not.ok(browser.cookies.has(SESSION));
  assert.is((await browser.send('GET /session/')).statusCode, 401);
  assert.is(await countSessions(app, ADA), before);

  const answered = await answer(nextCode(app, ada.secret));

  assert.is(answered.statusCode, 200);
  assert.is(answered.json().user.email, ADA);
  assert.is((await browser.send('GET /session/')).json().user.email, ADA);
  assert.not.ok(browser.cookies.has(COOKIE));
  const actions = (await app.as(ROOT).audit.list({ target: ADA })).map(({ action }) => action);
  assert.equal(actions.slice(0, 2), ['login.session', 'mfa.challenge']);
});

logins('makes one session of many right codes at the same time', async ({ app }) => {
  const before = await countSessions(app, ADA);
  const { answer } = await challenged(app, ADA);
  const code = nextCode(app, ada.secret);
  const answers = await Promise.all(Array.from({ length: 10 }, () => answer(code)));

  assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
  assert.is(await countSessions(app, ADA), before + 1);
});

logins('takes a code and a recovery code once, also in two challenges at the same time', async ({ app }) => {
  const { secret, codes } = await enroll(app, EDSGER);
  for (const code of [codes[0] ?? '', nextCode(app, secret)]) {
    const both = [await challenged(app, EDSGER), await challenged(app, EDSGER)];
    const answers = await Promise.all(both.map(({ answer }) => answer(code)));
    assert.equal(answers.map(({ statusCode }) => statusCode).toSorted(), [200, 400]);
  }
});

logins('ends after five minutes, and after five wrong codes', async ({ app }) => {
  const late = await challenged(app, ADA);
  app.clock.advance(5 * MINUTE_MS);
  assert.is(problemIn(await late.answer(codeAt(ada.secret, app.clock.now()))), 'invalid-challenge');

  const { answer } = await challenged(app, ADA);
  for (let n = 0; n < 5; n += 1) assert.is(problemIn(await answer(WRONG_CODE)), 'invalid-otp');
  assert.is(problemIn(await answer(nextCode(app, ada.secret))), 'invalid-challenge');
});

logins('checks five codes of a burst at most', async ({ app }) => {
  const { answer } = await challenged(app, ADA);
  const answers = await Promise.all(Array.from({ length: 12 }, () => answer(WRONG_CODE)));
  const problems = answers.map(problemIn);

  assert.is(problems.filter((problem) => problem === 'invalid-otp').length, 5);
});

logins('belongs to the browser in which the password was entered, and to no other site', async ({ app }) => {
  const { browser } = await challenged(app, ADA);
  const payload = { code: nextCode(app, ada.secret) };
  const other = createScript(app);
  assert.is(problemIn(await other.send('POST /session/otp/', { payload })), 'invalid-challenge');
  other.cookies.set(COOKIE, 'x'.repeat(43));
  assert.is(problemIn(await other.send('POST /session/otp/', { payload })), 'invalid-challenge');
  const headers = { origin: 'https://evil.test' };
  assert.is(problemIn(await browser.send('POST /session/otp/', { payload, headers })), 'cross-site');
});

logins('ends with a password change, a reset of the factors and a deactivation', async ({ app }) => {
  const endings = {
    password: (email: string) =>
      app.as(email).passwords.change({ password: DEMO_PASSWORD, new_password: 'Violet-harbor-92-kite' }),
    reset: (email: string) => app.as(ROOT).users.resetFactors({ email }),
    logout: (email: string) => app.as(ROOT).sessions.revokeAll({ email }),
    deactivation: (email: string) => app.as(ROOT).users.update({ email, is_active: false }),
  };
  for (const [name, end] of Object.entries(endings)) {
    const email = await addMember(app, name);
    const { secret } = await enroll(app, email);
    const { answer } = await challenged(app, email);
    await end(email);
    assert.is(problemIn(await answer(nextCode(app, secret))), 'invalid-challenge', name);
  }
});

logins('is asked for if the second factor was added while the password was verified', async ({ app }) => {
  const { id: user_id } = await rowOf(app, 'users', { email: ROOT });
  const at = app.clock.now();
  const factor = {
    user_id,
    kind: 'totp' as const,
    name: 'x',
    sealed_secret: Buffer.alloc(0),
    created_at: at,
    confirmed_at: at,
  };
  const payload = { username: ROOT, password: DEMO_PASSWORD };
  for (const line of ['POST /session/', 'POST /api-token-auth/']) {
    const before = await countSessions(app, ROOT);
    const { response } = await app
      .db()
      .transaction()
      .execute(async (tx) => {
        await tx.selectFrom('users').select('id').where('id', '=', user_id).forUpdate().execute();
        const response = app.send(line, { payload });
        await until('the login waits for the enrolment', () => isWaiting(app));
        await tx.insertInto('mfa_factors').values(factor).execute();
        return { response };
      });

    assert.is(problemIn(await response), 'otp-required');
    assert.is(await countSessions(app, ROOT), before);
    await sql`delete from mfa_factors where user_id = ${user_id}`.execute(app.db());
  }
});

logins('is asked for on a page without scripts, which continues to `next`', async ({ app }) => {
  const visitor = createVisitor(app);
  const asked = await enterPassword(visitor, ADA, { query: '?next=%2Fpassword%2Fchange%2F' });
  assert.equal([asked.status, asked.location], [303, '/login/code/?next=%2Fpassword%2Fchange%2F']);
  const page = await visitor.get(String(asked.location));
  assert.match(page.text, 'Open your authenticator app and enter its code for Acme Analytics.');
  assert.match(page.body, /inputmode="numeric"/);
  const wrong = await visitor.submit('/login/code/', { code: WRONG_CODE });
  assert.equal([wrong.status, /This code is wrong/.test(wrong.text)], [400, true]);
  const empty = await visitor.submit('/login/code/', { code: '' });
  assert.match(empty.text, 'This field is required.');
  const done = await visitor.submit('/login/code/', { code: nextCode(app, ada.secret) });

  assert.equal([done.status, done.location], [303, '/password/change/']);
  assert.ok(visitor.jar.has(SESSION));
  assert.equal((await visitor.get('/login/code/')).location, '/');
});

logins('has a page for recovery codes', async ({ app }) => {
  const visitor = createVisitor(app);
  await enterPassword(visitor, ADA);
  const page = await visitor.get('/login/code/?recovery=1');
  assert.match(page.text, 'Enter a recovery code');
  const wrong = await visitor.submit('/login/code/', { code: 'no-such-code' });
  assert.match(wrong.text, 'Enter a recovery code');
  const done = await visitor.submit('/login/code/', { code: ada.codes[5] ?? '' });

  assert.equal([done.status, done.location], [303, '/']);
});

logins('shows the login page again when it took too long, or without a password before', async ({ app }) => {
  const visitor = createVisitor(app);
  assert.equal((await visitor.get('/login/code/?next=%2Fx')).location, '/login/?next=%2Fx');
  await enterPassword(visitor, ADA, { query: '?next=%2Fx' });
  await visitor.get('/login/code/?next=%2Fx');
  app.clock.advance(5 * MINUTE_MS);
  const late = await visitor.submit('/login/code/', { code: codeAt(ada.secret, app.clock.now()) });

  assert.equal([late.status, late.location], [303, '/login/?next=%2Fx&late=1']);
  assert.match((await visitor.get(String(late.location))).text, 'The time for the code is over');
});

logins('follows the change of an expired password', async ({ app }) => {
  const email = await addMember(app, 'expired');
  const last_password_set = new Date(app.clock.now().getTime() - 400 * DAY_MS);
  await setRows(app, 'users', { email }, { last_password_set });
  await enroll(app, email);
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 365 });
  await setRows(app, 'memberships', {}, { password_expiry_from: null });
  const visitor = createVisitor(app);
  await enterPassword(visitor, email);
  const change = { username: email, password: DEMO_PASSWORD, new_password: 'Violet-harbor-92-kite' };
  const changed = await visitor.submit('/login/', change);
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 0 });

  assert.equal([changed.status, changed.location], [303, '/login/code/']);
  assert.not.ok(visitor.jar.has(SESSION));
});

logins('by a token endpoint takes JSON and forms, and says nothing without the password', async ({ app }) => {
  const login = { username: ADA, password: DEMO_PASSWORD };
  const send = (payload: string | object, headers = {}, path = '/api-token-auth/') =>
    app.send(`POST ${path}`, { payload, headers });
  const asked = await send(login);
  assert.equal([asked.statusCode, problemIn(asked)], [400, 'otp-required']);
  assert.equal(asked.json().non_field_errors, [asked.json().detail]);
  assert.is(problemIn(await send({ ...login, otp: WRONG_CODE })), 'invalid-otp');
  const form = new URLSearchParams({ ...login, otp: nextCode(app, ada.secret) }).toString();
  const issued = await send(form, { 'content-type': 'application/x-www-form-urlencoded' });
  assert.match(issued.json().token, /^[0-9a-f]{40}$/);
  const byEmail = { email: ADA, password: DEMO_PASSWORD, otp: nextCode(app, ada.secret) };
  assert.is((await send(byEmail, {}, '/jb/api-token-auth/')).statusCode, 200);

  assert.is(problemIn(await send({ ...login, password: 'wrong' }, {}, '/session/')), 'invalid-credentials');
  assert.is((await send({ ...login, username: ACME, otp: 'a code that is not needed' })).statusCode, 200);
});

logins.run();
