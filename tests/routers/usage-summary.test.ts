import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const summary = appSuite('usage.summary');

const PERSON = 'of-two-apps@x.test';
const DAY_MS = 86_400_000;
const dayAgo = (days: number) => new Date(NOON.getTime() - days * DAY_MS).toISOString().slice(0, 10);

summary.before(async ({ app }) => {
  const em = app.orm.em.fork();
  for (const id of [SALES, CHURN])
    await writeUsage(em, id, [logEntry(0, PERSON), logEntry(27, PERSON)], NOON);
  await writeUsage(em, CHURN, [logEntry(28, 'only-before@x.test'), logEntry(56, 'long-ago@x.test')], NOON);
  await writeUsage(em, FLEET, [logEntry(30, EDSGER)], NOON);
});

/** Counts the entries of the log on the days from `first` to `last` days ago. */
const countsOf = async (app: TestApp, apps: string[], first: number, last: number) => {
  const logs = await Promise.all(
    apps.map(async (app_id) => {
      const log = await collectPages(await app.as(STAFF).usage.listByApp({ app_id, window: 3650 }));
      return log.map((entry) => ({ ...entry, app_id }));
    }),
  );
  const counted = logs.flat().filter(({ timestamp }) => {
    const day = timestamp.toISOString().slice(0, 10);
    return day >= dayAgo(first) && day <= dayAgo(last);
  });
  const distinct = (key: 'email' | 'app_id') => new Set(counted.map((entry) => entry[key])).size;
  return { actions: counted.length, users: distinct('email'), used_apps: distinct('app_id') };
};

summary('counts a person of several apps once, today included, beside the days before', async ({ app }) => {
  for (const [as, apps, window] of [
    [ACME, [SALES, CHURN], 28],
    [GLOBEX, [FLEET], 28],
    [ROOT, [SALES, CHURN, FLEET], 28],
    [ROOT, [SALES, CHURN, FLEET], 7],
  ] as const) {
    const counted = await app.as(as).usage.summary({ window });
    const now = await countsOf(app, [...apps], window - 1, 0);
    const before = await countsOf(app, [...apps], 2 * window - 1, window);

    assert.equal(counted, {
      ...now,
      previous_actions: before.actions,
      previous_users: before.users,
      previous_used_apps: before.used_apps,
    });
  }
});

summary('counts one client, and nothing without usage', async ({ app }) => {
  const ofAcme = await app.as(ACME).usage.summary({});
  assert.ok(ofAcme.users > 0 && ofAcme.previous_users > 0);
  assert.equal(await app.as(ROOT).usage.summary({ client: 1 }), ofAcme);
  const site = await app.as(ROOT).sites.create({ domain: 'unused.test', name: 'Unused' });
  const { id } = await app.as(ROOT).clients.create({ name: 'Unused', site: site.id });
  assert.equal([...new Set(Object.values(await app.as(ROOT).usage.summary({ client: id })))], [0]);
});

summary('is refused to members, and for clients that the caller does not administer', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.summary({}), 'forbidden');
  await rejectsWith(app.as(ACME).usage.summary({ client: 2 }), 'not-found');
});

summary.run();
