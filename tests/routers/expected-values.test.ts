import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const expected = appSuite('expected values of an update');

expected('refuse to overwrite a field of a user that someone else has changed', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'Grace B.' });
  const update = { email: GRACE, first_name: 'G.', last_name: 'H.' };

  await rejectsWith(
    app.as(ACME).users.update({ ...update, expected: { first_name: 'Grace', last_name: 'Hopper' } }),
    'precondition-failed',
  );
  const kept = await app.as(ACME).users.get({ email: GRACE });
  const saved = await app
    .as(ACME)
    .users.update({ ...update, expected: { first_name: 'Grace B.', last_name: 'Hopper', is_active: true } });

  assert.equal([kept.first_name, kept.last_name], ['Grace B.', 'Hopper']);
  assert.equal([saved.first_name, saved.last_name], ['G.', 'H.']);
});

expected('cover the apps and the free-form data of a user', async ({ app }) => {
  await app.as(ACME).users.update({ email: ADA, extra: { desk: 1, floor: 2 }, apps: [SALES] });
  const stale = [{ apps: [SALES, CHURN] }, { extra: { desk: 2, floor: 2 } }, { is_demo_user: true }];

  for (const values of stale) {
    const call = app.as(ACME).users.update({ email: ADA, first_name: 'A.', expected: values });
    await rejectsWith(call, 'precondition-failed');
  }
  const extra = { floor: 2, desk: 1 };
  const saved = await app
    .as(ACME)
    .users.update({ email: ADA, apps: [CHURN], expected: { apps: [SALES], extra } });

  assert.equal(saved.apps, [CHURN]);
});

expected('let one of two concurrent updates of a user through, also of their access', async ({ app }) => {
  const before = await app.as(ROOT).users.get({ email: GRACE });
  const rename = (first_name: string) =>
    app.as(ACME).users.update({ email: GRACE, first_name, expected: { first_name: before.first_name } });
  const deactivate = () =>
    app.as(ROOT).users.update({ email: EDSGER, is_active: false, expected: { is_active: true } });

  const renames = await Promise.allSettled([rename('One'), rename('Two'), rename('Three')]);
  const deactivations = await Promise.allSettled([deactivate(), deactivate()]);

  const succeeded = (outcomes: { status: string }[]) =>
    outcomes.filter(({ status }) => status === 'fulfilled').length;
  assert.equal([succeeded(renames), succeeded(deactivations)], [1, 1]);
});

expected('refuse to overwrite the texts of an app', async ({ app }) => {
  const before = await app.as(ACME).apps.get({ app_id: SALES });
  await app.as(ROOT).apps.update({ app_id: SALES, help_html: '<p>Ask Root.</p>' });
  const read = { label: before.label, help_html: before.help_html };

  await rejectsWith(
    app.as(ACME).apps.update({ app_id: SALES, label: 'Mine', expected: read }),
    'precondition-failed',
  );
  const current = { ...read, help_html: '<p>Ask Root.</p>', in_maintenance: false };
  const saved = await app.as(ACME).apps.update({ app_id: SALES, label: 'Mine', expected: current });

  assert.equal([saved.label, saved.help_html], ['Mine', '<p>Ask Root.</p>']);
});

expected('refuse to overwrite the texts and the password policy of a client', async ({ app }) => {
  const before = await app.as(ACME).clients.get({ id: 1 });
  await app.as(ROOT).clients.update({ id: 1, password_min_length: 12 });
  const { login_title, password_min_length } = before;

  await rejectsWith(
    app
      .as(ACME)
      .clients.update({ id: 1, password_min_length: 10, expected: { login_title, password_min_length } }),
    'precondition-failed',
  );
  const saved = await app
    .as(ACME)
    .clients.update({ id: 1, password_min_length: 10, expected: { login_title, password_min_length: 12 } });

  assert.is(saved.password_min_length, 10);
});

expected('may be values that an update would refuse', async ({ app }) => {
  await app.db().updateTable('clients').set({ home_location: 'imported' }).where('id', '=', 1).execute();

  const saved = await app
    .as(ACME)
    .clients.update({ id: 1, home_location: '/', expected: { home_location: 'imported' } });

  assert.is(saved.home_location, '/');
});

expected('do not reveal what the caller may not see', async ({ app }) => {
  for (const first_name of ['Ada', 'wrong']) {
    await rejectsWith(app.as(GLOBEX).users.update({ email: ADA, expected: { first_name } }), 'not-found');
    await rejectsWith(app.as(GRACE).users.update({ email: ADA, expected: { first_name } }), 'forbidden');
  }
  await rejectsWith(app.as(GLOBEX).apps.update({ app_id: SALES, expected: { label: 'x' } }), 'not-found');
  await rejectsWith(app.as(GLOBEX).clients.update({ id: 1, expected: { name: 'x' } }), 'not-found');
});

expected('are part of the body over REST', async ({ app }) => {
  const patch = (value: string) =>
    app.send(`PATCH /jb/users/${ADA}/`, {
      as: ACME,
      payload: { last_name: 'King', expected: { last_name: value } },
    });

  const refused = await patch('Byron');
  const saved = await patch('Lovelace');

  assert.equal([refused.statusCode, refused.json().type], [412, 'urn:steward:problem:precondition-failed']);
  assert.equal([saved.statusCode, saved.json().last_name], [200, 'King']);
});

expected.run();
