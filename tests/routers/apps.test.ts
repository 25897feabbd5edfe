import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { fieldOf } from '../support/lists.ts';
import { install } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, logEntry, SALES } from '../support/usage.ts';

const apps = appSuite('apps');

apps('shows a member the apps they may open, without usage', async ({ app }) => {
  const seen = async (who: string) =>
    (await app.as(who).apps.list({})).map(({ slug, usage: u }) => [slug, u]);

  assert.equal(await seen(ADA), [
    ['sales', {}],
    ['churn', {}],
  ]);
  assert.equal(await seen(GRACE), [['sales', {}]]);
  await rejectsWith(app.as(GRACE).apps.get({ app_id: CHURN }), 'not-found');
});

apps('shows client admins the apps of their clients with usage, and all apps to staff', async ({ app }) => {
  const own = await app.as(ACME).apps.list({});
  const all = await app.as(STAFF).apps.list({});

  assert.equal(fieldOf(own, 'slug'), ['sales', 'churn']);
  assert.ok((own[0]?.usage['30']?.actions ?? 0) > 0);
  assert.equal(fieldOf(all, 'slug'), ['sales', 'churn', 'fleet']);
  await rejectsWith(app.as(ACME).apps.get({ app_id: FLEET }), 'not-found');
  await rejectsWith(app.as(ACME).apps.get({ app_id: 'no such id' }), 'not-found');
});

apps('shows an admin the app of another client that they may open, without usage', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const fleet = await app.as(EDSGER).apps.get({ app_id: FLEET });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });

  assert.equal(fleet.usage, {});
});

apps('counts usage of the last 30, 60 and 90 days, each window containing the shorter', async ({ app }) => {
  const of = async () => (await app.as(ROOT).apps.get({ app_id: FLEET })).usage;
  const before = await of();
  const entries = [
    ...[0, 29, 30, 59, 60, 89, 90].map((day) => logEntry(day, 'often@x.test')),
    ...[45, 75].map((day) => logEntry(day, 'before@x.test')),
    logEntry(89, 'once@x.test'),
    logEntry(90, 'too-early@x.test'),
  ];

  await writeUsage(app.orm.em.fork(), FLEET, entries, app.clock.now());
  const after = await of();
  const added = (['30', '60', '90'] as const).map((window) => [
    (after[window]?.actions ?? 0) - (before[window]?.actions ?? 0),
    (after[window]?.users ?? 0) - (before[window]?.users ?? 0),
  ]);

  assert.equal(added, [
    [2, 1],
    [5, 2],
    [9, 3],
  ]);
});

apps('can be changed only by client admins and superusers', async ({ app }) => {
  const changed = await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true, label: 'Sold' });

  assert.equal([changed.in_maintenance, changed.label, changed.slug], [true, 'Sold', 'sales']);
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false, label: 'Sales' });
  await rejectsWith(app.as(STAFF).apps.update({ app_id: SALES, label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ADA).apps.update({ app_id: SALES, label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ACME).apps.update({ app_id: FLEET, label: 'x' }), 'not-found');
  await rejectsWith(app.as(ACME).apps.update({ app_id: SALES, label: '' }), 'invalid-input');
});

apps('status returns the running version to everyone who may open the app', async ({ app }) => {
  const sales = { app_id: SALES };
  const expected = {
    id: SALES,
    slug: 'sales',
    label: 'Sales',
    version: null,
    in_maintenance: false,
    maintenance_message: '',
    maintenance_from: null,
    maintenance_until: null,
    launch_url: '',
    view_as: true,
    is_requestable: false,
  };
  for (const who of [ADA, GRACE, ACME, STAFF, ROOT])
    assert.equal(await app.as(who).apps.status(sales), expected, who);

  const launch_url = 'https://apps.acme.test/sales/';
  await install(app, { slug: 'sales', version: '1.0.0', label: 'Sales live', launch_url });
  const loaded = { ...expected, label: 'Sales live', version: '1.0.0', launch_url, view_as: false };
  assert.equal(await app.as(ADA).apps.status(sales), loaded);
});

apps('status has the message only while the app is in maintenance', async ({ app }) => {
  const change = (changes: object) => app.as(ACME).apps.update({ app_id: SALES, ...changes });
  const message = async () => (await app.as(ADA).apps.status({ app_id: SALES })).maintenance_message;

  await change({ maintenance_message: 'Back at noon.' });
  assert.is(await message(), '');
  await change({ in_maintenance: true });
  assert.is(await message(), 'Back at noon.');
  await change({ in_maintenance: false });
  assert.is(await message(), '');
});

apps('clearCache announces an event to admins of the client, superusers and staff', async ({ app }) => {
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  for (const who of [ACME, ROOT, STAFF]) {
    const [event, ...others] = await app.as(who).audit.list({ action: 'app.clear-cache' });
    assert.equal(others, []);
    assert.equal([event?.actor, event?.target, event?.target_id], [ACME, 'sales', SALES]);
    assert.equal([event?.clients, event?.details], [[1], { app_id: SALES }]);
  }
  assert.equal(await app.as(GLOBEX).audit.list({ action: 'app.clear-cache' }), []);
});

apps('clearCache is all that staff see of the trail, but for clients of theirs', async ({ app }) => {
  const root = app.as(ROOT);
  await root.apps.update({ app_id: SALES, label: 'Sales 2' });
  await root.apps.update({ app_id: FLEET, label: 'Fleet 2' });
  const seen = async (input = {}) =>
    (await app.as(STAFF).audit.list(input)).map(({ action, target }) => `${action} ${target}`);

  assert.equal(await seen(), ['app.clear-cache sales']);
  assert.equal([await seen({ client: 1 }), await seen({ client: 2 })], [['app.clear-cache sales'], []]);
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: true });
  assert.equal(await seen({ action: 'app.update' }), ['app.update fleet']);
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: false });
});

apps.run();
