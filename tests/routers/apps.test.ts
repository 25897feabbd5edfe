import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { fieldOf } from '../support/lists.ts';
import { install } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
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
} from '../support/test-app.ts';
import { FLEET, logEntry, SALES } from '../support/usage.ts';

const apps = appSuite('apps');

apps('shows a member the apps they may open, without usage', async ({ app }) => {
  const seen = async (who: string) =>
    (await app.as(who).apps.list({})).map(({ slug, usage: u }) => [slug, u]);

  assert.equal(await seen(ADA), [
    ['sales', {}],
    ['churn', {}],
  ]);
  assert.equal(await seen(GRACE), [['sales', {}]]);
  await rejectsWith(app.as(GRACE).apps.get({ app_id: 'Qm3vR8pa' }), 'not-found');
});

apps('shows client admins the apps of their clients with usage, and all apps to staff', async ({ app }) => {
  const own = await app.as(ACME).apps.list({});
  const all = await app.as(STAFF).apps.list({});

  assert.equal(fieldOf(own, 'slug'), ['sales', 'churn']);
  assert.ok((own[0]?.usage['30']?.actions ?? 0) > 0);
  assert.equal(fieldOf(all, 'slug'), ['sales', 'churn', 'fleet']);
  await rejectsWith(app.as(ACME).apps.get({ app_id: 'Hb7cW2ke' }), 'not-found');
  await rejectsWith(app.as(ACME).apps.get({ app_id: 'no such id' }), 'not-found');
});

apps('shows an admin the app of another client that they may open, without usage', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const fleet = await app.as(EDSGER).apps.get({ app_id: 'Hb7cW2ke' });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });

  assert.equal(fleet.usage, {});
});

apps('counts usage of the last 30, 60 and 90 days, each window containing the shorter', async ({ app }) => {
  const of = async () => (await app.as(ROOT).apps.get({ app_id: 'Hb7cW2ke' })).usage;
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
  const changed = await app.as(ACME).apps.update({ app_id: 'zylTKNVx', in_maintenance: true, label: 'Sold' });

  assert.equal([changed.in_maintenance, changed.label, changed.slug], [true, 'Sold', 'sales']);
  await app.as(ACME).apps.update({ app_id: 'zylTKNVx', in_maintenance: false, label: 'Sales' });
  await rejectsWith(app.as(STAFF).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ADA).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'Hb7cW2ke', label: 'x' }), 'not-found');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'zylTKNVx', label: '' }), 'invalid-input');
});

const APP_ID = 'zylTKNVx';

const statusFor = (app: TestApp, who: string) => app.as(who).apps.status({ app_id: APP_ID });

apps('status returns the running version to everyone who may open the app', async ({ app }) => {
  const expected = {
    id: APP_ID,
    slug: 'sales',
    label: 'Sales',
    version: null,
    in_maintenance: false,
    maintenance_message: '',
    launch_url: '',
    is_requestable: false,
  };
  for (const who of [ADA, GRACE, ACME, STAFF, ROOT]) assert.equal(await statusFor(app, who), expected, who);

  const launch_url = 'https://apps.acme.test/sales/';
  await install(app, { slug: 'sales', version: '1.0.0', label: 'Sales live', launch_url });
  const loaded = { ...expected, label: 'Sales live', version: '1.0.0', launch_url };
  assert.equal(await statusFor(app, ADA), loaded);
});

apps('status has the message only while the app is in maintenance', async ({ app }) => {
  const change = (changes: object) => app.as(ACME).apps.update({ app_id: APP_ID, ...changes });

  await change({ maintenance_message: 'Back at noon.' });
  assert.is((await statusFor(app, ADA)).maintenance_message, '');
  await change({ in_maintenance: true });
  const { in_maintenance, maintenance_message } = await statusFor(app, ADA);
  assert.equal([in_maintenance, maintenance_message], [true, 'Back at noon.']);
  await change({ in_maintenance: false });
  assert.is((await statusFor(app, ADA)).maintenance_message, '');
});

const eventsOf = (app: TestApp, who: string, target = 'sales') =>
  app.as(who).audit.list({ action: 'app.clear-cache', target });

apps('clearCache announces an event to the admins of the client and to superusers', async ({ app }) => {
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  const [event] = await eventsOf(app, ACME);
  assert.equal([event?.actor, event?.target, event?.target_id, event?.clients], [ACME, 'sales', SALES, [1]]);
  assert.equal(event?.details, { app_id: SALES });
  assert.is((await eventsOf(app, ROOT)).length, 1);
  assert.equal(await eventsOf(app, GLOBEX), []);
});

apps('clearCache announces it to staff, whose tokens platforms have, and nothing else', async ({ app }) => {
  await app.as(ACME).apps.clearCache({ app_id: SALES });

  const all = await app.as(STAFF).audit.list({ limit: 200 });
  assert.ok(all.length > 0);
  assert.ok(all.every(({ action }) => action === 'app.clear-cache'));
  const [event] = await eventsOf(app, STAFF);
  assert.equal([event?.clients, event?.details], [[1], { app_id: SALES }]);
  assert.is((await app.as(STAFF).audit.list({ client: 1 })).length, all.length);
  assert.equal(await app.as(STAFF).audit.list({ client: 2 }), []);
  assert.equal(await app.as(STAFF).audit.list({ action: 'app.update' }), []);
});

apps('clearCache shows staff who administer a client its entries, too', async ({ app }) => {
  const root = app.as(ROOT);
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: true });
  await root.apps.update({ app_id: SALES, label: 'Sales 2' });
  await root.apps.update({ app_id: FLEET, label: 'Fleet 2' });

  const updated = await app.as(STAFF).audit.list({ action: 'app.update' });
  assert.equal(fieldOf(updated, 'target'), ['fleet']);
  await root.roles.setClientAdmin({ id: 2, email: STAFF, is_admin: false });
});

apps.run();
