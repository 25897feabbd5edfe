import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createScript, createVisitor } from '../support/http-clients.ts';
import { countSessions, enterPassword } from '../support/logins.ts';
import { inviteByLink } from '../support/mails.ts';
import { createAuthenticator, enrollPasskey, requested } from '../support/passkeys.ts';
import {
  challenged,
  codeAt,
  enroll,
  forgetAttempts,
  nextCode,
  problemIn,
  setFactorPolicy,
  WRONG_CODE,
} from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const enrolment = appSuite('login of a person who has to set up a second factor');
const SESSION = 'steward_session';

enrolment.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await sql`delete from recovery_codes`.execute(app.db());
  await sql`delete from login_challenges`.execute(app.db());
  await forgetAttempts(app);
  await setFactorPolicy(app, 1, { policy: 'required', daysAgo: 1 });
});

const begin = async (app: TestApp, email = ADA) => {
  const { browser, response } = await challenged(app, email);
  const read = async () => (await browser.send('GET /session/enrol/')).json();
  const answer = (code: string) => browser.send('POST /session/enrol/', { payload: { code } });
  const add = (passkey: unknown) => browser.send('POST /session/enrol/', { payload: { passkey } });
  const current = async () => (await browser.send('GET /session/')).json();
  return { browser, response, read, answer, add, current };
};

enrolment('gets no session, but a challenge that only sets up an app', async ({ app }) => {
  const before = await countSessions(app, ADA);
  const { browser, response, read, answer } = await begin(app);

  assert.equal([response.statusCode, problemIn(response)], [400, 'second-factor-required']);
  assert.match(String(response.headers['set-cookie']), /steward_challenge=[\w-]{43}; Max-Age=1800/);
  assert.is((await browser.send('GET /session/')).statusCode, 401);
  const otp = await browser.send('POST /session/otp/', { payload: { code: '123456' } });
  assert.is(problemIn(otp), 'invalid-challenge');
  assert.is(await countSessions(app, ADA), before);

  const { secret, otpauth_url } = await read();
  assert.is((await read()).secret, secret, 'the same when the page is loaded again');
  assert.match(otpauth_url, /^otpauth:\/\/totp\/Acme%20Analytics:ada%40acme\.test\?/);
  assert.is(problemIn(await answer(WRONG_CODE)), 'invalid-otp');
  const answered = await answer(nextCode(app, secret));

  assert.is(answered.statusCode, 200, answered.body);
  assert.is(answered.json().recovery_codes.length, 10);
  assert.equal((await browser.send('GET /session/')).json().methods, ['pwd', 'otp', 'mfa']);
  assert.not.ok(browser.cookies.has('steward_challenge'));
  const actions = (await app.as(ROOT).audit.list({ target: ADA })).map(({ action }) => action);
  assert.equal(actions.slice(0, 3), ['login.session', 'mfa.enroll', 'mfa.challenge']);
  const kinds = (await app.as(ROOT).mail.list({ recipient: ADA, status: 'all' })).map(({ kind }) => kind);
  assert.ok(kinds.includes('second-factor-added'));
});

enrolment('goes on within the grace, which the session knows', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'required', graceDays: 7, daysAgo: 1 });
  const { response, current } = await begin(app);
  const required_from = new Date(app.clock.now().getTime() + 6 * DAY_MS).toISOString();
  const without = { is_set_up: false, required_from, needs_passkey: false, is_recommended: true };

  assert.is(response.statusCode, 200);
  assert.equal((await current()).second_factor, without);
  await enroll(app, ADA);
  const factor = { is_set_up: true, required_from: null, needs_passkey: false, is_recommended: false };
  assert.equal((await current()).second_factor, factor);
});

enrolment('says that a passkey is what it needs, also with an app', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'passkey', graceDays: 7 });
  const { current } = await begin(app);
  const needs = async () => {
    const { needs_passkey, required_from } = (await current()).second_factor;
    return [needs_passkey, required_from !== null];
  };
  assert.equal(await needs(), [true, true]);
  await enroll(app, ADA);
  assert.equal(await needs(), [true, true]);
  await enrollPasskey(app, ADA);
  assert.equal(await needs(), [false, false]);
});

enrolment('makes one session and one factor of many first codes at the same time', async ({ app }) => {
  const before = await countSessions(app, ADA);
  const { read, answer } = await begin(app);
  const code = nextCode(app, (await read()).secret);
  const answers = await Promise.all(Array.from({ length: 10 }, () => answer(code)));

  assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
  assert.is(await countSessions(app, ADA), before + 1);
  assert.is((await app.as(ADA).mfa.list({})).factors.length, 1);
});

enrolment('has a secret of its own in each browser, of which the first one wins', async ({ app }) => {
  assert.is(problemIn(await createScript(app).send('GET /session/enrol/')), 'invalid-challenge');
  const [first, second] = [await begin(app), await begin(app)];
  const secrets = [(await first.read()).secret, (await second.read()).secret];
  assert.is.not(secrets[0], secrets[1]);
  assert.is((await first.answer(nextCode(app, secrets[0]))).statusCode, 200);

  assert.is(problemIn(await second.answer(nextCode(app, secrets[1]))), 'invalid-challenge');
});

enrolment('ends after half an hour, and with a change of the password', async ({ app }) => {
  const late = await begin(app);
  const { secret } = await late.read();
  app.clock.advance(30 * MINUTE_MS);
  assert.is(problemIn(await late.answer(codeAt(secret, app.clock.now()))), 'invalid-challenge');

  const other = await begin(app, GRACE);
  const { secret: ofGrace } = await other.read();
  await app.renewToken(GRACE);
  await app.as(ROOT).sessions.revokeAll({ email: GRACE });
  assert.is(problemIn(await other.answer(nextCode(app, ofGrace))), 'invalid-challenge');
});

enrolment('works by pages without scripts, and continues to where the person was going', async ({ app }) => {
  const visitor = createVisitor(app);
  const login = await enterPassword(visitor, ADA, { query: '?next=/docs/' });
  assert.is(login.location, '/login/enrol/?next=%2Fdocs%2F');
  const page = await visitor.get(login.location ?? '');
  const secret = /class="secret">([A-Z2-7 ]+)</.exec(page.body)?.[1]?.replaceAll(' ', '') ?? '';

  assert.match(page.body, /<svg class="qr" role="img" aria-label="QR code/);
  assert.not.match(page.body, '<script');
  const wrong = await visitor.submit('/login/enrol/', { code: WRONG_CODE });
  assert.match(wrong.text, 'This code is wrong');
  assert.match(wrong.text, secret.slice(0, 4), 'the same secret');
  const done = await visitor.submit('/login/enrol/', { code: nextCode(app, secret) });

  assert.match(done.text, 'Save your recovery codes');
  assert.is(done.body.match(/<li>[a-z2-7-]{19}<\/li>/g)?.length, 10);
  assert.match(done.body, 'href="/docs/"');
  assert.ok(visitor.jar.has(SESSION));
  assert.is((await visitor.get('/login/enrol/?next=/docs/')).location, '/docs/');
});

enrolment('starts again with the password if it is over', async ({ app }) => {
  const visitor = createVisitor(app);
  assert.is((await visitor.get('/login/enrol/?next=/docs/')).location, '/login/?next=%2Fdocs%2F');
});

enrolment('is also asked of a new person who accepts an invitation, without a grace', async ({ app }) => {
  const accept = async (email: string) => {
    const { path } = await inviteByLink(app, { email, client: 1, by: ACME });
    const visitor = createVisitor(app);
    await visitor.get(path);
    const fields = { first_name: 'New', password: 'Violet-harbor-92-kite' };
    return [(await visitor.submit(path, fields)).location, visitor.jar.has(SESSION)];
  };

  assert.equal(await accept('new-1@acme.test'), ['/login/enrol/?next=%2F', false]);
  await setFactorPolicy(app, 1, { policy: 'required', graceDays: 7, daysAgo: 90 });
  assert.equal(await accept('new-2@acme.test'), ['/', true]);
});

const beginPasskey = async (app: TestApp) => {
  await setFactorPolicy(app, 1, { policy: 'passkey', daysAgo: 1 });
  return begin(app);
};

enrolment('adds a passkey if the policy requires one', async ({ app }) => {
  const { response, read, answer, add, current } = await beginPasskey(app);
  assert.is(problemIn(response), 'second-factor-required');
  const { secret, otpauth_url, passkey: options } = await read();
  assert.equal([secret, otpauth_url], [null, null]);
  assert.equal((await read()).passkey.challenge, options.challenge, 'the same when the page is loaded again');
  assert.is(problemIn(await answer('123456')), 'invalid-challenge');
  const authenticator = createAuthenticator();
  const foreign = authenticator.create(options, { challenge: 'b3RoZXI' });
  assert.is(problemIn(await add(foreign)), 'invalid-passkey');
  const added = await add(authenticator.create(options));

  assert.is(added.statusCode, 200, added.body);
  assert.is(added.json().recovery_codes.length, 10);
  assert.equal((await current()).methods, ['pwd', 'hwk', 'mfa']);
  const [factor, ...others] = (await app.as(ADA).mfa.list({})).factors;
  assert.equal([factor?.kind, others], ['passkey', []]);
  const login = await requested(app);
  assert.is((await login.answer(authenticator.get(login.options))).statusCode, 200);
});

enrolment('adds one after the code of a person with an app, without new recovery codes', async ({ app }) => {
  const { secret } = await enroll(app, ADA);
  const { browser, response, read, add, current } = await beginPasskey(app);
  assert.is(problemIn(response), 'otp-required');
  assert.match((await read()).type, 'invalid-challenge', 'not before the code');
  const payload = { code: nextCode(app, secret) };
  assert.is(problemIn(await browser.send('POST /session/otp/', { payload })), 'second-factor-required');
  assert.is((await current()).status, 401);
  const added = await add(createAuthenticator().create((await read()).passkey));

  assert.equal([added.statusCode, added.json().recovery_codes], [200, []]);
  assert.equal((await current()).methods, ['pwd', 'otp', 'mfa', 'hwk']);
});

enrolment('adds none by the password of a person who has a second factor by now', async ({ app }) => {
  const { read, add } = await beginPasskey(app);
  const { passkey } = await read();
  await enroll(app, ADA);

  assert.is(problemIn(await add(createAuthenticator().create(passkey))), 'invalid-challenge');
  assert.is((await app.as(ADA).mfa.list({})).factors.length, 1);
});

enrolment('has a page for passkeys that needs scripts, and says so', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'passkey', daysAgo: 1 });
  const visitor = createVisitor(app, 'localhost:8000');
  const login = await enterPassword(visitor, ADA, { query: '?next=/docs/' });
  const page = await visitor.get(login.location ?? '');
  assert.match(page.text, 'Add a passkey');
  assert.match(page.body, '<noscript><p>Passkeys need JavaScript.');
  assert.match((await visitor.submit('/login/enrol/', { passkey: '{"id":' })).text, 'Add a passkey');

  const options = JSON.parse(/data-options="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&quot;', '"') ?? '');
  const passkey = JSON.stringify(createAuthenticator().create(options));
  const done = await visitor.submit('/login/enrol/', { passkey });
  assert.match(done.text, 'Without the passkey, each of these codes logs you in once.');
  assert.match(done.body, 'href="/docs/"');
});

enrolment('leads to the address of the service, where passkeys work', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'passkey', daysAgo: 1 });
  const visitor = createVisitor(app, 'sites.acme.test');
  const login = await enterPassword(visitor, ADA, { query: '?next=/docs/' });
  const page = await visitor.get(login.location ?? '');

  assert.match(page.body, 'href="http://localhost:8000/login/?next=%2Fdocs%2F"');
  assert.not.match(page.body, '<script');
});

enrolment('can be chosen by a person who need not, at a login', async ({ app }) => {
  await setFactorPolicy(app, 1, { policy: 'off' });
  const browser = createScript(app);
  const payload = { username: ADA, password: DEMO_PASSWORD, enrol: true };

  assert.is(problemIn(await browser.send('POST /session/', { payload })), 'second-factor-required');
  assert.is((await browser.send('GET /session/enrol/')).statusCode, 200);
});

enrolment.run();
