import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, type TestApp } from '../support/test-app.ts';

const bulk = appSuite('invitations.create: bulk');

const people = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, n) => ({ email: `${prefix}${n}@x.test`, initial_apps: ['zylTKNVx'] }));

const counts = async (app: TestApp) => {
  const count = async (table: 'invitations' | 'invitation_apps' | 'outbox_mails') =>
    (await app.db().selectFrom(table).selectAll().execute()).length;
  return [await count('invitations'), await count('invitation_apps'), await count('outbox_mails')];
};

bulk('creates nothing if any element is invalid', async ({ app }) => {
  for (const at of [0, 57, 99]) {
    const items = people(100).with(at, { email: ADA, initial_apps: [] });
    const attempt = await rejectsWith(app.as(ACME).invitations.create({ items }), 'invalid-input');
    assert.equal(Object.keys(attempt.fields ?? {}), [`items.${at}.email`]);
  }
  assert.equal(await counts(app), [0, 0, 0]);
});

bulk('reports every invalid element, and duplicate addresses', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [
      { email: 'twin@x.test' },
      { email: 'TWIN@x.test' },
      { email: ADA },
      { email: 'ok@x.test', client: 2 },
      { email: 'app@x.test', initial_apps: ['AAAAAAAA', 'zylTKNVx'] },
    ],
  });

  assert.is(response.statusCode, 400);
  assert.equal(response.json().errors, {
    1: { email: ['Element 0 already invites this address.'] },
    2: { email: ['An active user of this client already has this address.'] },
    3: { client: ['You cannot invite to client 2.'] },
    4: { initial_apps: ['This client has no app AAAAAAAA.'] },
  });
});

bulk('reports schema errors and conflicts together, with all errors of each element', async ({ app }) => {
  const response = await app.send('POST /jb/users/invitations/', {
    as: ACME,
    payload: [
      { email: 'bad' },
      { email: ADA, client: 1, initial_apps: ['AAAAAAAA'] },
      { initial_apps: [7] },
      'text',
    ],
  });
  const { errors } = response.json();

  assert.equal(Object.keys(errors), ['0', '1', '2', '3']);
  assert.equal(Object.keys(errors[1]).sort(), ['email', 'initial_apps']);
  assert.equal(errors[2].email, ['This field is required.']);
});

bulk('reports only the client of an element if the caller does not administer it', async ({ app }) => {
  const probe = { email: EDSGER, initial_apps: ['Hb7cW2ke', 'AAAAAAAA'] };
  const items = [2, 999].flatMap((client) => [
    { ...probe, client },
    { email: 'free@x.test', client },
  ]);
  const noClient = (client: number) => ({ client: [`You cannot invite to client ${client}.`] });

  for (const line of ['POST /jb/users/invitations/', 'POST /jb/users/invitations/?dry_run=true']) {
    const many = await app.send(line, { as: ACME, payload: items });
    const one = await app.send(line, { as: ACME, payload: items[0] ?? {} });
    assert.equal(many.json().errors, { ...[2, 2, 999, 999].map(noClient) });
    assert.equal(one.json().errors, noClient(2));
  }
});

bulk('hides a foreign client and its contents in the path of a client, too', async ({ app }) => {
  const probe = { email: EDSGER, initial_apps: ['Hb7cW2ke'] };
  const answers = [2, 999].map((id) =>
    app.send(`POST /jb/clients/${id}/users/invitations/`, { as: ACME, payload: probe }),
  );
  const [foreign, missing] = await Promise.all(answers);

  assert.is(foreign?.statusCode, 404);
  assert.equal({ ...foreign?.json(), instance: '' }, { ...missing?.json(), instance: '' });
});

bulk('responds to a million errors quickly and briefly', async ({ app }) => {
  const initial_apps = Array.from({ length: 1000 }, () => 1);
  const payload = Array.from({ length: 2000 }, (_, n) => ({ email: `f${n}@x.test`, initial_apps }));
  const response = await app.send('POST /jb/users/invitations/', { as: ACME, payload });

  assert.is(response.statusCode, 400);
  assert.ok(response.body.length < 1_000_000, `${response.body.length} bytes`);
});

bulk('changes nothing in a dry run', async ({ app }) => {
  const before = await counts(app);
  const response = await app.send('POST /jb/users/invitations/?dry_run=true', {
    as: ACME,
    payload: people(3),
  });
  const bad = await app.send('POST /jb/users/invitations/?dry_run=true', {
    as: ACME,
    payload: [{ email: ADA }],
  });
  const odd = await app.send('POST /jb/users/invitations/?dry_run=perhaps', { as: ACME, payload: people(3) });

  assert.is(response.json().length, 3);
  assert.is(bad.statusCode, 400);
  assert.ok(odd.json().errors.dry_run);
  assert.equal(await counts(app), before);
});

bulk('returns one element for each, in order, from one transaction', async ({ app }) => {
  const items = people(500, 'many').toReversed();
  const made = await app.as(ACME).invitations.create({ items });
  const [invitations, apps, mails] = await counts(app);

  assert.equal(
    made.map((invitation) => invitation.email),
    items.map((item) => item.email),
  );
  assert.equal([invitations, apps, mails], [500, 500, 500]);
});

bulk('accepts at most 10,000', async ({ app }) => {
  const payload = JSON.stringify(people(10_001, 'over'));
  const headers = { 'content-type': 'application/json' };
  const over = await app.send('POST /jb/users/invitations/', { as: ACME, payload, headers });
  const exact = await app.as(ACME).invitations.create({ items: people(10_000, 'exact') });

  assert.is(over.statusCode, 400);
  assert.equal(over.json().errors, { body: ['Must have at most 10000 elements.'] });
  assert.is(exact.length, 10_000);
});

bulk.run();
