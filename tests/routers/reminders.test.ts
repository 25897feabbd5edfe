import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { deliverAll, endGrants, forgetReminders, remindersIn, runReminders } from '../support/reminders.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, type TestApp } from '../support/test-app.ts';

const OFF = {
  access_days: 0,
  access_admins: false,
  invitation_days: 0,
  inactive_days: 0,
  suspend_days: 0,
  weekly_digest: false,
};

const settings = appSuite('reminders.update');

settings.before.each(({ app }) => forgetReminders(app));

const update = (app: TestApp, changes: object, email = ACME) =>
  app.as(email).reminders.update({ id: 1, ...changes });

settings('has everything off at first, and then nothing is sent', async ({ app }) => {
  await endGrants(app, ADA, new Date(app.clock.now().getTime() + DAY_MS));
  assert.equal(await app.as(ACME).reminders.get({ id: 1 }), OFF);

  await runReminders(app);
  assert.equal(await remindersIn(app), []);
});

settings('changes what is sent along, and records it', async ({ app }) => {
  await update(app, { access_days: 7, weekly_digest: true });
  const changed = await update(app, { inactive_days: 90, weekly_digest: false });
  await update(app, { inactive_days: 90 });
  const entries = await app.as(ACME).audit.list({ action: 'client.change-reminders' });

  assert.equal(changed, { ...OFF, access_days: 7, inactive_days: 90 });
  assert.equal(await app.as(ACME).reminders.get({ id: 1 }), changed);
  assert.equal(
    entries.map(({ details }) => details),
    [
      { inactive_days: { from: 0, to: 90 }, weekly_digest: { from: true, to: false } },
      { access_days: { from: 0, to: 7 }, weekly_digest: { from: false, to: true } },
    ],
  );
});

settings('takes only days that give time', async ({ app }) => {
  const wrong = [
    ...[{ access_days: 91 }, { access_days: -1 }, { inactive_days: 13 }, { suspend_days: 6 }],
    ...[{ invitation_days: 91 }, { access_days: null }, { suspend_days: 366 }],
  ];
  for (const changes of wrong) {
    const { fields } = await rejectsWith(update(app, changes), 'invalid-input');
    assert.equal(Object.keys(fields ?? {}), Object.keys(changes));
  }
  await update(app, { invitation_days: 13, inactive_days: 14, suspend_days: 7 });
});

const preview = appSuite('reminders.preview');

preview.before.each(({ app }) => forgetReminders(app));

type Preview = Awaited<ReturnType<ReturnType<TestApp['as']>['reminders']['preview']>>;

/** The mails that a preview announces. */
const announced = (found: Preview): string[] => {
  const mails = (kind: string, { people }: Preview['access']) =>
    people.map(({ email }) => `${kind} ${email}`);
  return [
    ...mails('access-ending', found.access),
    ...mails('access-ending-report', found.access_admins),
    ...mails('invitation-reminder', found.invitations),
    ...mails('inactivity-warning', found.inactive),
    ...mails('weekly-digest', found.weekly_digest),
  ].sort();
};

const WANTED = {
  access_days: 7,
  access_admins: true,
  invitation_days: 3,
  inactive_days: 30,
  suspend_days: 14,
  weekly_digest: true,
};

/** Ada's access and an invitation end soon, and Grace was not seen for long. */
const prepare = async (app: TestApp): Promise<void> => {
  await app.as(ACME).clients.invite({ id: 1, email: 'late@guest.test', initial_apps: [] });
  await sql`update invitations set email_count = 1,
    expires_at = ${new Date(app.clock.now().getTime() + 2 * DAY_MS)}::timestamptz`.execute(app.db());
  await deliverAll(app);
  // A reminder does not follow a mail of the same day.
  await sql`update outbox_mails set sent_at = sent_at - interval '1 day'`.execute(app.db());
  await endGrants(app, ADA, new Date(app.clock.now().getTime() + 5 * DAY_MS));
  const user_id = await userId(app, GRACE);
  const long = new Date('2025-01-01T00:00:00Z');
  await setRows(app, 'users', { id: user_id }, { last_login: null, date_joined: long });
  await setRows(app, 'memberships', { user_id }, { joined_at: long });
  for (const table of ['sessions', 'api_tokens', 'usage_days'] as const)
    await app.db().deleteFrom(table).where('user_id', '=', user_id).execute();
};

preview('announces exactly the mails that the next run enqueues, before anything is on', async ({ app }) => {
  await prepare(app);
  const before = await app.as(ACME).reminders.preview({ id: 1, ...WANTED });
  assert.equal(await app.as(ACME).reminders.get({ id: 1 }), OFF, 'a preview changes nothing');
  assert.equal(await remindersIn(app), []);
  await update(app, WANTED);
  // The first digest is that of the week that has begun.
  await sql`update client_reminders set digest_for = null`.execute(app.db());
  await runReminders(app);

  const mails = await remindersIn(app);
  for (const mail of [
    ...[`access-ending ${ADA}`, `access-ending-report ${ACME}`, 'invitation-reminder late@guest.test'],
    ...[`inactivity-warning ${GRACE}`, `weekly-digest ${ACME}`],
  ])
    assert.ok(mails.includes(mail), mail);
  assert.equal(announced(before), mails);
  assert.equal(before.access.people[0]?.apps.toSorted(), ['Churn', 'Sales']);
  const after = await app.as(ACME).reminders.preview({ id: 1 });
  const { weekly_digest: _, ...sections } = after;
  assert.equal(announced({ ...sections, weekly_digest: { count: 0, people: [] } }), []);
});

preview('says who would be suspended, and no one of other settings', async ({ app }) => {
  await prepare(app);
  await update(app, WANTED);
  await runReminders(app);
  await deliverAll(app);
  app.clock.advance(15 * DAY_MS);
  await app.renewToken(ACME);
  const suspended = async (changes: object) =>
    (await app.as(ACME).reminders.preview({ id: 1, ...changes })).suspended.people.map(({ email }) => email);

  assert.equal(await suspended({}), [GRACE]);
  assert.equal(await suspended({ suspend_days: 7 }), []);
  assert.equal(await suspended({ suspend_days: 0 }), []);
});

preview('counts all, and lists as many as asked for', async ({ app }) => {
  await prepare(app);
  await endGrants(app, GRACE, new Date(app.clock.now().getTime() + 6 * DAY_MS));
  const { access } = await app.as(ACME).reminders.preview({ id: 1, access_days: 7, limit: 1 });

  assert.equal([access.count, access.people.length, access.people[0]?.email], [2, 1, ADA]);
});

settings.run();
preview.run();
