import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { finishErasures } from '../../src/services/data-rights/erasure-work.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../support/person.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, EDSGER, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const erased = appSuite('an erased person');

let pseudonym = '';
erased.before(async ({ app }) => {
  await addPerson(app);
  pseudonym = (await erase(app)).pseudonym;
});

/** As a password that is set by a mailed link would. */
const verify = (app: TestApp, email: string) =>
  app.db().updateTable('users').set({ is_email_verified: true }).where('email', '=', email).execute();

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

erased('is refused by each bulk action', async ({ app }) => {
  const actions = ['grant-apps', 'revoke-apps', 'deactivate', 'reactivate', 'send-password-link'] as const;
  for (const action of actions) {
    const apps = action.endsWith('apps') ? [SALES] : [];
    const { results } = await app.as(ROOT).users.bulkUpdate({ emails: [pseudonym], action, apps });
    assert.equal(
      results.map(({ status, problem }) => [status, problem?.code]),
      [['failed', 'forbidden']],
      action,
    );
  }
  const inactive = await app
    .as(ROOT)
    .users.bulkUpdate({ filter: { is_active: false }, action: 'reactivate' });
  assert.not.ok(inactive.results.some(({ email }) => email === pseudonym));
  assert.equal(await stateOf(app), NO_ACCESS);
  const mails = await app.as(ROOT).mail.list({ recipient: pseudonym, status: 'queued' });
  assert.equal(mails, []);
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
  const digest = async () =>
    (await app.db().selectFrom('erasures').select(['pseudonym', 'digest']).orderBy('id').execute()).map(
      (row) => [row.pseudonym, row.digest !== null],
    );
  await sql`update users set first_name = 'Zephyrine', last_name = 'Quillfeather', extra = '{"nick": "Zephyrine"}'
    where email = ${pseudonym}`.execute(app.db());
  await app.as(ROOT).usage.record({
    app_id: SALES,
    entries: [{ email: pseudonym, full_name: 'Zephyrine Quillfeather', action: 'STACK_ACCESS' }],
  });

  const again = await erase(app, pseudonym);

  assert.equal(await rowsWith(app, TRACES), []);
  assert.equal(await digest(), [
    [pseudonym, false],
    [again.pseudonym, true],
  ]);
  await rejectsWith(app.as(ROOT).users.get({ email: pseudonym }), 'not-found');
  await app
    .as(ROOT)
    .usage.record({ app_id: SALES, entries: [{ email: PERSON, full_name: 'Z', action: 'STACK_ACCESS' }] });
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, limit: 1 });
  assert.is(items[0]?.email, again.pseudonym, 'late reports are recorded under the newest pseudonym');
});

erased('is replaced by the name in the data of their clients only', async ({ app }) => {
  const email = 'namesake@acme.test';
  const named = { first_name: 'Quarterly', last_name: 'Report' };
  await app.as(ACME).users.create({ email, ...named, apps: [SALES] });
  await verify(app, email);
  await app.as(ACME).groups.create({ id: 1, name: 'Readers of the Quarterly Report', members: [], apps: [] });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Quarterly Report', members: [], apps: [] });
  const text = `Quarterly Report of ${email}`;
  const entry = { email: EDSGER, action: 'OPEN', action_description: text };
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [entry] });
  await app.as(ROOT).clients.update({ id: 1, login_title: 'Quarterly Report', subtitle_404: text });
  const preview = await app.as(ROOT).users.previewErasure({ email });
  assert.equal(preview.other_clients, []);

  const gone = await erase(app, email);

  const nameOf = async (as: string, id: number) =>
    (await app.as(as).groups.list({ id }))
      .map(({ name }) => name)
      .filter((name) => /Report|erased/.test(name));
  assert.equal(await nameOf(ACME, 1), [`Readers of the ${gone.pseudonym}`]);
  assert.equal(await nameOf(GLOBEX, 2), ['Quarterly Report']);
  const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, email: EDSGER, limit: 1 });
  assert.is(items[0]?.action_description, `Quarterly Report of ${gone.pseudonym}`);
  const { login_title, subtitle_404 } = await app.as(ROOT).clients.get({ id: 1 });
  assert.equal([login_title, subtitle_404], ['Quarterly Report', `${gone.pseudonym} of ${gone.pseudonym}`]);
});

erased('may have a name that looks like a part of JSON', async ({ app }) => {
  const email = 'json@acme.test';
  await app.as(ACME).users.create({
    email,
    first_name: 'null,',
    last_name: '"client_name":',
    apps: [SALES],
    send_email: true,
  });
  const other = 'holds-json@acme.test';
  await app.as(ACME).users.create({ email: other, extra: { a: 1, b: 'by json@acme.test' } });
  await app.mailWorker.drain();

  const { pseudonym: gone } = await erase(app, email);
  await finishErasures(app.orm.em.fork(), gone, app.clock);

  assert.equal((await app.as(ACME).users.get({ email: other })).extra, { a: 1, b: `by ${gone}` });
});

erased('is counted with the names of other clients that have recorded them', async ({ app }) => {
  const email = 'recorded@acme.test';
  await app.as(ACME).users.create({ email, apps: [SALES] });
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email, action: 'OPEN' }] });
  const otherClients = async () => (await app.as(ROOT).users.previewErasure({ email })).other_clients;

  assert.equal(
    await otherClients(),
    [],
    'others may mean someone else by an address that was never verified',
  );
  await verify(app, email);
  assert.equal(await otherClients(), ['Globex Data']);
});

erased('is replaced in their clients only, if their address was never verified', async ({ app }) => {
  const email = 'entered@globex.test';
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email, action: 'OPEN', full_name: 'V' }] });
  await app.as(GLOBEX).clients.invite({ id: 2, email });
  await app.as(ACME).users.create({ email, apps: [SALES] });
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email, action: 'OPEN' }] });
  const { usage_entries, invitations_received } = await app.as(ROOT).users.previewErasure({ email });
  assert.equal([usage_entries, invitations_received], [1, 0]);

  const gone = await erase(app, email);

  const usersOf = async (as: string, app_id: string) => {
    const { items } = await app.as(as).usage.list({ app_id, limit: 1 });
    return items.map((entry) => [entry.email, entry.full_name]);
  };
  assert.equal(await usersOf(GLOBEX, FLEET), [[email, 'V']]);
  assert.equal(await usersOf(ACME, SALES), [[gone.pseudonym, '']]);
  const [invitation] = await app.as(GLOBEX).invitations.search({ search: email });
  assert.is(invitation?.status, 'pending');
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email, action: 'LATE' }] });
  assert.equal(await usersOf(ACME, SALES), [[gone.pseudonym, '']]);
});

erased(
  'is replaced where they were used to do something, although their address was never verified',
  async ({ app }) => {
    const email = 'used@globex.test';
    await app.as(GLOBEX).users.create({ email });
    await app.as(email).tokens.createNamed({ name: 'Export' });
    await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [{ email, action: 'OPEN' }] });
    await app.as(GLOBEX).memberships.remove({ id: 2, email });

    const gone = await erase(app, email);

    const { items } = await app.as(GLOBEX).usage.list({ app_id: FLEET, limit: 1 });
    assert.is(items[0]?.email, gone.pseudonym);
  },
);

erased.run();
