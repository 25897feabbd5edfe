import * as assert from 'uvu/assert';
import { DEFAULT_WINDOW_DAYS } from '../../routers/schemas/fields.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { CHURN, collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';

const usage = appSuite('usage');

usage('reading lists the days of the default window of an app, newest first', async ({ app }) => {
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

usage('reading accepts windows of 1 to 3650 whole days', async ({ app }) => {
  for (const window of [0, 3651, 1.5, -1]) {
    const read = app.as(ACME).usage.listByApp({ app_id: SALES, window });
    assert.ok((await rejectsWith(read, 'invalid-input')).fields?.window, `${window}`);
  }
});

usage('reading returns the last action of a user in an app, or all actions of a window', async ({ app }) => {
  const window = await app.as(ACME).usage.listByUser({ email: ADA, app_id: SALES, window: 120 });
  assert.ok(Symbol.asyncIterator in window);
  const all = await collectPages(window);
  const latest = await app.as(ACME).usage.listByUser({ email: ADA, app_id: SALES });

  assert.ok(all.length > 100);
  assert.equal(JSON.stringify(latest), JSON.stringify(all[0]));
  await rejectsWith(app.as(ACME).usage.listByUser({ email: ACME, app_id: CHURN }), 'not-found');
});

usage('reading fails with not-found if the caller may see only the user or only the app', async ({ app }) => {
  await rejectsWith(app.as(ACME).usage.listByUser({ email: EDSGER, app_id: SALES }), 'not-found');
  await rejectsWith(app.as(ACME).usage.listByUser({ email: ADA, app_id: FLEET }), 'not-found');
});

usage('reading is forbidden for an app that the caller may open but not administer', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const admin = app.as(EDSGER);

  await rejectsWith(admin.usage.listByApp({ app_id: FLEET }), 'forbidden');
  await rejectsWith(admin.users.list({ app: 'fleet' }), 'forbidden');
  await rejectsWith(admin.apps.update({ app_id: FLEET, label: 'x' }), 'forbidden');
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });
});

usage('dailyByApp have the actions of each day, oldest first', async ({ app }) => {
  const listed = await app.as(ACME).usage.dailyByApp({ window: 7 });

  const shown = listed.map(({ id, client }) => `${id} ${client}`);
  assert.equal(shown, [`${SALES} 1`, `${CHURN} 1`]);
  for (const { id, daily_actions } of listed) {
    const series = (await app.as(ACME).usage.series({ app_id: id, window: 7 })).map(({ actions }) => actions);
    assert.equal(daily_actions, series);
  }
});

usage('dailyByApp have the pages and filters of apps.list', async ({ app }) => {
  const { usage, apps: listed } = app.as(ROOT);
  const ids = (items: { id: string }[]) => items.map(({ id }) => id);
  for (const filter of [{ client: 2 }, { search: 'sal' }, { limit: 1, cursor: SALES }, { is_unused: true }])
    assert.equal(ids(await usage.dailyByApp(filter)), ids(await listed.list(filter)), JSON.stringify(filter));

  assert.equal(ids(await usage.dailyByApp({ client: 2 })), [FLEET]);
});

usage('byApp ranks apps by their actions in the window', async ({ app }) => {
  const figures = async (as: string, input: object) =>
    (await app.as(as).usage.byApp({ periods: 90, ...input })).apps.map(({ id, actions }) => ({
      id,
      actions,
    }));
  const all = await figures(STAFF, {});
  const counts = all.map(({ actions }) => actions);
  const sumOf = async ({ id }: { id: string }) => {
    const series = await app.as(STAFF).usage.series({ app_id: id, window: 90 });
    return series.reduce((sum, { actions }) => sum + actions, 0);
  };

  assert.equal(all.map(({ id }) => id).toSorted(), [SALES, CHURN, FLEET].toSorted());
  assert.equal(counts, await Promise.all(all.map(sumOf)));
  assert.equal(
    counts,
    counts.toSorted((a, b) => b - a),
  );
  assert.equal(await figures(STAFF, { limit: 2 }), all.slice(0, 2));
  const [fleet, others] = [all.filter(({ id }) => id === FLEET), all.filter(({ id }) => id !== FLEET)];
  assert.equal(await figures(GLOBEX, {}), fleet);
  assert.equal(await figures(STAFF, { client: 1 }), others);
  assert.equal(await figures(STAFF, { app_ids: [FLEET] }), fleet);
  assert.equal(await figures(ACME, { app_ids: [FLEET] }), [], 'an app of another client');
});

usage('byApp counts the seats of an app: people who were given it and may open it', async ({ app }) => {
  const figures = async () => {
    const { apps } = await app.as(ACME).usage.byApp({ app_ids: [CHURN], periods: 30, sort: 'unused_seats' });
    return apps.map(({ users, seats, unused_seats }) => ({ users, seats, unused_seats }))[0];
  };
  const { users = 0, seats = 0, unused_seats = 0 } = (await figures()) ?? {};
  const person = { email: 'seat@acme.test', apps: [CHURN] };
  await app.as(ACME).users.create({ ...person, client: 1 });

  assert.equal(await figures(), { users, seats: seats + 1, unused_seats: unused_seats + 1 });

  await app.as(STAFF).usage.record({
    app_id: CHURN,
    entries: [{ email: person.email, action: 'STACK_ACCESS' }],
  });

  assert.equal(await figures(), { users: users + 1, seats: seats + 1, unused_seats });

  await app.as(ACME).users.update({ email: person.email, is_active: false });

  assert.equal(await figures(), { users: users + 1, seats, unused_seats }, 'inactive people have no seat');
});

usage('byApp counts the people whom the lists of people show', async ({ app }) => {
  const periods = 7;
  const last_used_before = new Date(app.clock.now().getTime() - (periods - 1) * DAY_MS);
  for (const as of [ACME, ROOT])
    for (const { slug, seats, unused_seats } of (await app.as(as).usage.byApp({ periods })).apps) {
      const count = async (input: object) =>
        (await app.as(as).users.count({ app: slug, is_active: true, ...input })).count;
      assert.equal([await count({}), await count({ last_used_before })], [seats, unused_seats], slug);
    }
});

usage('byApp compares intervals that have ended', async ({ app }) => {
  for (const interval of ['day', 'week', 'month'] as const) {
    const time = { interval, periods: 3 };
    const { apps } = await app.as(ROOT).usage.byApp(time);
    for (const { id, full_actions, previous_full_actions } of apps) {
      const [, ...ended] = await app.as(ROOT).usage.report({ app_id: id, ...time });
      const sum = (key: 'actions' | 'previous_actions') => ended.reduce((total, row) => total + row[key], 0);
      assert.equal(
        [full_actions, previous_full_actions],
        [sum('actions'), sum('previous_actions')],
        interval,
      );
    }
  }
});

usage('dailyByApp are refused to members, and for clients of others', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.byApp({}), 'forbidden');
  await rejectsWith(app.as(ADA).usage.dailyByApp({}), 'forbidden');
  await rejectsWith(app.as(ACME).usage.byApp({ client: 2 }), 'not-found');
  assert.equal(await app.as(ACME).usage.dailyByApp({ client: 2 }), []);
});

usage('apps are found by words of label and slug, client, and length of disuse', async ({ app }) => {
  const found = async (query: string, as = ROOT) =>
    (await app.send(`GET /jb/apps/?${query}`, { as })).json().map(({ slug }: { slug: string }) => slug);
  await app.as(ACME).apps.update({ app_id: SALES, label: 'Umsätze 100%_' });

  assert.equal(await found('search=UMSÄTZE%20sal'), ['sales']);
  assert.equal(await found('search=100%25_'), ['sales'], '% and _ stand for themselves');
  assert.equal(await found('search=s%25s'), []);
  assert.equal(await found('search=e&limit=5'), ['sales', 'fleet']);
  assert.equal(await found('search=e&page_size=5&client=2'), ['fleet']);
  assert.equal(await found('client=2', ACME), [], 'not theirs to see');
  assert.equal(await found('search=fleet', ADA), []);
  assert.equal(await found('unused_days=7'), []);
  assert.equal(await found('is_unused=false&unused_days=7'), ['sales', 'churn', 'fleet']);
  const refused = await app.send(
    `GET /jb/apps/?search=${'w%20'.repeat(5)}a%20b%20c%20d%20e%20f%20g%20h%20i%20j&client=x&unused_days=0`,
    { as: ROOT },
  );
  assert.equal(Object.keys(refused.json().errors).toSorted(), ['client', 'search', 'unused_days']);
});

const list = async (app: TestApp, who: string, input: { email: string; window?: number }) =>
  collectPages(await app.as(who).usage.listByUserInAllApps(input));

const times = (entries: { timestamp: Date }[]): number[] =>
  entries.map(({ timestamp }) => timestamp.getTime());

const inApp = async (app: TestApp, app_id: string, window: number) => {
  const entries = await app.as(ROOT).usage.listByUser({ email: ADA, app_id, window });
  assert.ok(Symbol.asyncIterator in entries);
  return collectPages(entries);
};

/** Ada is a member of the first client only. Her usage of an app of the second is the newest. */
usage.before(async ({ app }) => {
  await writeUsage(app.orm.em.fork(), FLEET, [logEntry(0, ADA), logEntry(1, ADA)], app.clock.now());
});

usage('listByUserInAllApps lists what the caller may see of all apps, newest first', async ({ app }) => {
  const [sales, churn, fleet] = await Promise.all([SALES, CHURN, FLEET].map((id) => inApp(app, id, 120)));
  const all = await list(app, ROOT, { email: ADA, window: 120 });
  const newestFirst = (...apps: (typeof sales)[]) =>
    times(apps.flatMap((entries = []) => entries)).sort((a, b) => b - a);

  assert.equal(times(all), newestFirst(sales, churn, fleet));
  assert.equal(await list(app, STAFF, { email: ADA, window: 120 }), all);
  const own = await list(app, ACME, { email: ADA, window: 120 });
  assert.equal(times(own), newestFirst(sales, churn));
  assert.ok(times(own).length > 1 && times(all).length > times(own).length);
});

usage('charts have actions and users of every day up to today, oldest first', async ({ app }) => {
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

usage('charts show days without usage as zeros', async ({ app }) => {
  const series = await app.as(GLOBEX).usage.series({ app_id: FLEET, window: 3650 });

  assert.is(series.length, 3650);
  assert.equal(series[0], { day: '2016-11-24', actions: 0, users: 0 });
});

usage('charts show a user in one app, or in all apps that the caller administers', async ({ app }) => {
  const sum = (series: { actions: number }[]) => series.reduce((total, { actions }) => total + actions, 0);
  const inSales = await app.as(ACME).usage.series({ email: ADA, app_id: SALES });
  const inAll = await app.as(ACME).usage.series({ email: ADA });
  const ofStaff = sum(await app.as(STAFF).usage.series({ email: ADA }));
  await writeUsage(app.orm.em.fork(), FLEET, [logEntry(0, ADA)], NOON);

  assert.ok(sum(inSales) > 0 && sum(inAll) > sum(inSales));
  const again = await app.as(ACME).usage.series({ email: ADA });
  assert.is(sum(again), sum(inAll), 'the fleet is not theirs to see');
  assert.is(sum(await app.as(STAFF).usage.series({ email: ADA })), ofStaff + 1);
});

usage('charts require an app or a user', async ({ app }) => {
  await rejectsWith(app.as(STAFF).usage.series({}), 'invalid-input');
});

usage('charts rank the most active users and stacks of an app', async ({ app }) => {
  const entries = [3, 4, 5].flatMap((days) => [
    logEntry(days, 'top@x.test', 'gone'),
    logEntry(days, 'top@x.test', 'b1b82f57'),
  ]);
  await writeUsage(app.orm.em.fork(), SALES, Array.from({ length: 50 }, () => entries).flat(), NOON);
  const { users, stacks } = await app.as(ACME).usage.top({ app_id: SALES, limit: 2 });

  assert.equal(users[0], { email: 'top@x.test', full_name: '', actions: 300, days: 3 });
  assert.is.not(users[1]?.email, 'top@x.test');
  assert.is(users.length, 2);
  const ranked = stacks.map(({ stack, label }) => `${stack} ${label}`);
  assert.equal(ranked, ['b1b82f57 Trends', 'gone gone']);
  const recent = await app.as(ACME).usage.top({ app_id: SALES, window: 2 });
  assert.not.ok(recent.stacks.some(({ stack }) => stack === 'gone'));
});

usage('charts are available to users who administer or may view all of the app', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.top({ app_id: SALES }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).usage.top({ app_id: SALES }), 'not-found');
  await rejectsWith(app.as(ACME).usage.series({ app_id: FLEET }), 'not-found');
  await rejectsWith(app.as(ACME).usage.series({ email: GLOBEX }), 'not-found');
});

usage('charts pages of the log neither repeat nor miss an entry', async ({ app }) => {
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

usage('charts the log is filtered by a time range that excludes its end', async ({ app }) => {
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

usage('charts pages of the log are limited in size and miss no entry', async ({ app }) => {
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

usage(
  'byApp and dailyByApp agree on people, and on apps that were opened but record nothing',
  async ({ app }) => {
    await app
      .as(STAFF)
      .apps.create({ client: 1, slug: 'silent', label: 'Silent', launch_url: 'https://silent.test' });
    const both = async () => {
      const { apps } = await app.as(ACME).usage.byApp({ periods: 28 });
      const daily = await app.as(ACME).usage.dailyByApp({ window: 28 });
      const of = (items: { slug: string; users: number; is_unrecorded: boolean }[]) =>
        items.map(({ slug, users, is_unrecorded }) => `${slug} ${users} ${is_unrecorded}`).toSorted();
      assert.equal(of(daily), of(apps));
      return of(daily).find((line) => line.startsWith('silent'));
    };
    const isNew = async () =>
      (await app.as(ACME).apps.list({ never_used: true })).some(({ slug }) => slug === 'silent');

    assert.equal([await both(), await isNew()], ['silent 0 false', true]);

    await setRows(app, 'apps', { slug: 'silent' }, { first_opened_at: app.clock.now() });

    assert.equal([await both(), await isNew()], ['silent 0 true', false]);
  },
);

usage.run();
