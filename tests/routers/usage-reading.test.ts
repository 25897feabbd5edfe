import * as assert from 'uvu/assert';
import { DEFAULT_WINDOW_DAYS } from '../../routers/schemas/fields.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT } from '../support/test-app.ts';
import { CHURN, collectPages, FLEET, SALES } from '../support/usage.ts';

const usage = appSuite('reading usage');

usage('lists the days of the default window of an app, newest first', async ({ app }) => {
  const times = async (window?: number) =>
    (await collectPages(await app.as(ACME).usage.listByApp({ app_id: SALES, window }))).map((row) =>
      row.timestamp.getTime(),
    );
  const oldest = (days: number) => app.clock.now().getTime() - days * DAY_MS;
  const standard = await times();

  assert.equal(
    standard,
    standard.toSorted((a, b) => b - a),
  );
  assert.ok(standard.every((time) => time > oldest(DEFAULT_WINDOW_DAYS)));
  assert.equal(standard, await times(DEFAULT_WINDOW_DAYS));
  assert.ok((await times(1)).length > 0 && (await times(1)).length < standard.length);
  assert.ok((await times(3650)).some((time) => time < oldest(118)));
});

usage('accepts windows of 1 to 3650 whole days', async ({ app }) => {
  for (const window of ['0', '3651', '1.5', '-1', 'x', '', '1e2', '30&window=31']) {
    const response = await app.send(`GET /jb/apps/zylTKNVx/usage/?window=${window}`, { as: ACME });
    assert.is(response.statusCode, 400, window);
    assert.ok(response.json().errors.window, window);
  }
});

usage('returns the last action of a user in an app, or all actions of a window', async ({ app }) => {
  const window = await app.as(ACME).usage.listByUser({ email: ADA, app_id: SALES, window: 120 });
  assert.ok(Symbol.asyncIterator in window);
  const all = await collectPages(window);
  const latest = await app.as(ACME).usage.listByUser({ email: ADA, app_id: SALES });

  assert.ok(all.length > 100);
  assert.equal(JSON.stringify(latest), JSON.stringify(all[0]));
  await rejectsWith(app.as(ACME).usage.listByUser({ email: GRACE, app_id: CHURN }), 'not-found');
});

usage(
  'fails with not-found for users and apps that the caller may not see, and is forbidden for members',
  async ({ app }) => {
    await rejectsWith(app.as(ACME).usage.listByUser({ email: EDSGER, app_id: SALES }), 'not-found');
    await rejectsWith(app.as(ACME).usage.listByUser({ email: ADA, app_id: FLEET }), 'not-found');
    await rejectsWith(app.as(ACME).usage.listByApp({ app_id: FLEET }), 'not-found');
    await rejectsWith(app.as(ADA).usage.listByApp({ app_id: SALES }), 'forbidden');
  },
);

usage('is forbidden for an app that the caller may open but not administer', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const admin = app.as(EDSGER);

  await rejectsWith(admin.usage.listByApp({ app_id: FLEET }), 'forbidden');
  await rejectsWith(admin.users.list({ app: 'fleet' }), 'forbidden');
  await rejectsWith(admin.apps.update({ app_id: FLEET, label: 'x' }), 'forbidden');
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });
});

usage.run();
