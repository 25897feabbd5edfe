import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/core/clock.ts';
import { writeUsage } from '../../src/services/apps/usage-log.ts';
import { appSuite } from '../support/app-suite.ts';
import { rejectsWith } from '../support/rejects-with.ts';
import { ACME, ADA, EDSGER, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const apps = appSuite('apps');
const usage = appSuite('usage');

const entry = (app: TestApp, daysAgo: number, email = 'w@x.test') => ({
  appId: 'Hb7cW2ke',
  email,
  fullName: 'W X',
  action: 'STACK_ACCESS',
  actionDescription: '',
  extra: {},
  occurredAt: new Date(app.clock.now().getTime() - daysAgo * DAY_MS),
});

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

apps('shows client admins those of their clients with usage, and all to staff', async ({ app }) => {
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

apps('shows an admin without usage the app of another client that they may open', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const fleet = await app.as(EDSGER).apps.get({ app_id: 'Hb7cW2ke' });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });

  assert.equal(fleet.usage, {});
});

apps('counts usage in three windows that do not overlap', async ({ app }) => {
  const of = async () => (await app.as(ROOT).apps.get({ app_id: 'Hb7cW2ke' })).usage;
  const before = await of();
  const days = [0, 29, 30, 59, 60, 89, 90];

  await writeUsage(
    app.orm.em.fork(),
    days.map((day) => entry(app, day)),
  );
  const after = await of();

  for (const window of ['30', '60', '90'] as const) {
    assert.is(after[window]?.actions, (before[window]?.actions ?? 0) + 2);
    assert.is(after[window]?.users, (before[window]?.users ?? 0) + 1);
  }
});

apps('is changed by its admins and superusers only', async ({ app }) => {
  const changed = await app.as(ACME).apps.update({ app_id: 'zylTKNVx', in_maintenance: true, label: 'Sold' });

  assert.equal([changed.in_maintenance, changed.label, changed.slug], [true, 'Sold', 'sales']);
  await rejectsWith(app.as(STAFF).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'not-allowed');
  await rejectsWith(app.as(ADA).apps.update({ app_id: 'zylTKNVx', label: 'x' }), 'not-allowed');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'Hb7cW2ke', label: 'x' }), 'not-found');
  await rejectsWith(app.as(ACME).apps.update({ app_id: 'zylTKNVx', label: '' }), 'invalid-input');
});

usage('lists the last 30 days of an app, newest first, or another window', async ({ app }) => {
  const times = async (window?: number) =>
    (await app.as(ACME).usage.ofApp({ app_id: 'zylTKNVx', window })).map((row) => row.timestamp.getTime());
  const oldest = (days: number) => app.clock.now().getTime() - days * DAY_MS;
  const standard = await times();

  assert.equal(
    standard,
    standard.toSorted((a, b) => b - a),
  );
  assert.ok(standard.every((time) => time > oldest(30)));
  assert.equal(standard, await times(30));
  assert.ok((await times(1)).length > 0 && (await times(1)).length < standard.length);
  assert.ok((await times(3650)).some((time) => time < oldest(118)));
});

usage('takes whole days from 1 to 3650', async ({ app }) => {
  for (const window of ['0', '3651', '1.5', '-1', 'x', '', '1e2', '30&window=31']) {
    const response = await app.send(`GET /jb/apps/zylTKNVx/usage/?window=${window}`, { as: ACME });
    assert.is(response.statusCode, 400, window);
    assert.ok(response.json().errors.window, window);
  }
});

usage('answers what a user did last in an app, or with a window all of it', async ({ app }) => {
  const all = await app.as(ACME).usage.ofUser({ email: ADA, app_id: 'zylTKNVx', window: 120 });
  const latest = await app.as(ACME).usage.ofUser({ email: ADA, app_id: 'zylTKNVx' });

  assert.ok(Array.isArray(all) && all.length > 100);
  assert.equal(latest, Array.isArray(all) ? all[0] : undefined);
  await rejectsWith(app.as(ACME).usage.ofUser({ email: GRACE, app_id: 'Qm3vR8pa' }), 'not-found');
});

usage('answers 404 for whom or what the caller may not see, and 403 to members', async ({ app }) => {
  await rejectsWith(app.as(ACME).usage.ofUser({ email: EDSGER, app_id: 'zylTKNVx' }), 'not-found');
  await rejectsWith(app.as(ACME).usage.ofUser({ email: ADA, app_id: 'Hb7cW2ke' }), 'not-found');
  await rejectsWith(app.as(ACME).usage.ofApp({ app_id: 'Hb7cW2ke' }), 'not-found');
  await rejectsWith(app.as(ADA).usage.ofApp({ app_id: 'zylTKNVx' }), 'not-allowed');
});

usage('is refused with 403 for an app that the caller may open but not oversee', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const admin = app.as(EDSGER);

  await rejectsWith(admin.usage.ofApp({ app_id: 'Hb7cW2ke' }), 'not-allowed');
  await rejectsWith(admin.users.list({ app: 'fleet' }), 'not-allowed');
  await rejectsWith(admin.apps.update({ app_id: 'Hb7cW2ke', label: 'x' }), 'not-allowed');
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });
});

usage('keeps the rollup equal to a recount, whichever month, many at once', async ({ app }) => {
  const batches = Array.from({ length: 8 }, (_, n) =>
    Array.from({ length: 50 }, (_, k) => entry(app, (n * 50 + k) % 300, `u${k % 7}@x.test`)),
  );

  await Promise.all(batches.map((batch) => writeUsage(app.orm.em.fork(), batch)));
  const log = await app.db().selectFrom('usage_entries').select(['app_id', 'email', 'occurred_at']).execute();
  const days = await app.db().selectFrom('usage_days').selectAll().execute();
  const recount = new Map<string, number>();
  for (const row of log) {
    const key = `${row.app_id} ${row.occurred_at.toISOString().slice(0, 10)} ${row.email}`;
    recount.set(key, (recount.get(key) ?? 0) + 1);
  }

  assert.is(days.length, recount.size);
  for (const row of days) assert.is(row.actions, recount.get(`${row.app_id} ${row.day} ${row.email}`));
});

apps.run();
usage.run();
