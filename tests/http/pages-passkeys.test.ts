import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createVisitor } from '../support/http-clients.ts';
import { enterPassword } from '../support/logins.ts';
import { enrollPasskey } from '../support/passkeys.ts';
import { enroll, forgetAttempts, WRONG_CODE } from '../support/second-factors.ts';
import { ADA, appSuite, GRACE, type TestApp } from '../support/test-app.ts';

const pages = appSuite('pages with passkeys');
const SCRIPT = /<script type="module" src="(\/passkeys-[0-9a-f]{16}\.js)"><\/script>/;

pages.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await forgetAttempts(app);
});

const askForFactor = async (app: TestApp, email: string, host?: string) => {
  const visitor = createVisitor(app, host);
  const asked = await enterPassword(visitor, email, { query: '?next=%2Fpassword%2Fchange%2F' });
  return { visitor, page: await visitor.get(String(asked.location)) };
};

pages('have no script before anyone has a passkey', async ({ app }) => {
  const page = await createVisitor(app).get('/login/');

  assert.not.match(page.body, /<script|data-passkey|webauthn/);
  assert.not.match(page.text, /passkey/i);
  assert.not.match(String(page.headers['content-security-policy']), 'script-src');
});

pages('offer passkeys beside the password, and say that they need JavaScript', async ({ app }) => {
  await enrollPasskey(app, GRACE);
  const page = await createVisitor(app).get('/login/?next=%2Fpassword%2Fchange%2F');

  assert.match(page.body, /autocomplete="username webauthn"/);
  const answer = '/api/v1/session/passkey/" data-next="/password/change/"';
  assert.match(page.body, `data-passkey="login" data-answer="${answer}`);
  assert.match(page.text, 'Passkeys need JavaScript. Without it, log in with your password.');
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /script-src 'self'; connect-src 'self'/);
  assert.not.match(policy, 'unsafe');
  assert.not.match(page.body, /<script(?! type="module" src="\/passkeys-)/);
});

pages('load a script that browsers keep', async ({ app }) => {
  await enrollPasskey(app, GRACE);
  const page = await createVisitor(app).get('/login/');
  const path = SCRIPT.exec(page.body)?.[1] ?? '';
  const script = await app.send(`GET !${path}`);

  assert.is(script.statusCode, 200);
  assert.is(script.headers['content-type'], 'text/javascript; charset=utf-8');
  assert.is(script.headers['cache-control'], 'public, max-age=31536000, immutable');
  assert.is((await app.send(`POST !${path}`)).statusCode, 405);
  assert.is((await app.send('GET !/passkeys-0000000000000000.js')).statusCode, 404);
});

pages('offer no passkeys on other hosts, where browsers would refuse them', async ({ app }) => {
  await enrollPasskey(app, GRACE);
  const { page } = await askForFactor(app, GRACE, 'globex.localhost:8000');

  assert.match(page.text, 'Your passkey works at localhost:8000 only. Log in there, or use a recovery code.');
  assert.not.match(page.body, /<script/);
  const login = await createVisitor(app, 'globex.localhost:8000').get('/login/');
  assert.not.match(login.body, /<script|webauthn/);
});

pages('ask for the passkey of a user without an app, or for a recovery code', async ({ app }) => {
  const { codes } = await enrollPasskey(app, ADA);
  const { visitor, page } = await askForFactor(app, ADA);
  assert.match(page.text, 'Use your passkey Confirm your login to Acme Analytics with your passkey.');
  assert.match(page.text, 'Passkeys need JavaScript. Without it, use a recovery code.');
  const answer = '/api/v1/session/otp/" data-next="/password/change/"';
  assert.match(page.body, `data-passkey="challenge" data-answer="${answer}`);
  assert.match(page.body, /data-late="\/login\/\?next=%2Fpassword%2Fchange%2F&amp;late=1"/);
  assert.not.match(page.body, /name="code"/);
  const recovery = await visitor.get('/login/code/?recovery=1&next=%2Fpassword%2Fchange%2F');
  assert.match(recovery.text, 'Use your passkey');
  assert.not.match(recovery.body, /<script/);
  const wrong = await visitor.submit('/login/code/', { code: 'no-such-code' });
  assert.match(wrong.text, 'Enter a recovery code');
  const done = await visitor.submit('/login/code/', { code: codes[0] ?? '' });

  assert.equal([done.status, done.location], [303, '/password/change/']);
});

pages('offer the passkey beside the code of an app', async ({ app }) => {
  await enroll(app, ADA);
  assert.not.match((await askForFactor(app, ADA)).page.body, /<script/);
  await enrollPasskey(app, ADA);
  const { visitor, page } = await askForFactor(app, ADA);
  assert.match(page.text, 'Passkeys need JavaScript. Enter a code instead.');
  assert.match(page.body, SCRIPT);
  const wrong = await visitor.submit('/login/code/', { code: WRONG_CODE });

  assert.match(wrong.body, SCRIPT);
  assert.match(wrong.text, 'This code is wrong');
});

pages.run();
