import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, STAFF } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const charts = appSuite('usage charts');

charts('have actions and users of every day up to today, oldest first', async ({ app }) => {
  const series = await app.as(ACME).usage.series({ app_id: SALES, window: 7 });
  const log = await collectPages(await app.as(ACME).usage.listByApp({ app_id: SALES, window: 30 }));

  assert.equal(
    series.map(({ day }) => day),
    ['2026-11-15', '2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21'],
  );
  for (const { day, actions, users } of series) {
    const entries = log.filter(({ timestamp }) => timestamp.toISOString().startsWith(day));
    assert.equal([actions, users], [entries.length, new Set(entries.map(({ email }) => email)).size]);
  }
});

charts('show days without usage as zeros', async ({ app }) => {
  const series = await app.as(GLOBEX).usage.series({ app_id: FLEET, window: 3650 });

  assert.is(series.length, 3650);
  assert.equal(series[0], { day: '2016-11-24', actions: 0, users: 0 });
});

charts('show a user in one app, or in all apps that the caller administers', async ({ app }) => {
  const sum = (series: { actions: number }[]) => series.reduce((total, { actions }) => total + actions, 0);
  const inSales = await app.as(ACME).usage.series({ email: ADA, app_id: SALES });
  const inAll = await app.as(ACME).usage.series({ email: ADA });
  await writeUsage(app.orm.em.fork(), FLEET, [logEntry(0, ADA)], NOON);

  assert.ok(sum(inSales) > 0 && sum(inAll) > sum(inSales));
  assert.is(
    sum(await app.as(ACME).usage.series({ email: ADA })),
    sum(inAll),
    'the fleet is not theirs to see',
  );
  assert.is(sum(await app.as(STAFF).usage.series({ email: ADA })), sum(inAll) + 1);
});

charts('require an app or a user', async ({ app }) => {
  await rejectsWith(app.as(STAFF).usage.series({}), 'invalid-input');
});

charts('rank the most active users and stacks of an app', async ({ app }) => {
  const entries = [3, 4, 5].flatMap((days) => [
    logEntry(days, 'top@x.test', 'gone'),
    logEntry(days, 'top@x.test', 'b1b82f57'),
  ]);
  await writeUsage(app.orm.em.fork(), SALES, Array.from({ length: 50 }, () => entries).flat(), NOON);
  const { users, stacks } = await app.as(ACME).usage.top({ app_id: SALES, limit: 2 });

  assert.equal(users[0], { email: 'top@x.test', full_name: '', actions: 300, days: 3 });
  assert.ok([ADA, GRACE].includes(users[1]?.email ?? ''));
  assert.is(users.length, 2);
  assert.equal(
    stacks.map(({ stack, label }) => [stack, label]),
    [
      ['b1b82f57', 'Trends'],
      ['gone', 'gone'],
    ],
  );
  assert.equal(
    (await app.as(ACME).usage.top({ app_id: SALES, window: 2 })).stacks.some(({ stack }) => stack === 'gone'),
    false,
  );
});

charts('are available to users who administer or may view all of the app', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.top({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).usage.top({ app_id: SALES }), 'not-found');
  await rejectsWith(app.as(ACME).usage.series({ app_id: FLEET }), 'not-found');
  await rejectsWith(app.as(ACME).usage.series({ email: EDSGER }), 'not-found');
});

charts('pages of the log neither repeat nor miss an entry', async ({ app }) => {
  const same = Array.from({ length: 7 }, () => logEntry(1, 'same@x.test'));
  await writeUsage(app.orm.em.fork(), SALES, same, NOON);
  const all = await collectPages(await app.as(ACME).usage.listByApp({ app_id: SALES, window: 3650 }));
  const leafed: unknown[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await app.as(ACME).usage.list({ app_id: SALES, limit: 3 * 100 + 1, cursor });
    leafed.push(...page.items.map(({ id, ...item }) => JSON.stringify({ ...item })));
    cursor = page.next_cursor;
  }
  const few = await app.as(ACME).usage.list({ app_id: SALES, limit: 3, email: 'same@x.test' });
  const rest = await app
    .as(ACME)
    .usage.list({ app_id: SALES, email: 'same@x.test', cursor: few.next_cursor ?? '' });

  assert.equal(
    leafed,
    all.map((entry) => JSON.stringify(entry)),
  );
  assert.equal([few.items.length, rest.items.length, rest.next_cursor], [3, 4, null]);
  await rejectsWith(app.as(ACME).usage.list({ app_id: SALES, cursor: 'x' }), 'invalid-input');
});

charts('the log is filtered by a time range that excludes its end', async ({ app }) => {
  const midnights = ['2026-10-20', '2026-10-21'].map((day) => new Date(`${day}T00:00:00Z`));
  const [first, second] = midnights;
  const entries = midnights.map((occurredAt) => ({ ...logEntry(0, 'midnight@x.test'), occurredAt }));
  await writeUsage(app.orm.em.fork(), SALES, entries, NOON);
  const between = async (from?: Date, to?: Date) =>
    (await app.as(ACME).usage.list({ app_id: SALES, email: 'midnight@x.test', from, to })).items.map(
      ({ timestamp }) => timestamp,
    );

  assert.equal(await between(first, second), [first]);
  assert.equal(await between(second), [second]);
  assert.equal(await between(undefined, first), []);
});

charts('pages of the log are limited in size and miss no entry', async ({ app }) => {
  const extra = JSON.stringify({ filler: 'x'.repeat(60_000) });
  const large = Array.from({ length: 150 }, (_, n) => ({ ...logEntry(n / 100, 'large@x.test'), extra }));
  await writeUsage(app.orm.em.fork(), SALES, large, NOON);
  const sizes: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await app.as(ACME).usage.list({ app_id: SALES, email: 'large@x.test', limit: 1000, cursor });
    sizes.push(page.items.length);
    cursor = page.next_cursor;
  }

  assert.equal(sizes, [70, 70, 10]);
});

charts.run();
