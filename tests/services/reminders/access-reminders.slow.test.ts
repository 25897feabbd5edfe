import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { outboxOf } from '../../support/mails.ts';
import { erase } from '../../support/person.ts';
import { deliverAll, endGrants, forgetReminders, readMail, runReminders } from '../../support/reminders.ts';
import { ACME, appSuite, EDSGER, ROOT, type TestApp } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

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
  assert.match(text, 'There is nothing to remind of any more.');
});

access.run();
