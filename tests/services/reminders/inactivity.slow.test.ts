import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { writeUsage } from '../../../src/services/usage/usage-writes.ts';
import { outboxOf } from '../../support/mails.ts';
import { deliverAll, forgetReminders, readMail, remindersIn, runReminders } from '../../support/reminders.ts';
import { rowOf } from '../../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../../support/test-app.ts';
import { FLEET, logEntry, SALES } from '../../support/usage.ts';

const inactivity = appSuite('people who do not use a client');

/** Nobody was seen for a year but Ada and the admins, and Edsger belongs to both clients. */
inactivity.before.each(async ({ app }) => {
  await forgetReminders(app);
  const seen = [ADA, ACME, GLOBEX];
  for (const statement of [
    sql`update users set is_active = email <> 'idle@acme.test', date_joined = '2025-01-01', last_activated = null,
      last_login = case when email = any(${seen}) then ${app.clock.now()}::timestamptz else '2025-11-01' end`,
    sql`insert into memberships (client_id, user_id)
      select 1, id from users where email = any(${[EDSGER, STAFF, ROOT]}) on conflict do nothing`,
    sql`update memberships set is_active_member = true, joined_at = '2025-01-01', reactivated_at = null, ended_at = null,
      is_admin = (client_id, user_id) in (select 1, id from users where email = ${ACME}
        union all select 2, id from users where email = ${GLOBEX})`,
    sql`delete from sessions`,
    sql`delete from api_tokens`,
    sql`delete from usage_days where user_id <> (select id from users where email = ${ADA})`,
  ])
    await statement.execute(app.db());
  for (const email of [ACME, ADA, GLOBEX, GRACE, EDSGER, ROOT]) await app.renewToken(email);
  await sql`delete from api_tokens where user_id in (select id from users where email in (${GRACE}, ${EDSGER}))`.execute(
    app.db(),
  );
  await app.as(ROOT).reminders.update({ id: 1, inactive_days: 90, suspend_days: 14 });
});

const warnings = (...emails: string[]): string[] =>
  emails.map((email) => `inactivity-warning ${email}`).sort();

/** Whether the membership in a client is active. */
const isMember = async (app: TestApp, email: string, client = 1): Promise<boolean | undefined> =>
  (await app.as(ROOT).memberships.list({ email })).find((each) => each.client === client)?.is_active;

const use = (app: TestApp, email: string, appId: string) =>
  writeUsage(
    app.orm.em.fork(),
    appId,
    [{ ...logEntry(0, email), occurredAt: app.clock.now() }],
    app.clock.now(),
  );

const later = async (app: TestApp, days: number): Promise<void> => {
  await deliverAll(app);
  app.clock.advance(days * DAY_MS);
  await sql`update users set last_login = ${app.clock.now()}::timestamptz where email in (${ADA}, ${ACME})`.execute(
    app.db(),
  );
  for (const email of [ROOT, ACME, ADA]) await app.renewToken(email);
};

inactivity('are warned once, by several instances, and never staff or superusers', async ({ app }) => {
  await Promise.all([runReminders(app), runReminders(app), runReminders(app)]);
  await runReminders(app);
  const { subject, text } = await readMail(app, 'inactivity-warning', GRACE);

  assert.equal(await remindersIn(app), warnings(EDSGER, GRACE));
  assert.is(subject, 'You have not used Acme Analytics for a long time');
  assert.match(text, `${GRACE} at Acme Analytics has not been used for 90 days.`);
  assert.match(text, /your membership is suspended after \d+ December 2026/);
});

inactivity('are told of no suspension that the client does not want', async ({ app }) => {
  await app.as(ACME).reminders.update({ id: 1, suspend_days: 0 });
  await runReminders(app);
  const { text } = await readMail(app, 'inactivity-warning', GRACE);
  assert.not.match(text, 'suspended');

  await later(app, 200);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), true);
});

inactivity('are all but those who logged in, used an app, joined or came back', async ({ app }) => {
  const recent = new Date(app.clock.now().getTime() - 30 * DAY_MS);
  const changes = {
    'used an app of the client': () => use(app, GRACE, SALES),
    'logged in': () =>
      sql`update users set last_login = ${recent}::timestamptz where email = ${GRACE}`.execute(app.db()),
    joined: () =>
      sql`update memberships set joined_at = ${recent}::timestamptz where user_id = (select id from users where email = ${GRACE})`.execute(
        app.db(),
      ),
    'was reactivated': () =>
      sql`update memberships set reactivated_at = ${recent}::timestamptz where user_id = (select id from users where email = ${GRACE})`.execute(
        app.db(),
      ),
    'has a token that is used': () => app.renewToken(GRACE),
  };
  const reset = sql`update users set last_login = '2025-11-01' where email = ${GRACE}`;
  for (const [name, change] of Object.entries(changes)) {
    await change();
    await runReminders(app);
    assert.equal((await remindersIn(app)).includes(`inactivity-warning ${GRACE}`), false, name);
    await reset.execute(app.db());
    await sql`update memberships set joined_at = '2025-01-01', reactivated_at = null`.execute(app.db());
    await sql`delete from usage_days where user_id = (select id from users where email = ${GRACE})`.execute(
      app.db(),
    );
    await sql`delete from api_tokens where user_id = (select id from users where email = ${GRACE})`.execute(
      app.db(),
    );
  }
  await runReminders(app);
  assert.ok((await remindersIn(app)).includes(`inactivity-warning ${GRACE}`));
});

inactivity('of several clients are judged by the apps of this one alone', async ({ app }) => {
  await use(app, EDSGER, FLEET);
  await app.renewToken(EDSGER);
  await runReminders(app);
  assert.ok((await remindersIn(app)).includes(`inactivity-warning ${EDSGER}`));
  const { text } = await readMail(app, 'inactivity-warning', EDSGER);
  assert.not.match(text, 'Globex');

  await later(app, 15);
  await runReminders(app);
  assert.equal([await isMember(app, EDSGER), await isMember(app, EDSGER, 2)], [false, true]);
  const { is_active } = await rowOf(app, 'users', { email: EDSGER });
  assert.ok(is_active);
});

inactivity('are suspended days after the warning as by an admin, by the service', async ({ app }) => {
  await runReminders(app);
  await later(app, 13);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), true);
  await later(app, 1);
  await Promise.all([runReminders(app), runReminders(app)]);
  const about = { action: 'membership.suspend' as const, target: GRACE, from: app.clock.now() };
  const entries = await app.as(ACME).audit.list(about);
  const revoked = await app.as(ACME).audit.list({ action: 'user.change-apps', target: GRACE });

  assert.is(await isMember(app, GRACE), false);
  assert.is(await isMember(app, ADA), true);
  assert.equal(
    entries.map(({ actor, clients }) => ({ actor, clients })),
    [{ actor: '', clients: [1] }],
  );
  assert.equal(revoked, [], 'the apps are kept');
  assert.equal(await remindersIn(app), warnings(EDSGER, GRACE));
});

inactivity('are not suspended once they have come back, and are warned again much later', async ({ app }) => {
  await runReminders(app);
  await later(app, 5);
  await use(app, GRACE, SALES);
  await later(app, 20);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), true);
  await later(app, 100);
  await runReminders(app);

  assert.equal(await remindersIn(app), warnings(EDSGER, GRACE, GRACE));
  assert.is(await isMember(app, GRACE), true);
});

inactivity('are not suspended as long as their warning waits to be sent', async ({ app }) => {
  await runReminders(app);
  app.clock.advance(30 * DAY_MS);
  await app.renewToken(ROOT);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), true);

  await deliverAll(app);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), false);
});

inactivity('are warned again by other days, and not more than once a week', async ({ app }) => {
  await runReminders(app);
  await later(app, 3);
  await app.as(ACME).reminders.update({ id: 1, suspend_days: 7 });
  await later(app, 3);
  await runReminders(app);
  assert.equal(await remindersIn(app), warnings(EDSGER, GRACE));
  await later(app, 5);
  await runReminders(app);
  assert.is(
    await isMember(app, GRACE),
    true,
    'the days that the mail has said are over, but not the present ones',
  );
  assert.equal(await remindersIn(app), warnings(EDSGER, EDSGER, GRACE, GRACE));
  await later(app, 7);
  await runReminders(app);
  assert.is(await isMember(app, GRACE), false);
});

inactivity('include admins, but never the last one', async ({ app }) => {
  const longAgo = () =>
    sql`update users set last_login = '2025-11-01' where email in (${ACME}, ${GRACE})`.execute(app.db());
  const forgetTokens = () =>
    sql`delete from api_tokens where user_id in (select id from users where email in (${ACME}, ${GRACE}))`.execute(
      app.db(),
    );
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  await longAgo();
  await forgetTokens();
  await runReminders(app);
  assert.equal(await remindersIn(app), warnings(ACME, EDSGER, GRACE));
  await later(app, 20);
  await longAgo();
  await forgetTokens();
  await Promise.all([runReminders(app), runReminders(app), runReminders(app)]);
  const active = [await isMember(app, ACME), await isMember(app, GRACE)];

  assert.equal(active.filter(Boolean).length, 1, String(active));
});

inactivity('get no warning once they have come back, or are suspended', async ({ app }) => {
  await runReminders(app);
  await use(app, GRACE, SALES);
  // Mails to many follow one another in seconds.
  app.clock.advance(5_000);
  await app.as(ROOT).memberships.update({ id: 1, email: EDSGER, is_active: false });
  await outboxOf(app).claim(100);
  const rows = await app.db().selectFrom('outbox_mails').select(['recipient', 'last_error']).execute();
  const reasons = Object.fromEntries(rows.map(({ recipient, last_error }) => [recipient, last_error]));

  const gone = 'This reminder is no longer needed.';
  assert.equal(reasons, { [GRACE]: gone, [EDSGER]: gone });
});

inactivity.run();
