import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { ClaimedMail } from '../../src/services/mail/outbox.ts';
import { fieldsOf } from '../support/lists.ts';
import { emptyOutbox, mailTo, outboxOf } from '../support/mails.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, EDSGER, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';
import { restoreGrants } from '../support/users.ts';

const erased = appSuite('an erased person');

let pseudonym = '';

erased.before(async ({ app }) => {
  await addPerson(app);
  pseudonym = (await erase(app)).pseudonym;
});

const stateOf = async (app: TestApp) => {
  const { is_active, apps, clientadmin_of } = await app.as(ROOT).users.get({ email: pseudonym });
  const { is_staff, is_superuser } = await app.as(ROOT).roles.get({ email: pseudonym });
  const memberships = await app
    .db()
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'user_id')
    .select('client_id')
    .where('email', '=', pseudonym)
    .execute();
  return { is_active, apps, clientadmin_of, is_staff, is_superuser, memberships };
};

const NO_ACCESS = {
  is_active: false,
  apps: [],
  clientadmin_of: [],
  is_staff: false,
  is_superuser: false,
  memberships: [],
};

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

  assert.equal(await stateOf(app), NO_ACCESS);
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
    assert.match(String(fields), /reserved for erased people/);
  }
});

erased('is in no list of a client, even if an older version has revived them', async ({ app }) => {
  await sql`insert into memberships (client_id, user_id) select 1, id from users where email = ${pseudonym}`.execute(
    app.db(),
  );
  await sql`insert into app_grants (app_id, user_id) select ${SALES}, id from users where email = ${pseudonym}`.execute(
    app.db(),
  );
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
  await sql`update users set first_name = 'Zephyrine', last_name = 'Quillfeather', extra = '{"nick": "Zephyrine"}'
    where email = ${pseudonym}`.execute(app.db());
  await app.as(ROOT).usage.record({
    app_id: SALES,
    entries: [{ email: pseudonym, full_name: 'Zephyrine Quillfeather', action: 'STACK_ACCESS' }],
  });

  const again = await erase(app, pseudonym);

  assert.equal(await rowsWith(app, TRACES), []);
  await rejectsWith(app.as(ROOT).users.get({ email: pseudonym }), 'not-found');
  await app
    .as(ROOT)
    .usage.record({ app_id: SALES, entries: [{ email: PERSON, full_name: 'Z', action: 'STACK_ACCESS' }] });
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, limit: 1 });
  assert.is(items[0]?.email, again.pseudonym, 'late reports are recorded under the newest pseudonym');
});

const undo = appSuite('operations.undo');

undo.before.each(async ({ app }) => {
  await restoreGrants(app);
  await sql`
    delete from memberships m using users u where u.id = m.user_id and not m.is_admin
      and (u.email like '%@acme.test' and m.client_id = 2 or u.email = ${EDSGER} and m.client_id = 1)`.execute(
    app.db(),
  );
});

const read = async (app: TestApp, email: string) => {
  const { apps, is_active } = await app.as(ROOT).users.get({ email });
  return { apps, is_active };
};

/** Ids of the clients that the user belongs to. */
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  (
    await app
      .db()
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'user_id')
      .select('client_id')
      .where('email', '=', email)
      .execute()
  ).map(({ client_id }) => client_id);

undo('revives no person who was erased since', async ({ app }) => {
  const root = app.as(ROOT);
  const email = 'leaver@acme.test';
  await root.users.create({ email, apps: [SALES, CHURN], send_email: false });
  const off = await root.users.bulkUpdate({ emails: [email], action: 'deactivate' });
  const revoked = await root.users.bulkUpdate({ emails: [email], action: 'revoke-apps', apps: [SALES] });
  const { pseudonym } = await erase(app, email);

  const results = [
    await root.operations.undo({ id: off.operation }),
    await root.operations.undo({ id: revoked.operation }),
  ];

  assert.equal(fieldsOf(results, 'reverted', 'skipped'), [
    [0, []],
    [0, []],
  ]);
  assert.equal(await read(app, pseudonym), { apps: [], is_active: false });
  assert.equal(await clientsOf(app, pseudonym), []);
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

erased.run();
undo.run();
sent.run();
