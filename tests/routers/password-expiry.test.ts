import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { emptyOutbox } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const expiry = appSuite('password_expiration_days');

const WEEK_MS = 7 * DAY_MS;

const logIn = (app: TestApp, email: string) =>
  app.as(null).tokens.create({ username: email, password: DEMO_PASSWORD });

const policy = (app: TestApp, as: string, days: number, id = 1) =>
  app.as(as).clients.update({ id, password_expiration_days: days });

const notices = async (app: TestApp, as = ROOT) =>
  (await app.as(as).mail.list({ limit: 100 })).filter(({ kind }) => kind === 'password-expiry');

/** Passwords of the demo are 100 days old, no policy applies, and no mail was sent. */
expiry.before.each(async ({ app }) => {
  await setRows(app, 'clients', {}, { password_expiration_days: 0, password_min_length: 8 });
  await setRows(app, 'memberships', {}, { password_expiry_from: null });
  await emptyOutbox(app);
  const user_id = await userId(app, EDSGER);
  await sql`delete from memberships where client_id = 1 and user_id = ${user_id}`.execute(app.db());
  const old = new Date(app.clock.now().getTime() - 100 * DAY_MS);
  await setRows(app, 'users', {}, { last_password_set: old });
});

/** As if all mails had been sent. */
const sendAll = (app: TestApp) => setRows(app, 'outbox_mails', {}, { sent_at: app.clock.now() });

expiry('is mailed to active members by a client admin, and comes 7 days later', async ({ app }) => {
  await policy(app, ACME, 30);

  const mails = await notices(app, ACME);
  assert.equal(mails.map(({ recipient }) => recipient).toSorted(), [ADA, ACME, GRACE].toSorted());
  const { text, subject } = await app.as(ACME).mail.get({ id: mails[0]?.id ?? 0 });
  assert.is(subject, 'Your password for Acme Analytics will expire');
  assert.match(text, /is valid until 28 November 2026, 12:00 \(UTC\)/);
  assert.ok((await logIn(app, ADA)).token);
  assert.equal(await app.as(ACME).users.list({ password_expired: true }), []);

  app.clock.advance(WEEK_MS - 1);
  assert.ok((await logIn(app, ADA)).token);
  app.clock.advance(2);
  await rejectsWith(logIn(app, ADA), 'password_expired');
  assert.ok((await app.as(ACME).users.list({ password_expired: true })).some(({ email }) => email === ADA));
  app.clock.advance(-WEEK_MS - 1);
});

expiry('is mailed again when it gets shorter, but not when it gets longer', async ({ app }) => {
  await policy(app, ACME, 300);
  await sendAll(app);
  await policy(app, ACME, 30);
  assert.is((await notices(app)).length, 6);

  await sendAll(app);
  await policy(app, ACME, 90);
  await policy(app, ACME, 0);
  assert.is((await notices(app)).length, 6);
});

expiry('is mailed once, with the last date, if it changes twice before the mail is sent', async ({ app }) => {
  await policy(app, ACME, 150);
  await policy(app, ACME, 120);

  const [mail, ...others] = (await notices(app)).filter(({ recipient }) => recipient === ADA);
  assert.equal(others, []);
  const { text } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });
  assert.match(text, /is valid until 11 December 2026/);
});

expiry('is mailed with its own date, whatever another client requires', async ({ app }) => {
  const recent = app.clock.now();
  await app.as(ROOT).users.update({ email: EDSGER, apps: [FLEET, SALES] });
  await policy(app, ROOT, 10, 2);
  await setRows(app, 'users', { email: EDSGER }, { last_password_set: recent });
  await emptyOutbox(app);

  await policy(app, ACME, 30);

  const found = await notices(app);
  const [mail, ...others] = found.filter(({ recipient }) => [EDSGER, IDLE].includes(recipient));
  assert.equal([mail?.recipient, others], [EDSGER, []]);
  const { text } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });
  assert.match(text, 'is valid until 21 December 2026');
});

expiry('expires passwords at once if a superuser sets it, and is mailed', async ({ app }) => {
  await policy(app, ROOT, 30);

  await rejectsWith(logIn(app, ADA), 'password_expired');
  assert.ok((await notices(app)).some(({ recipient }) => recipient === ADA));
});

for (const [how, join] of Object.entries({
  'by an invitation': async (app: TestApp) => {
    const [invitation] = await app.as(ACME).invitations.create({ items: [{ email: EDSGER }] });
    const link = new URL(app.links.invitation(invitation?.key ?? ''));
    const signature = link.searchParams.get('signature') ?? '';
    await app.as(EDSGER).invitations.accept({ key: invitation?.key ?? '', signature });
  },
  'by an app': (app: TestApp) => app.as(ROOT).users.update({ email: EDSGER, apps: [FLEET, SALES] }),
}))
  expiry(`expires the password of who joins ${how} 7 days later, and is mailed`, async ({ app }) => {
    await policy(app, ROOT, 30);
    await emptyOutbox(app);
    await app.as(ROOT).access.update({ id: 1, cells: [{ email: EDSGER, app_id: SALES, granted: false }] });

    await join(app);

    // The end follows from the policies of both clients.
    assert.equal(await notices(app, ACME), []);
    const [mail, ...others] = await notices(app, ROOT);
    assert.equal([mail?.recipient, others], [EDSGER, []]);
    assert.equal(await notices(app, GLOBEX), [], 'the other client does not see it');
    assert.ok((await logIn(app, EDSGER)).token);
    app.clock.advance(WEEK_MS + 1);
    await rejectsWith(logIn(app, EDSGER), 'password_expired');
    app.clock.advance(-WEEK_MS - 1);
  });

expiry('is mailed to a reactivated user if it got shorter while they were inactive', async ({ app }) => {
  await policy(app, ACME, 30);
  assert.not.ok((await notices(app)).some(({ recipient }) => recipient === IDLE));
  app.clock.advance(2 * WEEK_MS);

  await app.as(ACME).users.update({ email: IDLE, is_active: true });

  assert.is((await notices(app)).filter(({ recipient }) => recipient === IDLE).length, 1);
  assert.ok((await logIn(app, IDLE)).token);
  app.clock.advance(WEEK_MS + 1);
  await rejectsWith(logIn(app, IDLE), 'password_expired');
  app.clock.advance(-3 * WEEK_MS - 1);
  await app.as(ACME).users.deactivate({ email: IDLE });
});

expiry('is not mailed any more after the password was changed, or the policy ended', async ({ app }) => {
  await policy(app, ACME, 30);
  const later = new Date(app.clock.now().getTime() + 1);
  await setRows(app, 'users', { email: ADA }, { last_password_set: later });
  const retry = async (email: string) => {
    const mail = (await notices(app)).find(({ recipient }) => recipient === email);
    return app.as(ROOT).mail.retry({ id: mail?.id ?? 0 });
  };
  const refusal = async (email: string) => (await rejectsWith(retry(email), 'invalid-input')).fields;

  assert.equal(await refusal(ADA), { id: ['The password has been changed.'] });
  assert.is((await retry(GRACE)).recipient, GRACE);
  await policy(app, ACME, 0);
  assert.equal(await refusal(GRACE), { id: ['The password no longer expires.'] });
});

expiry('aside, client admins require at most 64 characters, superusers more', async ({ app }) => {
  const update = (password_min_length: number, as = ACME, more = {}) =>
    app.as(as).clients.update({ id: 1, password_min_length, ...more });
  const { fields } = await rejectsWith(update(65), 'invalid-input');
  assert.equal(Object.keys(fields ?? {}), ['password_min_length']);
  assert.is((await update(64)).password_min_length, 64);

  await update(65, ROOT);
  const echoed = await update(65, ACME, { login_title: 'Same length' });
  assert.is(echoed.login_title, 'Same length');
});

expiry.run();
