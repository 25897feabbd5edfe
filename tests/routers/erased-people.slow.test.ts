import * as assert from 'uvu/assert';
import type { ClaimedMail } from '../../src/services/mail/outbox.ts';
import { userId } from '../support/access-views.ts';
import { fieldsOf } from '../support/lists.ts';
import { emptyOutbox, mailTo, outboxOf } from '../support/mails.ts';
import { addMember } from '../support/members.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, setRows, valuesOf } from '../support/rows.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const erased = appSuite('an erased person');

let pseudonym = '';

erased.before(async ({ app }) => {
  await addPerson(app);
  pseudonym = (await erase(app)).pseudonym;
});

/** Ids of the clients that the user belongs to. */
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  valuesOf(app, 'memberships', 'client_id', { user_id: await userId(app, email) });

const stateOf = async (app: TestApp, email: string) => {
  const { is_active, apps, clientadmin_of } = await app.as(ROOT).users.get({ email });
  const { is_staff, is_superuser } = await app.as(ROOT).roles.get({ email });
  return [is_active, apps, clientadmin_of, is_staff, is_superuser, await clientsOf(app, email)];
};

const NO_ACCESS = [false, [], [], false, false, []];

erased('gets no access, role, data or mail, also from superusers', async ({ app }) => {
  const root = app.as(ROOT);
  const refusals = [
    () => root.users.update({ email: pseudonym, is_active: true }),
    () => root.users.update({ email: pseudonym, first_name: 'Zephyrine' }),
    () => root.users.update({ email: pseudonym, apps: [SALES] }),
    () => root.roles.update({ email: pseudonym, is_staff: true }),
    () => root.roles.setClientAdmin({ id: 1, email: pseudonym, is_admin: true }),
  ];
  for (const refused of refusals)
    assert.match((await rejectsWith(refused(), 'forbidden')).message, /been erased/);
  const cell = { email: pseudonym, app_id: SALES, granted: true };
  const { fields } = await rejectsWith(root.access.update({ id: 1, cells: [cell] }), 'invalid-input');
  assert.match(fields?.['cells.0.email']?.[0] ?? '', /been erased/);

  assert.equal(await stateOf(app, pseudonym), NO_ACCESS);
});

erased('is not invited, and no account gets a reserved address', async ({ app }) => {
  const root = app.as(ROOT);
  const refusals = [
    () => root.clients.invite({ id: 1, email: pseudonym }),
    () => root.invitations.create({ items: [{ email: pseudonym, client: 1 }] }),
    () => root.users.create({ email: 'someone@erased.invalid', client: 1 }),
  ];
  for (const refused of refusals) {
    const fields = Object.values((await rejectsWith(refused(), 'invalid-input')).fields ?? {});
    assert.match(String(fields), /belong to erased people/);
  }
});

erased('is in no list of a client, even if an older version has revived them', async ({ app }) => {
  const user_id = await userId(app, pseudonym);
  await addRows(app, 'memberships', { client_id: 1, user_id });
  await addRows(app, 'app_grants', { app_id: SALES, user_id });
  const acme = app.as(ACME);

  const lists = [
    await acme.clients.users({ id: 1 }),
    await acme.users.list({ client: 1 }),
    await acme.users.list({ app: 'sales' }),
    (await acme.access.matrix({ id: 1 })).users,
  ];

  for (const list of lists) assert.not.ok(list.some(({ email }) => email === pseudonym));
});

erased('can be erased again, with what was written to the pseudonym since', async ({ app }) => {
  await setRows(app, 'users', { email: pseudonym }, { first_name: 'Zephyrine', last_name: 'Quillfeather' });
  const report = (email: string) =>
    app
      .as(ROOT)
      .usage.record({ app_id: SALES, entries: [{ email, full_name: 'Zephyrine', action: 'OPEN' }] });
  await report(pseudonym);

  const again = await erase(app, pseudonym);

  assert.equal(await rowsWith(app, TRACES), []);
  await rejectsWith(app.as(ROOT).users.get({ email: pseudonym }), 'not-found');
  await report(PERSON);
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, limit: 1 });
  assert.is(items[0]?.email, again.pseudonym, 'late reports are recorded under the newest pseudonym');
});

erased('is revived by no undo of what was done before', async ({ app }) => {
  const root = app.as(ROOT);
  const email = await addMember(app, [SALES, CHURN]);
  const off = await root.users.bulkUpdate({ emails: [email], action: 'deactivate' });
  const revoked = await root.users.bulkUpdate({ emails: [email], action: 'revoke-apps', apps: [SALES] });
  const { pseudonym: address } = await erase(app, email);

  for (const { operation } of [off, revoked])
    assert.equal(fieldsOf([await root.operations.undo({ id: operation })], 'reverted', 'skipped'), [[0, []]]);
  assert.equal(await stateOf(app, address), NO_ACCESS);
});

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

const variablesOf = async (app: TestApp, id: number): Promise<string> =>
  JSON.stringify((await rowOf(app, 'outbox_mails', { id })).variables);

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
  assert.is(mails[0]?.variables.first_name, 'Wilhelmina');

  await erase(app, email);
  await take(app, mails);

  const { status, text } = await app.as(ROOT).mail.get({ id: mails[0]?.id ?? 0 });
  assert.is(status, 'sent');
  assert.not.match(text + (await variablesOf(app, mails[0]?.id ?? 0)), /wilhelmina|vanishing/i);
});

erased.run();
sent.run();
