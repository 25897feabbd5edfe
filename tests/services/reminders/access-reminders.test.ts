import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { outboxOf } from '../../support/mails.ts';
import { erase } from '../../support/person.ts';
import {
  deliverAll,
  endGrants,
  forgetReminders,
  readMail,
  remindersIn,
  runReminders,
} from '../../support/reminders.ts';
import { setRows } from '../../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../../support/usage.ts';

const access = appSuite('reminders of access that ends');

access.before.each(async ({ app }) => {
  await forgetReminders(app);
  await sql`delete from memberships where client_id = 1 and user_id = (select id from users where email = ${EDSGER})`.execute(
    app.db(),
  );
  await app.renewToken(ACME);
  await app.as(ROOT).reminders.update({ id: 1, access_days: 7 });
});

const inDays = (app: TestApp, days: number): Date => new Date(app.clock.now().getTime() + days * DAY_MS);

/** Why the queued mails are not sent, after a worker has looked at them. */
const lookAtAll = async (app: TestApp): Promise<(string | null)[]> => {
  await outboxOf(app).claim(100);
  const rows = await app.db().selectFrom('outbox_mails').select('last_error').orderBy('id').execute();
  return rows.map(({ last_error }) => last_error);
};

access('are one mail to the person, by the days of UTC', async ({ app }) => {
  await endGrants(app, ADA, new Date('2026-11-28T23:59:59Z'), SALES);
  await endGrants(app, ADA, new Date('2026-11-27T12:00:00Z'), CHURN);
  await endGrants(app, GRACE, new Date('2026-11-29T00:00:00Z'), SALES);
  await runReminders(app);
  const { subject, text } = await readMail(app, 'access-ending', ADA);

  assert.equal(await remindersIn(app), [`access-ending ${ADA}`]);
  assert.is(subject, 'Your access at Acme Analytics ends soon');
  assert.match(text, '- Churn: 27 November 2026, 12:00 (UTC)\n- Sales: 28 November 2026, 23:59 (UTC)');
});

access('are enqueued once by several instances, and once more after an extension', async ({ app }) => {
  await endGrants(app, ADA, inDays(app, 5));
  await endGrants(app, GRACE, inDays(app, 6));
  await Promise.all(Array.from({ length: 4 }, () => runReminders(app)));
  await runReminders(app);
  const both = [`access-ending ${ADA}`, `access-ending ${GRACE}`];
  assert.equal(await remindersIn(app), both);

  await deliverAll(app);
  await endGrants(app, ADA, inDays(app, 20));
  await runReminders(app);
  assert.equal(await remindersIn(app), both);
  await endGrants(app, ADA, inDays(app, 4));
  await runReminders(app);
  assert.equal(await remindersIn(app), [`access-ending ${ADA}`, ...both]);
});

access('are lost and doubled by no crash: stamp and mail are of one transaction', async ({ app }) => {
  await endGrants(app, ADA, inDays(app, 5));
  const failing = sql`create trigger fail before insert on outbox_mails for each row
    when (new.kind = 'access-ending') execute function fail_mail()`;
  await sql`create function fail_mail() returns trigger language plpgsql as $$ begin raise 'crash'; end $$`.execute(
    app.db(),
  );
  await failing.execute(app.db());
  await runReminders(app).then(
    () => assert.unreachable(),
    () => {},
  );
  assert.equal(await remindersIn(app), []);
  await sql`drop trigger fail on outbox_mails`.execute(app.db());
  await runReminders(app);
  await runReminders(app);

  assert.equal(await remindersIn(app), [`access-ending ${ADA}`]);
});

access('wait for no one who changes a grant, whose reminder follows', async ({ app }) => {
  await endGrants(app, ADA, inDays(app, 5));
  await endGrants(app, GRACE, inDays(app, 5));
  await app.orm.em.fork().transactional(async (tx) => {
    await tx.execute(`select from users where email = '${ADA}' for update`);
    await runReminders(app);
    assert.equal(await remindersIn(app), [`access-ending ${GRACE}`]);
  });
  await runReminders(app);

  assert.equal(await remindersIn(app), [`access-ending ${ADA}`, `access-ending ${GRACE}`]);
});

const isNotSent = async (app: TestApp, change: () => Promise<unknown>, reason: string): Promise<void> => {
  await endGrants(app, ADA, inDays(app, 5));
  await runReminders(app);
  await change();

  assert.equal(await lookAtAll(app), [reason]);
};

access('are not sent once the access was extended', ({ app }) =>
  isNotSent(app, () => endGrants(app, ADA, inDays(app, 90)), 'This reminder is no longer needed.'),
);

access('are not sent once the client has turned them off', ({ app }) =>
  isNotSent(
    app,
    () => app.as(ACME).reminders.update({ id: 1, access_days: 0 }),
    'This reminder is no longer needed.',
  ),
);

access('are not sent to people who were deactivated since', async ({ app }) => {
  const setActive = (isActive: boolean) => setRows(app, 'users', { email: ADA }, { is_active: isActive });
  await isNotSent(app, () => setActive(false), 'The account has been deactivated.');
  await setActive(true);
});

access('are for no one who keeps the app, or lost it already', async ({ app }) => {
  const end = async (): Promise<void> => {
    for (const email of [ADA, GRACE]) await endGrants(app, email, inDays(app, 5));
    await runReminders(app);
  };
  const group = await app
    .as(ACME)
    .groups.create({ id: 1, name: 'All', members: [ADA], apps: [SALES, CHURN] });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  await end();
  assert.equal(await remindersIn(app), [], 'by a group, or a role');

  await app.as(ACME).groups.remove({ id: 1, group_id: group.id });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: false });
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: false });
  await end();
  assert.equal(await remindersIn(app), [], 'of a closed client');
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: true });
  await end();
  assert.equal(await remindersIn(app), [`access-ending ${ADA}`, `access-ending ${GRACE}`]);
});

access('of a person of two clients mention only the one that sends them', async ({ app }) => {
  await app.as(ROOT).users.update({ email: EDSGER, apps: [FLEET, SALES] });
  await app.as(GLOBEX).reminders.update({ id: 2, access_days: 7 });
  await endGrants(app, EDSGER, inDays(app, 3));
  await runReminders(app);
  const mails = await app
    .db()
    .selectFrom('outbox_mails')
    .select(['id', 'client_id'])
    .orderBy('client_id')
    .execute();
  const texts = await Promise.all(mails.map(({ id }) => app.as(ROOT).mail.get({ id })));

  assert.equal(
    mails.map(({ client_id }) => client_id),
    [1, 2],
  );
  assert.ok(texts[0]?.text.includes('Sales') && !texts[0].text.includes('Fleet'));
  assert.ok(texts[1]?.text.includes('Fleet') && !texts[1].text.includes('Sales'));
  const seen = await app.as(ACME).mail.list({ recipient: EDSGER, status: 'all' });
  assert.equal(
    seen.map(({ subject }) => subject),
    ['Your access at Acme Analytics ends soon'],
  );
});

access('tell the admins who want to know, once a day', async ({ app }) => {
  await app.as(ACME).reminders.update({ id: 1, access_admins: true });
  await endGrants(app, ADA, inDays(app, 5), SALES);
  await Promise.all([runReminders(app), runReminders(app)]);
  const report = `access-ending-report ${ACME}`;
  const count = async () => (await remindersIn(app)).filter((mail) => mail === report).length;
  assert.is(await count(), 1);
  const { text } = await readMail(app, 'access-ending-report', ACME);
  assert.match(text, `- Ada Lovelace (${ADA}): Sales, until 26 November 2026, 12:00 (UTC)`);

  await deliverAll(app);
  await endGrants(app, GRACE, inDays(app, 8));
  await runReminders(app);
  assert.is(await count(), 1);
  app.clock.advance(DAY_MS);
  await Promise.all([runReminders(app), runReminders(app)]);
  assert.is(await count(), 2);
  app.clock.advance(DAY_MS);
  await runReminders(app);
  assert.is(await count(), 2, 'nothing else ends');
  app.clock.advance(-2 * DAY_MS);
});

access('to admins list no person who was erased since, also in sent mails', async ({ app }) => {
  const email = 'gone@acme.test';
  await app.as(ACME).users.create({ email, apps: [SALES] });
  await sql`delete from outbox_mails`.execute(app.db());
  await app.as(ACME).reminders.update({ id: 1, access_admins: true });
  await endGrants(app, email, inDays(app, 5));
  await runReminders(app);
  await outboxOf(app).claim(100);
  await deliverAll(app);
  assert.match((await readMail(app, 'access-ending-report', ACME)).text, email);
  await erase(app, email);
  const { text } = await readMail(app, 'access-ending-report', ACME);

  assert.not.match(text, email);
  assert.match(text, 'This reminder is no longer needed.');
});

access.run();
