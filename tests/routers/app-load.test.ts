import * as assert from 'uvu/assert';
import { runConcurrently } from '../support/database-sessions.ts';
import { fetchPackage, install, loadPackage, publish, staffPackages } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const loading = appSuite('appPackages.load');

const SALES = { slug: 'sales', label: 'Sales' };
const appOf = async (app: TestApp, slug: string) => {
  const found = (await app.as(ROOT).apps.list({})).find((shown) => shown.slug === slug);
  if (!found) throw new Error(`there is no app ${slug}`);
  return found;
};
const entriesOf = (app: TestApp, target: string) =>
  app.as(ROOT).audit.list({ action: 'app.load-package', target });

loading('loads the fetched package into the existing app', async ({ app }) => {
  await install(app, { ...SALES, version: '1.0.0', stacks: { overview: 'Overview', trends: 'Trends' } });
  const { id, package_info: info } = await appOf(app, 'sales');

  assert.is(id, 'zylTKNVx');
  assert.equal(Object.keys(info).sort(), ['fetched_at', 'loaded_at', 'sha256', 'stacks', 'version']);
  assert.is(info.version, '1.0.0');
  assert.equal(info.stacks, [
    { id: 'a0a91e46', slug: 'overview', label: 'Overview' },
    { id: 'b1b82f57', slug: 'trends', label: 'Trends' },
  ]);
});

loading('records the changes in the audit trail', async ({ app }) => {
  await install(app, {
    ...SALES,
    version: '1.1.0',
    label: 'Sales live',
    stacks: { overview: 'Start', forecast: 'Forecast' },
  });
  const [entry] = await app.as(ACME).audit.list({ action: 'app.load-package' });

  assert.is(entry?.actor, STAFF);
  assert.equal(entry?.details, {
    version: { from: '1.0.0', to: '1.1.0' },
    label: { from: 'Sales', to: 'Sales live' },
    stacks: {
      added: ['forecast'],
      renamed: [{ slug: 'overview', from: 'Overview', to: 'Start' }],
      removed: ['trends'],
    },
  });
});

loading(
  'changes nothing if the app already runs the version, not even fields that an admin has edited',
  async ({ app }) => {
    const { id } = await appOf(app, 'sales');
    await app.as(ACME).apps.update({ app_id: id, label: 'Our sales', help_html: '<p>Ask Ada.</p>' });
    const before = await appOf(app, 'sales');
    const [entries, versions] = [
      await entriesOf(app, 'sales'),
      await app.as(ROOT).apps.versions({ app_id: id }),
    ];

    app.clock.advance(60_000);
    await fetchPackage(app, 'sales');
    await loadPackage(app, 'sales');

    assert.equal(await appOf(app, 'sales'), before);
    assert.equal(await entriesOf(app, 'sales'), entries);
    assert.equal((await app.as(ROOT).apps.versions({ app_id: id }))[0]?.loads, versions[0]?.loads);
  },
);

loading('creates a new app in the client of the site once, also for concurrent loads', async ({ app }) => {
  await publish(app, { slug: 'routes', version: '1.0.0', label: 'Routes', stacks: { map: 'Map' } });
  await fetchPackage(app, 'routes');
  const loads = [1, 2, 3].map(() => () => loadPackage(app, 'routes'));
  const outcomes = await runConcurrently(app, 'fetched_packages', loads);
  const { id } = await appOf(app, 'routes');
  const made = (await app.as(ROOT).clients.apps({ id: 1 })).find((shown) => shown.id === id);
  const [version] = await app.as(ROOT).apps.versions({ app_id: id });

  assert.ok(outcomes.every(({ status }) => status === 'fulfilled'));
  assert.match(id, /^[A-Za-z0-9]{8}$/);
  assert.is(made?.label, 'Routes');
  assert.is(version?.loads.length, 1);
  assert.equal(
    (await entriesOf(app, 'routes')).map(({ details }) => details),
    [
      {
        version: { from: null, to: '1.0.0' },
        label: { from: '', to: 'Routes' },
        stacks: { added: ['map'], renamed: [], removed: [] },
      },
    ],
  );
});

loading('creates a new app in the client that the package names, if it exists', async ({ app }) => {
  await install(app, { slug: 'theirs', version: '1.0.0', client: 2 });
  await publish(app, { slug: 'nobodys', version: '1.0.0', client: 99 });
  await fetchPackage(app, 'nobodys');

  const apps = await app.as(GLOBEX).apps.list({});
  assert.ok(apps.some(({ slug }) => slug === 'theirs'));
  const problem = await rejectsWith(loadPackage(app, 'nobodys'), 'invalid-package');
  assert.is(problem.message, 'app.yaml names client 99, which does not exist.');
  assert.is((await app.as(ROOT).apps.list({})).filter(({ slug }) => slug === 'nobodys').length, 0);
});

loading('applies exactly one of several loads during fetches', async ({ app }) => {
  const slug = 'busy';
  await install(app, { slug, version: '1.0.0' });
  for (const version of ['2.0.0', '3.0.0']) await publish(app, { slug, version });

  await Promise.all([
    fetchPackage(app, slug, '2.0.0'),
    ...[1, 2, 3].map(() => loadPackage(app, slug)),
    fetchPackage(app, slug, '3.0.0'),
    ...[1, 2, 3].map(() => loadPackage(app, slug)),
  ]);
  await fetchPackage(app, slug, '3.0.0');
  await Promise.all([1, 2, 3].map(() => loadPackage(app, slug)));

  const versions = (await entriesOf(app, slug)).map(
    ({ details }) => details.version as { from: string; to: string },
  ); // as `app.load-package` has it
  assert.is((await appOf(app, slug)).package_info.version, '3.0.0');
  for (const [index, { from }] of versions.slice(0, -1).entries()) assert.is(from, versions[index + 1]?.to);
});

loading('refuses packages that were not fetched, and callers who are not staff', async ({ app }) => {
  await rejectsWith(loadPackage(app, 'churn'), 'not-found');
  for (const who of [ADA, ACME]) {
    await rejectsWith(app.as(who).appPackages.load({ app_slug: 'sales' }), 'forbidden');
  }
});

loading('logs one line after a change, and none without a change', async ({ app }) => {
  const log: string[] = [];
  const { load } = await staffPackages(app, { log });
  const stacks = { overview: 'Start', trends: 'Trends' };
  await publish(app, { ...SALES, version: '2.0.0', label: 'Sales "2"', stacks });
  await fetchPackage(app, 'sales');

  await load('sales');
  await load('sales');

  assert.equal(log, [
    'loaded sales 2.0.0 (was 1.1.0): label "Our sales" → "Sales \\"2\\"", ' +
      'help_html "<p>Ask Ada.</p>" → "", stacks + trends, stacks − forecast',
  ]);
});

loading.run();
