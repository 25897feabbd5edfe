import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { INVITATION_DAYS, inviteByLink, outboxOf } from '../../support/mails.ts';
import { deliverAll, forgetReminders, readMail, remindersIn, runReminders } from '../../support/reminders.ts';
import { rowOf } from '../../support/rows.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../../support/test-app.ts';

const reminders = appSuite('reminders of invitations');

reminders.before.each(async ({ app }) => {
  await forgetReminders(app);
  await app.renewToken(ACME);
  await app.renewToken(ROOT);
  await app.as(ROOT).reminders.update({ id: 1, invitation_days: 3 });
});

let invited = 0;

/** Somebody whose invitation was mailed, and expires in 14 days. */
const invite = async (app: TestApp): Promise<string> => {
  const email = `late-${++invited}@guest.test`;
  await app.as(ACME).clients.invite({ id: 1, email, initial_apps: [] });
  const { mails } = await outboxOf(app).claim(10);
  for (const mail of mails) await outboxOf(app).recordDelivery(mail, { outcome: 'taken' });
  return email;
};

const later = async (app: TestApp, days: number): Promise<void> => {
  app.clock.advance(days * DAY_MS);
  for (const email of [ACME, ROOT]) await app.renewToken(email);
};

const expiryOf = async (app: TestApp, email: string): Promise<Date> =>
  (await rowOf(app, 'invitations', { email })).expires_at;

reminders('go to the invited person once, with the link, and extend nothing', async ({ app }) => {
  const email = await invite(app);
  const expires = await expiryOf(app, email);
  await later(app, 10);
  await runReminders(app);
  assert.equal(await remindersIn(app), []);
  await later(app, 1);
  await Promise.all([runReminders(app), runReminders(app), runReminders(app)]);
  const { mails } = await outboxOf(app).claim(10);
  for (const mail of mails) await outboxOf(app).recordDelivery(mail, { outcome: 'taken' });
  await later(app, 1);
  await runReminders(app);
  const { subject, text } = await readMail(app, 'invitation-reminder', email);

  assert.equal(await remindersIn(app), [`invitation-reminder ${email}`]);
  assert.is(subject, 'Reminder: your invitation to Acme Analytics');
  assert.match(text, /This invitation expires on 5 December 2026, 12:00 \(UTC\)\./);
  assert.match(text, 'Accept the invitation:');
  assert.equal(await expiryOf(app, email), expires);
});

reminders('do not follow another mail of the invitation on the same day', async ({ app }) => {
  const email = await invite(app);
  await app.as(ACME).reminders.update({ id: 1, invitation_days: 90 });
  await runReminders(app);
  const atOnce = await remindersIn(app);
  await later(app, 1);
  const { invitations } = await app.as(ACME).reminders.preview({ id: 1 });
  await runReminders(app);

  assert.equal(atOnce, []);
  assert.is(invitations.count, 1);
  assert.equal(await remindersIn(app), [`invitation-reminder ${email}`]);
});

reminders('are for no one who has accepted, or whose invitation was revoked', async ({ app }) => {
  const emails = [await invite(app), await invite(app), await invite(app)];
  await later(app, 12);
  await sql`update invitations set status = 'accepted' where email = ${emails[0]}`.execute(app.db());
  await runReminders(app);
  assert.equal(
    await remindersIn(app),
    emails.slice(1).map((email) => `invitation-reminder ${email}`),
  );

  await sql`update invitations set status = 'revoked' where email = ${emails[1]}`.execute(app.db());
  await app.as(ACME).reminders.update({ id: 1, invitation_days: 0 });
  // Mails to many follow one another in seconds.
  app.clock.advance(5_000);
  await outboxOf(app).claim(10);
  const failed = app.db().selectFrom('outbox_mails').select('last_error').where('failed_at', 'is not', null);
  assert.equal(
    (await failed.orderBy('id').execute()).map(({ last_error }) => last_error),
    ['The invitation has been revoked.', 'This reminder is no longer needed.'],
  );
});

reminders('are for no one whose invitation was never delivered', async ({ app }) => {
  await inviteByLink(app, { email: 'copied@guest.test' });
  await deliverAll(app);
  await later(app, INVITATION_DAYS - 2);
  await runReminders(app);

  assert.equal(await remindersIn(app), []);
});

reminders.run();
