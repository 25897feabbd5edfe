import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, STAFF } from '../support/test-app.ts';
import { FLEET, logEntry } from '../support/usage.ts';

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

  assert.equal(
    own.map((shown) => shown.slug),
    ['sales', 'churn'],
  );
  assert.ok((own[0]?.usage['30']?.actions ?? 0) > 0);
  assert.equal(
    all.map((shown) => shown.slug),
    ['sales', 'churn', 'fleet'],
  );
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
  await rejectsWith(app.as(STAFF).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ADA).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'forbidden');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'Hb7cW2ke', label: 'x' }), 'not-found');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'zylTKNVx', label: '' }), 'invalid-input');
});

apps.run();
