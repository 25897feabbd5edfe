import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, FLEET, logEntry, SALES } from '../support/usage.ts';

const idle = appSuite('idle apps and users');

const daysAgo = (days: number) => new Date(NOON.getTime() - days * DAY_MS);
const dayAgo = (days: number) => daysAgo(days).toISOString().slice(0, 10);

const setCreated = (app: TestApp, id: string, days: number) =>
  setRows(app, 'apps', { id }, { created_at: daysAgo(days) });

/** Usage and logins as they are known here: nothing else was recorded. */
idle.before(async ({ app }) => {
  for (const table of ['usage_days', 'usage_app_days', 'usage_windows'] as const)
    await app.db().deleteFrom(table).execute();
  await setRows(app, 'users', {}, { date_joined: daysAgo(400), last_login: daysAgo(1) });
  for (const [index, id] of [SALES, CHURN, FLEET].entries()) await setCreated(app, id, 400 - index);
  await setRows(app, 'users', { email: [ADA, GRACE, EDSGER] }, { last_login: daysAgo(100) });
  const write = (appId: string, days: number, email: string) =>
    writeUsage(app.orm.em.fork(), appId, [logEntry(days, email)], NOON);
  await write(SALES, 95, ADA);
  await write(SALES, 40, GRACE);
  await write(FLEET, 29, ADA);
});

const idleApps = async (app: TestApp, as: string, input: object) =>
  (await app.as(as).usage.idleApps(input)).map(({ id, last_used_day }) => [id, last_used_day]);

const idleUsers = async (app: TestApp, as: string, input: object) =>
  (await app.as(as).usage.idleUsers(input)).map(({ email, last_used_day }) => [email, last_used_day]);

idle('apps were not used for a number of days, and name the last one', async ({ app }) => {
  const [sales, churn, fleet] = [
    [SALES, dayAgo(40)],
    [CHURN, null],
    [FLEET, dayAgo(29)],
  ];

  assert.equal(await idleApps(app, STAFF, { days: 29 }), [sales, churn, fleet]);
  assert.equal(await idleApps(app, STAFF, {}), [sales, churn], 'a window of 30 days includes today');
  assert.equal(await idleApps(app, STAFF, { days: 41 }), [churn]);
  assert.equal(await idleApps(app, ACME, { days: 29 }), [sales, churn]);
  assert.equal(await idleApps(app, STAFF, { days: 29, client: 2 }), [fleet]);
  assert.equal(await idleApps(app, STAFF, { days: 29, search: 'SAL' }), [sales]);
});

idle('apps that are new are not idle', async ({ app }) => {
  await setCreated(app, CHURN, 10);
  const [long, short] = [await idleApps(app, ACME, { days: 41 }), await idleApps(app, ACME, { days: 9 })];
  await setCreated(app, CHURN, 399);

  assert.equal(long, []);
  assert.equal(short, [
    [SALES, dayAgo(40)],
    [CHURN, null],
  ]);
});

idle('users neither logged in nor used an app that the caller may see', async ({ app }) => {
  assert.equal(await idleUsers(app, ACME, {}), [[ADA, dayAgo(95)]]);
  assert.equal(await idleUsers(app, STAFF, {}), [[EDSGER, null]], 'they used the fleet');
  assert.equal(await idleUsers(app, ACME, { days: 39 }), [
    [ADA, dayAgo(95)],
    [GRACE, dayAgo(40)],
  ]);
  assert.equal(await idleUsers(app, STAFF, { days: 28, client: 1 }), [
    [ADA, dayAgo(29)],
    [GRACE, dayAgo(40)],
  ]);
  const all = (await idleUsers(app, STAFF, { days: 1 })).map(([email]) => email);
  assert.not.ok(all.includes('idle@acme.test'), 'inactive');
});

idle('lists are paged by cursor', async ({ app }) => {
  const [first] = await app.as(STAFF).usage.idleUsers({ days: 28, limit: 1 });
  const rest = await app.as(STAFF).usage.idleUsers({ days: 28, cursor: first?.email });
  const [oldest] = await app.as(STAFF).usage.idleApps({ days: 9, limit: 1 });
  const others = await app.as(STAFF).usage.idleApps({ days: 9, cursor: oldest?.id });

  assert.equal([first?.email, ...rest.map(({ email }) => email)], [ADA, GRACE, EDSGER]);
  assert.equal([oldest?.id, ...others.map(({ id }) => id)], [SALES, CHURN, FLEET]);
});

idle('users are those of the filter with which all of them are changed at once', async ({ app }) => {
  const filter = { is_active: true, last_seen_before: daysAgo(39) };
  const listed = await app.as(ACME).usage.idleUsers({ days: 39 });
  const { results } = await app.as(ACME).users.bulkUpdate({ filter, action: 'deactivate' });

  assert.equal(results.map(({ email }) => email).toSorted(), listed.map(({ email }) => email).toSorted());
  assert.equal(await app.as(ACME).usage.idleUsers({ days: 39 }), []);
});

idle('lists are refused to members, and for clients that the caller does not administer', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.idleApps({}), 'unauthenticated');
  await rejectsWith(app.as(EDSGER).usage.idleApps({}), 'forbidden');
  await rejectsWith(app.as(EDSGER).usage.idleUsers({}), 'forbidden');
  await rejectsWith(app.as(GLOBEX).usage.idleUsers({ client: 1 }), 'not-found');
  assert.equal(await app.as(GLOBEX).usage.idleApps({ client: 1, days: 1 }), []);
});

idle.run();
