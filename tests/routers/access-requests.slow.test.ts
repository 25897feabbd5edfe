import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { erase } from '../support/person.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const requests = appSuite('access requests');

/** Grants end by the clock of the database. */
requests.before(async ({ app }) => {
  await app.as(ROOT).apps.update({ app_id: FLEET, is_requestable: true });
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
});

/** Mails about requests of earlier tests would be too recent. */
requests.before.each(({ app }) => app.clock.advance(11 * MINUTE_MS));

let created = 0;

/** A new member of Acme, or of both clients, without an app that can be asked for. */
const addMember = async (app: TestApp, { isShared = false } = {}): Promise<string> => {
  created += 1;
  const email = `asking-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  if (isShared)
    await sql`insert into memberships (client_id, user_id) select 2, id from users where email = ${email}`.execute(
      app.db(),
    );
  return email;
};

const ask = (app: TestApp, email: string, input: { app?: string; reason?: string; days?: number } = {}) =>
  app.as(email).requests.create({ app: CHURN, ...input });

const mailsAbout = async (app: TestApp, id: number) => {
  const rows = await app
    .db()
    .selectFrom('outbox_mails')
    .select(['id', 'kind', 'recipient', 'client_id'])
    .where('access_request_id', '=', id)
    .orderBy('id')
    .execute();
  return Promise.all(
    rows.map(async (row) => ({ ...row, ...(await app.as(ROOT).mail.get({ id: Number(row.id) })) })),
  );
};

requests('are erased with the person, and texts about the person with them', async ({ app }) => {
  const [email, other] = [await addMember(app), await addMember(app)];
  const { id } = await ask(app, email, { reason: 'My reason' });
  const about = await ask(app, other, { reason: `As ${email} has it` });
  const [mail] = await mailsAbout(app, id);
  const { pseudonym } = await erase(app, email);

  assert.equal(await app.db().selectFrom('access_requests').select('id').where('id', '=', id).execute(), []);
  assert.is((await app.as(other).requests.get({ id: about.id })).reason, `As ${pseudonym} has it`);
  const { text } = await app.as(ROOT).mail.get({ id: Number(mail?.id) });
  assert.match(text, 'This request does not exist any more.');
});

requests.run();
