import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { mondayOf } from '../../../src/services/reminders/weekly-digest.ts';
import { outboxOf } from '../../support/mails.ts';
import {
  deliverAll,
  endGrants,
  forgetReminders,
  readMail,
  remindersIn,
  runReminders,
} from '../../support/reminders.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { CHURN, SALES } from '../../support/usage.ts';

const digests = appSuite('weekly digests');

digests.before.each(async ({ app }) => {
  await forgetReminders(app);
  for (const statement of [
    sql`delete from access_requests`,
    sql`delete from usage_app_days`,
    sql`update memberships set joined_at = '2025-01-01'`,
    sql`update apps set created_at = '2025-01-01'`,
  ])
    await statement.execute(app.db());
  await app.renewToken(ACME);
  await app.renewToken(ROOT);
  await app.as(ROOT).reminders.update({ id: 1, weekly_digest: true });
  await sql`delete from outbox_mails`.execute(app.db());
});

/** To the next Monday. */
const nextWeek = async (app: TestApp): Promise<void> => {
  app.clock.advance(mondayOf(app.clock.now()).getTime() + 7 * DAY_MS + 3_600_000 - app.clock.now().getTime());
  for (const email of [ACME, ROOT, ADA]) await app.renewToken(email);
};

const use = (app: TestApp, appId: string, daysAgo: number, actions: number) =>
  sql`insert into usage_app_days (app_id, day, actions, retention_histogram) values (${appId},
    (${app.clock.now()}::timestamptz at time zone 'UTC')::date - ${daysAgo}::int, ${actions}, array_fill(0, array[90]))`.execute(
    app.db(),
  );

const MAIL = `weekly-digest ${ACME}`;

digests('come on Mondays, once, and not in the week in which they were turned on', async ({ app }) => {
  await use(app, SALES, 0, 5);
  await runReminders(app);
  assert.equal(await remindersIn(app), []);
  await nextWeek(app);
  await Promise.all([runReminders(app), runReminders(app), runReminders(app)]);
  app.clock.advance(DAY_MS);
  await runReminders(app);
  assert.equal(await remindersIn(app), [MAIL]);
});

digests('follow if no instance was running on Monday', async ({ app }) => {
  await use(app, SALES, 0, 5);
  await nextWeek(app);
  app.clock.advance(2 * DAY_MS);
  await runReminders(app);
  assert.equal(await remindersIn(app), [MAIL]);
  assert.match((await readMail(app, 'weekly-digest', ACME)).text, 'Sales (5)');
});

digests('say nothing if there is nothing to say, and unused apps are no news', async ({ app }) => {
  for (let week = 0; week < 3; week += 1) {
    await nextWeek(app);
    await runReminders(app);
  }
  assert.equal(await remindersIn(app), []);
});

digests('say who came and left, what ends, what waits and what is used', async ({ app }) => {
  const admin = app.as(ACME);
  await admin.users.create({ email: 'new@acme.test', apps: [] });
  await admin.users.create({ email: 'left@acme.test', apps: [] });
  await admin.memberships.remove({ id: 1, email: 'left@acme.test' });
  for (const email of ['waits@guest.test', 'bounced@guest.test'])
    await admin.clients.invite({ id: 1, email, initial_apps: [] });
  await sql`update outbox_mails set failed_at = ${app.clock.now()}::timestamptz where recipient = 'bounced@guest.test'`.execute(
    app.db(),
  );
  await admin.apps.update({ app_id: CHURN, is_requestable: true });
  await app.renewToken(GRACE);
  await app.as(GRACE).requests.create({ app: CHURN, reason: '', days: null });
  await use(app, SALES, 0, 1_200);
  await nextWeek(app);
  await endGrants(app, ADA, new Date(app.clock.now().getTime() + 2 * DAY_MS), SALES);
  await runReminders(app);
  const { subject, text } = await readMail(app, 'weekly-digest', ACME);

  assert.is(subject, 'Your week at Acme Analytics');
  for (const line of [
    ...['New: 1 person', 'Left: 1 person', 'Access that ends this week: 1 grant'],
    'Invitations that wait: 2, of which 1 mail could not be delivered',
    ...['Requests for apps that wait: 1', 'Most used apps (actions): Sales (1,200)', 'Unused apps: Churn'],
  ])
    assert.match(text, `- ${line}`);
  assert.not.match(text, '@guest.test');
});

digests('go to present admins only, and say nothing of other clients', async ({ app }) => {
  await app.as(ROOT).users.update({ email: EDSGER, apps: [SALES] });
  await sql`update memberships set joined_at = '2025-01-01'`.execute(app.db());
  await use(app, SALES, 0, 5);
  await use(app, 'Hb7cW2ke', 0, 50);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  await nextWeek(app);
  await runReminders(app);
  assert.equal(await remindersIn(app), [MAIL, `weekly-digest ${GRACE}`]);
  assert.not.match((await readMail(app, 'weekly-digest', ACME)).text, /Fleet/);

  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: false });
  await outboxOf(app).claim(10);
  const failed = app.db().selectFrom('outbox_mails').select('recipient').where('failed_at', 'is not', null);
  assert.equal(await failed.execute(), [{ recipient: GRACE }]);
  await deliverAll(app);
});

digests.run();
