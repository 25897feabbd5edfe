import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const apps = appSuite('usage of several apps');

apps('have the actions of each day, oldest first', async ({ app }) => {
  const listed = await app.as(ACME).usage.dailyByApp({ window: 7 });

  assert.equal(
    listed.map(({ id, client }) => [id, client]),
    [
      [SALES, 1],
      [CHURN, 1],
    ],
  );
  for (const { id, daily_actions } of listed) {
    const series = await app.as(ACME).usage.series({ app_id: id, window: 7 });
    assert.equal(
      daily_actions,
      series.map(({ actions }) => actions),
    );
  }
});

apps('have the pages and filters of apps.list', async ({ app }) => {
  const { usage, apps: listed } = app.as(ROOT);
  const ids = (items: { id: string }[]) => items.map(({ id }) => id);
  for (const filter of [{ client: 2 }, { search: 'sal' }, { limit: 1, cursor: SALES }, { is_unused: true }])
    assert.equal(ids(await usage.dailyByApp(filter)), ids(await listed.list(filter)), JSON.stringify(filter));

  assert.equal(ids(await usage.dailyByApp({ client: 2 })), [FLEET]);
});

apps('are ranked by their actions in the window', async ({ app }) => {
  const top = async (as: string, input: object) =>
    (await app.as(as).usage.topApps(input)).apps.map(({ id, actions }) => ({ id, actions }));
  const all = await top(STAFF, { window: 90 });
  const counted = await Promise.all(
    all.map(async ({ id }) => {
      const series = await app.as(STAFF).usage.series({ app_id: id, window: 90 });
      return series.reduce((sum, { actions }) => sum + actions, 0);
    }),
  );

  assert.equal(all.map(({ id }) => id).toSorted(), [SALES, CHURN, FLEET].toSorted());
  assert.equal(
    all.map(({ actions }) => actions),
    counted,
  );
  assert.equal(
    counted,
    counted.toSorted((a, b) => b - a),
  );
  assert.equal(await top(STAFF, { window: 90, limit: 2 }), all.slice(0, 2));
  assert.equal(
    await top(GLOBEX, { window: 90 }),
    all.filter(({ id }) => id === FLEET),
  );
  assert.equal(
    await top(STAFF, { window: 90, client: 1 }),
    all.filter(({ id }) => id !== FLEET),
  );
});

apps('are refused to members, and for clients that the caller does not administer', async ({ app }) => {
  await rejectsWith(app.as(ADA).usage.topApps({}), 'forbidden');
  await rejectsWith(app.as(ADA).usage.dailyByApp({}), 'forbidden');
  await rejectsWith(app.as(ACME).usage.topApps({ client: 2 }), 'not-found');
  assert.equal(await app.as(ACME).usage.dailyByApp({ client: 2 }), []);
});

apps(
  'are found by words of their label and slug, by client, and by the length of disuse',
  async ({ app }) => {
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
  },
);

apps.run();
