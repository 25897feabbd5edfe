import * as assert from 'uvu/assert';
import { HOUR_MS } from '../../src/lib/clock.ts';
import { fieldOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { forgetAttempts } from '../support/second-factors.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, IDLE, ROOT, type TestApp } from '../support/test-app.ts';

const notice = appSuite('notice of failed logins');

const fail = (app: TestApp, username: string) =>
  rejectsWith(app.as(null).tokens.create({ username, password: 'wrong' }), 'invalid-credentials');

const failTenTimes = async (app: TestApp, username: string): Promise<void> => {
  for (let n = 0; n < 10; n += 1) await fail(app, username);
};

const notices = async (app: TestApp) => {
  const mails = await app.as(ROOT).mail.list({ status: 'all', limit: 200 });
  return mails.filter(({ kind }) => kind === 'failed-logins');
};

notice('is mailed when failures lock an account, with what happened and what to do', async ({ app }) => {
  for (let n = 0; n < 9; n += 1) await fail(app, ADA);
  const before = await notices(app);
  await fail(app, ADA.toUpperCase());
  const [mail, ...more] = await notices(app);
  const { subject, text } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });

  assert.equal([before, more], [[], []]);
  assert.is(mail?.recipient, ADA);
  assert.is(subject, 'Failed logins to your account at Acme Analytics');
  assert.match(text, '10 times within 15 minutes.');
  assert.match(text, 'The last attempt was on 21 November 2026, 12:00 (UTC), from 127.0.0.1.');
  assert.match(text, 'If this was not you');
  assert.not.match(text, 'http');
});

notice('is mailed at most once a day, however often the account is locked', async ({ app }) => {
  const count = async () => (await notices(app)).filter(({ recipient }) => recipient === EDSGER).length;
  const counts: number[] = [];
  for (const hours of [0, 12, 13]) {
    await forgetAttempts(app);
    app.clock.advance(hours * HOUR_MS);
    await failTenTimes(app, EDSGER);
    counts.push(await count());
  }

  assert.equal(counts, [1, 1, 2]);
});

notice('is not mailed for unknown and inactive accounts, refused in the same way', async ({ app }) => {
  const before = (await notices(app)).length;
  const refusals: unknown[] = [];
  for (const username of [IDLE, 'unknown@acme.test', 'no address', ROOT]) {
    await forgetAttempts(app);
    await failTenTimes(app, username);
    const login = app.as(null).tokens.create({ username, password: DEMO_PASSWORD });
    const { status, message, retryAfterSeconds } = await rejectsWith(login, 'throttled');
    refusals.push([status, message, retryAfterSeconds !== undefined && retryAfterSeconds > 890]);
  }

  assert.equal(fieldOf((await notices(app)).slice(0, -before), 'recipient'), [ROOT]);
  for (const refusal of refusals) assert.equal(refusal, refusals[0]);
});

notice.run();
