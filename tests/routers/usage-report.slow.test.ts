import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const usage = appSuite('usage');

type Report = Awaited<ReturnType<ReturnType<TestApp['as']>['usage']['report']>>;

/** The entries of these apps on days from `start` to `end`. */
const logOf = async (app: TestApp, apps: string[]) => {
  const pages = await Promise.all(
    apps.map(async (app_id) => collectPages(await app.as(STAFF).usage.listByApp({ app_id, window: 3650 }))),
  );
  const log = pages
    .flat()
    .map(({ email, timestamp }) => ({ email, day: timestamp.toISOString().slice(0, 10) }));
  return (start: string, end: string) => log.filter(({ day }) => day >= start && day <= end);
};

const sum = (rows: Report) => rows.reduce((total, { actions }) => total + actions, 0);

const at = (time: string, email: string) => ({ ...logEntry(0, email), occurredAt: new Date(time) });

usage.before(async ({ app }) => {
  const borders = ['2026-10-31T23:59:59.999Z', '2026-11-01T00:00:00Z', '2026-11-16T00:00:00Z'];
  const entries = [...borders, '2026-11-18T09:00:00Z'].map((time) => at(time, 'border@x.test'));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
  await writeUsage(app.orm.em.fork(), FLEET, [logEntry(1, ADA), logEntry(40, ADA)], NOON);
});

usage('report has actions and users of an app for each period and the one before', async ({ app }) => {
  const entriesOf = await logOf(app, [SALES]);
  const countOf = (start: string, end: string) => {
    const entries = entriesOf(start, end);
    return [entries.length, new Set(entries.map(({ email }) => email)).size];
  };
  for (const interval of ['day', 'week', 'month'] as const) {
    const rows = await app.as(ACME).usage.report({ app_id: SALES, interval, periods: 3 });

    assert.is(rows.length, 3);
    for (const row of rows) {
      assert.equal([row.actions, row.users], countOf(row.start, row.end), `${interval} ${row.start}`);
      assert.equal(
        [row.previous_actions, row.previous_users],
        countOf(row.previous_start, row.previous_end),
        `${interval} ${row.previous_start}`,
      );
      assert.is(row.actions_change, row.actions - row.previous_actions);
      assert.is(row.users_change, Number(row.users) - Number(row.previous_users));
    }
  }
});

usage('report sums all apps of a client, or all that the caller administers', async ({ app }) => {
  const whole = { interval: 'month', periods: 5 } as const;
  const [acme, globex] = [await logOf(app, [SALES, CHURN]), await logOf(app, [FLEET])];
  const [ofAcme, ofGlobex] = [acme, globex].map((log) => log('2026-07-01', '2026-11-21').length);

  const byClient = await app.as(STAFF).usage.report({ client: 1, ...whole });

  assert.is(sum(byClient), ofAcme);
  assert.equal(
    byClient.map(({ users, previous_users, users_change }) => [users, previous_users, users_change]),
    Array.from({ length: 5 }, () => [null, null, null]),
  );
  assert.is(sum(await app.as(ACME).usage.report(whole)), ofAcme);
  assert.is(sum(await app.as(GLOBEX).usage.report(whole)), ofGlobex);
  assert.is(sum(await app.as(ROOT).usage.report(whole)), Number(ofAcme) + Number(ofGlobex));
});

usage('report counts a person in an app, in a client, or in all of the caller', async ({ app }) => {
  const days = { periods: 30 };
  const count = async (as: string, subject: object) =>
    sum(await app.as(as).usage.report({ email: ADA, ...subject, ...days }));
  const inSales = await count(ACME, { app_id: SALES });
  const inChurn = await count(ACME, { app_id: CHURN });

  assert.ok(inSales > 0 && inChurn > 0);
  assert.is(await count(ACME, {}), inSales + inChurn, 'the fleet is not theirs to see');
  const inFleet = await count(STAFF, { client: 2 });
  assert.ok(inFleet > 0);
  assert.is(await count(STAFF, {}), inSales + inChurn + inFleet);
});

usage('report counts a stack of an app', async ({ app }) => {
  const stacks = ['a0a91e46', 'b1b82f57', 'none'];
  const [overview, trends, none] = await Promise.all(
    stacks.map(async (stack) => sum(await app.as(ACME).usage.report({ app_id: SALES, stack }))),
  );
  const { stacks: top } = await app.as(ACME).usage.top({ app_id: SALES, window: 30 });

  const found = top.filter(({ stack }) => stacks.includes(stack));
  assert.equal(found.map(({ stack, actions }) => [stack, actions]).toSorted(), [
    [stacks[0], overview],
    [stacks[1], trends],
  ]);
  assert.is(none, 0);
});

usage('report is refused to members, for foreign subjects and wrong filters', async ({ app }) => {
  const { usage } = app.as(ACME);
  await rejectsWith(app.as(ADA).usage.report({}), 'forbidden');
  await rejectsWith(usage.report({ client: 2 }), 'not-found');
  await rejectsWith(usage.report({ app_id: FLEET }), 'not-found');
  await rejectsWith(usage.report({ email: GLOBEX }), 'not-found');
  const invalid = [
    [{ client: 1, app_id: SALES }, 'client'],
    [{ stack: 'a0a91e46' }, 'stack'],
    [{ app_id: SALES, stack: 'a0a91e46', email: ADA }, 'stack'],
  ] as const;
  for (const [input, field] of invalid) {
    const { fields } = await rejectsWith(usage.report(input), 'invalid-input');
    assert.equal(Object.keys(fields ?? {}), [field]);
  }
});

const PERSON = 'of-two-apps@x.test';

const dayAgo = (days: number) => new Date(NOON.getTime() - days * DAY_MS).toISOString().slice(0, 10);

usage.before(async ({ app }) => {
  const em = app.orm.em.fork();
  for (const id of [SALES, CHURN])
    await writeUsage(em, id, [logEntry(0, PERSON), logEntry(27, PERSON)], NOON);
  await writeUsage(em, CHURN, [logEntry(28, 'only-before@x.test'), logEntry(56, 'long-ago@x.test')], NOON);
  await writeUsage(em, FLEET, [logEntry(30, GLOBEX)], NOON);
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

const renamed = (span: string, counts: object) =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${span}_${name}`, count]));

usage('summary counts one app for those who may see its usage', async ({ app }) => {
  const { actions, users } = await app.as(ACME).usage.summary({ app_id: SALES, window: 28 });

  assert.equal({ actions, users, used_apps: 1 }, await countsOf(app, [SALES], 27, 0));
  await rejectsWith(app.as(GLOBEX).usage.summary({ app_id: SALES }), 'not-found');
  await rejectsWith(app.as(ACME).usage.summary({ app_id: SALES, client: 1 }), 'invalid-input');
});

usage('summary counts a person of several apps once, beside the days before', async ({ app }) => {
  for (const [as, apps, window] of [
    [ACME, [SALES, CHURN], 28],
    [GLOBEX, [FLEET], 28],
    [ROOT, [SALES, CHURN, FLEET], 28],
    [ROOT, [SALES, CHURN, FLEET], 7],
  ] as const) {
    const counted = await app.as(as).usage.summary({ window });
    const now = await countsOf(app, [...apps], window - 1, 0);
    const before = await countsOf(app, [...apps], 2 * window - 1, window);
    const full = await countsOf(app, [...apps], window - 1, 1);
    const previousFull = await countsOf(app, [...apps], 2 * window - 1, window + 1);

    assert.equal(counted, {
      ...now,
      ...renamed('previous', before),
      ...renamed('full', full),
      ...renamed('previous_full', previousFull),
    });
  }
});

usage('summary counts one client, and nothing without usage', async ({ app }) => {
  const ofAcme = await app.as(ACME).usage.summary({});
  assert.ok(ofAcme.users > 0 && ofAcme.previous_users > 0);
  assert.equal(await app.as(ROOT).usage.summary({ client: 1 }), ofAcme);
  const site = await app.as(ROOT).sites.create({ domain: 'unused.test', name: 'Unused' });
  const { id } = await app.as(ROOT).clients.create({ name: 'Unused', site: site.id });
  assert.equal([...new Set(Object.values(await app.as(ROOT).usage.summary({ client: id })))], [0]);
});

usage.run();
