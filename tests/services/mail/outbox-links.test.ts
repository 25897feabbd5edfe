import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, INVITATION_DAYS, mailTo, outboxOf } from '../../support/mails.ts';
import { ACME, ADA, appSuite, GRACE, IDLE, ROOT, type TestApp } from '../../support/test-app.ts';

const links = appSuite('links of password mails');

links.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const request = (app: TestApp, email: string) => app.as(null).passwords.requestReset({ email });
const tokenIn = (text: string): string => decodeURIComponent(/token=(\S+)/.exec(text)?.[1] ?? '');
const linksOf = (app: TestApp, email: string) =>
  app
    .db()
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.expires_at'])
    .where('users.email', '=', email)
    .execute();

let made = 0;
const makeUser = async (app: TestApp): Promise<string> => {
  const email = `new-${++made}@acme.test`;
  await app.as(ACME).users.create({ email });
  return email;
};

links(
  'are created for the user with the requested address, and valid for an hour from the request',
  async ({ app }) => {
    await request(app, ADA.toUpperCase());
    const asked = app.clock.now().getTime();
    app.clock.advance(5 * MINUTE_MS);

    const outbox = outboxOf(app);
    const [mail] = (await outbox.claim(5)).mails;
    const [link] = await linksOf(app, ADA);
    if (!mail) return assert.unreachable();
    const opened = await app.as(null).passwords.verifyToken({ token: tokenIn(outbox.write(mail).text) });

    assert.is(opened.email, ADA);
    assert.is(link?.expires_at.getTime(), asked + 60 * MINUTE_MS);
  },
);

links('are not created for unknown or inactive users, whose mails are deleted or ended', async ({ app }) => {
  await request(app, 'unknown@guest.test');
  await request(app, IDLE);
  const leaving = await makeUser(app);
  await app.as(ACME).users.deactivate({ email: leaving });

  assert.equal(await outboxOf(app).claim(5), { mails: [], found: 3 });
  const mails = await app.db().selectFrom('outbox_mails').select(['recipient', 'last_error']).execute();

  assert.equal(mails, [{ recipient: leaving, last_error: 'The account has been deactivated.' }]);
  for (const email of [IDLE, leaving]) assert.is((await linksOf(app, email)).length, 0);
});

links('are created for new users, and valid as long as invitations', async ({ app }) => {
  const email = await makeUser(app);
  const created = app.clock.now().getTime();
  app.clock.advance(DAY_MS);

  const { mails } = await outboxOf(app).claim(5);
  const [link] = await linksOf(app, email);

  assert.is(mails.length, 1);
  assert.is(link?.expires_at.getTime(), created + INVITATION_DAYS * DAY_MS);
});

links('are created once by concurrent workers', async ({ app }) => {
  const email = await makeUser(app);
  await request(app, GRACE);
  const outboxes = Array.from({ length: 6 }, () => outboxOf(app));

  await Promise.all(outboxes.flatMap((outbox) => [outbox.createLinks(), outbox.claim(5)]));
  app.clock.advance(10 * MINUTE_MS);
  await outboxOf(app).claim(5);

  assert.is((await linksOf(app, email)).length, 1);
  assert.is((await linksOf(app, GRACE)).length, 1);
});

links('are also created without sending, so that the mail can be viewed', async ({ app }) => {
  const email = await makeUser(app);
  await request(app, 'unknown@guest.test');

  assert.is(await outboxOf(app).createLinks(), 2);
  assert.is(await outboxOf(app).createLinks(), 0);
  const mail = await mailTo(app, email);

  assert.equal([mail.attempts, mail.sent_at, mail.failed_at], [0, null, null]);
  assert.equal(
    (await linksOf(app, email)).map(({ id }) => id),
    [mail.password_link_id],
  );
});

links('are not created again after use, nor if the password was set after the request', async ({ app }) => {
  const email = await makeUser(app);
  const outbox = outboxOf(app);
  const [setup] = (await outbox.claim(5)).mails;
  if (!setup) return assert.unreachable();
  await request(app, email);
  app.clock.advance(1000);
  const token = tokenIn(outbox.write(setup).text);
  await app.as(null).passwords.reset({ token, password: 'a long and unusual one' });
  app.clock.advance(10 * MINUTE_MS);

  assert.equal(await outbox.claim(5), { mails: [], found: 2 });
  const mails = await app.db().selectFrom('outbox_mails').selectAll().execute();

  for (const mail of mails) {
    assert.is(mail.last_error, 'The link has been used or replaced.');
    assert.equal(mail.failed_at, app.clock.now());
  }
  assert.is((await linksOf(app, email)).length, 0);
});

links('are not sent after they expired or their user was deactivated', async ({ app }) => {
  await request(app, ROOT);
  await makeUser(app);
  const leaving = await makeUser(app);
  const outbox = outboxOf(app);
  assert.is((await outbox.claim(5)).mails.length, 3);
  await app.as(ACME).users.deactivate({ email: leaving });

  app.clock.advance(60 * MINUTE_MS);
  assert.is((await outbox.claim(5)).mails.length, 1);
  app.clock.advance(INVITATION_DAYS * DAY_MS);
  assert.is((await outbox.claim(5)).mails.length, 0);
  const mails = await app.db().selectFrom('outbox_mails').select('last_error').orderBy('id').execute();

  assert.equal(
    mails.map((mail) => mail.last_error),
    ['The link has expired.', 'The link has expired.', 'The account has been deactivated.'],
  );
});

links.run();
