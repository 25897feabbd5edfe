import * as assert from 'uvu/assert';
import type { ClaimedMail } from '../../src/services/mail/outbox.ts';
import { emptyOutbox, mailTo, outboxOf } from '../support/mails.ts';
import { erase } from '../support/person.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const sent = appSuite('sent mails');

sent.before.each(async ({ app }) => {
  await emptyOutbox(app);
  await app.db().deleteFrom('rate_limits').execute();
});

const take = async (app: TestApp, mails: readonly ClaimedMail[]): Promise<void> => {
  for (const mail of mails) await outboxOf(app).recordDelivery(mail, { outcome: 'taken' });
};

/** Sends all queued mails, and returns what was written into those to the address, newest first. */
const send = async (app: TestApp, recipient: string) => {
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(20);
  await take(app, mails);
  return mails
    .filter((mail) => mail.recipient === recipient)
    .sort((a, b) => b.id - a.id)
    .map((mail) => ({ id: mail.id, ...outbox.write(mail) }));
};

const newMember = async (app: TestApp, email: string): Promise<void> => {
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  await app.as(ACME).users.update({ email, first_name: 'Wilhelmina', last_name: 'Xylander' });
};

const variablesOf = async (app: TestApp, id: number): Promise<string> => {
  const rows = app.db().selectFrom('outbox_mails').select('variables').where('id', '=', id);
  return JSON.stringify((await rows.executeTakeFirstOrThrow()).variables);
};

sent('forget the names of an erased person, also of one who has asked for access', async ({ app }) => {
  const email = 'wilhelmina@acme.test';
  await newMember(app, email);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  await app.as(email).requests.create({ app: CHURN, reason: 'Numbers for Wilhelmina' });
  await app.as(null).passwords.requestReset({ email });
  await outboxOf(app).createLinks();
  const [own] = await send(app, email);
  const request = await mailTo(app, ACME);
  if (!own) return assert.unreachable();
  assert.match((await app.as(ACME).mail.get({ id: request.id })).text, `Wilhelmina Xylander (${email})`);

  const { pseudonym } = await erase(app, email);

  for (const id of [own.id, request.id]) {
    const { recipient, text } = await app.as(ROOT).mail.get({ id });
    assert.not.match(text + (await variablesOf(app, id)), /wilhelmina|xylander/i);
    assert.is(recipient, id === own.id ? pseudonym : ACME);
  }
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: false });
});

sent('keep no name of a person who is erased during the delivery', async ({ app }) => {
  const email = 'vanishing@acme.test';
  await newMember(app, email);
  await app.as(null).passwords.requestReset({ email });
  const outbox = outboxOf(app);
  await outbox.createLinks();
  const { mails } = await outbox.claim(20);
  assert.equal(
    mails.map(({ variables }) => variables.first_name),
    ['Wilhelmina'],
  );

  await erase(app, email);
  await take(app, mails);

  const { status, text } = await app.as(ROOT).mail.get({ id: mails[0]?.id ?? 0 });
  assert.is(status, 'sent');
  assert.not.match(text + (await variablesOf(app, mails[0]?.id ?? 0)), /wilhelmina|vanishing/i);
});

sent.run();
