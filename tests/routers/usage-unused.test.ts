import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, FLEET, logEntry, SALES } from '../support/usage.ts';

const idle = appSuite('lists of what is unused');

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

type Unused = { days: number; client?: number; limit?: number; cursor?: string | undefined };

/** As the view `Unused` of the apps. */
const idleApps = async (app: TestApp, as: string, { days: unused_days, ...input }: Unused) => {
  const filter = { unused_days, limit: 100, ...input };
  const listed = await app.as(as).apps.list(filter);
  const daily = await app.as(as).usage.dailyByApp(filter);
  assert.equal(
    daily.map(({ id }) => id),
    listed.map(({ id }) => id),
  );
  return daily.map(({ id, last_used_day }) => [id, last_used_day]);
};

const unusedSince = (days: number) => ({
  is_active: true,
  last_seen_before: new Date(`${dayAgo(days)}T00:00:00Z`),
});

/** As the view `Unused` of the people. */
const idleUsers = async (app: TestApp, as: string, { days, ...input }: Unused) =>
  (await app.as(as).users.people({ ...unusedSince(days), sort: 'last_login', ...input })).map(
    ({ email, last_used_day }) => [email, last_used_day] as const,
  );

idle('apps were not used for a number of days, and name the last one', async ({ app }) => {
  const [sales, churn, fleet] = [
    [SALES, dayAgo(40)],
    [CHURN, null],
    [FLEET, dayAgo(29)],
  ];

  assert.equal(await idleApps(app, STAFF, { days: 29 }), [sales, churn, fleet]);
  assert.equal(
    await idleApps(app, STAFF, { days: 30 }),
    [sales, churn],
    'a window of 30 days includes today',
  );
  assert.equal(await idleApps(app, STAFF, { days: 41 }), [churn]);
  assert.equal(await idleApps(app, ACME, { days: 29 }), [sales, churn]);
  assert.equal(await idleApps(app, STAFF, { days: 29, client: 2 }), [fleet]);
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
  assert.equal(await idleUsers(app, ACME, { days: 90 }), [[ADA, dayAgo(95)]]);
  assert.equal(await idleUsers(app, STAFF, { days: 90 }), [[EDSGER, null]], 'they used the fleet');
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
  const [first] = await idleUsers(app, STAFF, { days: 28, limit: 1 });
  const rest = await idleUsers(app, STAFF, { days: 28, cursor: first?.[0] });
  const [oldest] = await app.as(STAFF).apps.list({ unused_days: 9, limit: 1 });
  const others = await app.as(STAFF).apps.list({ unused_days: 9, cursor: oldest?.id, limit: 9 });

  assert.equal([first?.[0], ...rest.map(([email]) => email)], [ADA, GRACE, EDSGER]);
  assert.equal([oldest?.id, ...others.map(({ id }) => id)], [SALES, CHURN, FLEET]);
});

idle('users are those whom a change of all matches changes', async ({ app }) => {
  const listed = await idleUsers(app, ACME, { days: 39 });
  const filter = unusedSince(39);
  const { results } = await app.as(ACME).users.bulkUpdate({ filter, action: 'deactivate' });

  assert.equal(results.map(({ email }) => email).toSorted(), listed.map(([email]) => email).toSorted());
  assert.equal(await idleUsers(app, ACME, { days: 39 }), []);
});

idle.run();
