import * as assert from 'uvu/assert';
import { mailedPasswordPath } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, DEMO_PASSWORD, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const notice = appSuite('notice of a changed password');

const NEW = 'violet-harbor-92-kite';

const mailedToken = async (app: TestApp, email: string): Promise<string> =>
  new URL(await mailedPasswordPath(app, email), 'http://x').searchParams.get('token') ?? '';

const notices = async (app: TestApp, recipient: string) => {
  const mails = await app.as(ROOT).mail.list({ status: 'all', limit: 200 });
  return mails.filter((mail) => mail.kind === 'password-changed' && mail.recipient === recipient);
};

notice('is mailed after a password is changed or reset', async ({ app }) => {
  const next = (n: number) => `${NEW}-${n}`;
  const counts: number[] = [];
  const count = async () => counts.push((await notices(app, STAFF)).length);

  await app.as(STAFF).passwords.change({ password: DEMO_PASSWORD, new_password: next(1) });
  await count();
  app.clock.advance(1000);
  await app.as(null).passwords.renew({ username: STAFF, password: next(1), new_password: next(2) });
  await count();
  app.clock.advance(1000);
  await app.as(null).passwords.requestReset({ email: STAFF });
  const token = await mailedToken(app, STAFF);
  await app.as(null).passwords.reset({ token, password: next(3) });
  await count();
  const [last] = await notices(app, STAFF);
  const { text } = await app.as(ROOT).mail.get({ id: last?.id ?? 0 });

  assert.equal(counts, [1, 2, 3]);
  assert.match(text, 'was changed on 21 November 2026, 12:00 (UTC) by a request from 127.0.0.1.');
  assert.not.match(text, 'http');
});

notice('is not mailed after a failed change or a first password', async ({ app }) => {
  const before = (await notices(app, ADA)).length;
  await rejectsWith(app.as(ADA).passwords.change({ password: 'wrong', new_password: NEW }), 'invalid-input');
  await app.as(ROOT).users.create({ email: 'first@acme.test', client: 1 });
  const token = await mailedToken(app, 'first@acme.test');
  await app.as(null).passwords.reset({ token, password: NEW });

  assert.is((await notices(app, ADA)).length, before);
  assert.equal(await notices(app, 'first@acme.test'), []);
});

notice.run();
