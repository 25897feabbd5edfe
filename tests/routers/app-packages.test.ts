import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { runConcurrently } from '../support/database-sessions.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { createMemoryPackageStore } from '../support/package-stores.ts';
import { fetchPackage, install, loadPackage, publish, staffPackages } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf, setRows, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const fetching = appSuite('appPackages.fetch');

const versionsIn = (app: TestApp, slug: string) => valuesOf(app, 'fetched_packages', 'version', { slug });

fetching.before(({ app }) => publishDemoPackages(app.store));

fetching('fetches the highest release by default, a prerelease only by its version', async ({ app }) => {
  for (const version of ['1.10.0', '1.9.9', '1.10.0+b2', '1.10.0+b10', '1.11.0-beta'])
    await publish(app, { slug: 'many', version });
  await publish(app, { slug: 'early', version: '2.0.0-rc.1' });

  for (const version of [undefined, 'latest']) {
    assert.is((await fetchPackage(app, 'many', version)).message, 'Loaded many version 1.10.0+b2');
    await rejectsWith(fetchPackage(app, 'early', version), 'not-found');
  }
  assert.is((await fetchPackage(app, 'early', '2.0.0-rc.1')).message, 'Loaded early version 2.0.0-rc.1');
});

fetching('fails with not-found for a slug or version that is not in the store', async ({ app }) => {
  for (const [slug, version] of [
    ['nothing'],
    ['sales', '9.9.9'],
    ['../sales'],
    ['sales', '../1.0.0'],
  ] as const)
    await rejectsWith(fetchPackage(app, slug, version), 'not-found');
});

fetching('keeps one row per version, with its last fetch, by which they are ordered', async ({ app }) => {
  for (const version of ['1.0.0', '1.1.0']) await publish(app, { slug: 'again', version });
  await fetchPackage(app, 'again', '1.0.0');
  await fetchPackage(app, 'again', '1.1.0');
  app.clock.advance(60_000);
  await app.as(ROOT).appPackages.fetch({ app_slug: 'again', app_version: '1.0.0' });

  assert.equal(fieldsOf(await rowsOf(app, 'fetched_packages', { slug: 'again' }), 'version', 'fetched_by'), [
    ['1.1.0', STAFF],
    ['1.0.0', ROOT],
  ]);
  const { fetched_at } = await rowOf(app, 'fetched_packages', { slug: 'again', version: '1.0.0' });
  assert.equal(fetched_at, app.clock.now());
});

/** A store in which the bytes of 1.0.0 were replaced. */
const swappedStore = async (slug: string, note: string) => {
  const store = createMemoryPackageStore();
  return { store, ...(await publish({ store }, { slug, version: '1.0.0', note })) };
};

fetching('refuses different bytes of a version that was fetched before', async ({ app }) => {
  const [first, second] = [await swappedStore('swapped', 'one'), await swappedStore('swapped', 'two')];
  await (await staffPackages(app, first)).fetch('swapped');

  const problem = await rejectsWith((await staffPackages(app, second)).fetch('swapped'), 'invalid-package');

  assert.match(problem.message, /other bytes were put under this version/);
  assert.ok(problem.message.includes(first.sha256) && problem.message.includes(second.sha256));
  assert.is((await rowOf(app, 'fetched_packages', { slug: 'swapped' })).sha256, first.sha256);
});

fetching('accepts one of several concurrent fetches with different bytes of a version', async ({ app }) => {
  const stores = await Promise.all(['one', 'two', 'three'].map((note) => swappedStore('duel', note)));
  const services = await Promise.all(stores.map((store) => staffPackages(app, store)));

  const fetches = services.map((service) => () => service.fetch('duel'));
  const outcomes = await runConcurrently(app, 'fetched_packages', fetches);

  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
  assert.equal(refused, ['invalid-package', 'invalid-package']);
  assert.equal(await versionsIn(app, 'duel'), ['1.0.0']);
});

fetching('keeps all versions of concurrent fetches of one slug', async ({ app }) => {
  for (const version of ['1.0.0', '2.0.0', '3.0.0']) await publish(app, { slug: 'sales-plan', version });

  const wanted = ['1.0.0', '2.0.0', '3.0.0', undefined, '3.0.0', '3.0.0'];
  const fetches = wanted.map((version) => () => fetchPackage(app, 'sales-plan', version));
  await runConcurrently(app, 'fetched_packages', fetches);
  const rows = await versionsIn(app, 'sales-plan');

  assert.equal([...new Set(rows)].sort(), ['1.0.0', '2.0.0', '3.0.0']);
  assert.ok(rows.every((version, index) => version !== rows[index - 1]));
});

fetching('keeps earlier fetches after an invalid package', async ({ app }) => {
  await fetchPackage(app, 'sales', '1.1.0');
  await writeFile(join(app.packagesDir, 'sales-2.0.0.tgz'), 'no archive');
  await writeFile(join(app.packagesDir, 'sales-2.0.0.tgz.sha256'), `${'0'.repeat(64)}  sales-2.0.0.tgz\n`);

  await rejectsWith(fetchPackage(app, 'sales'), 'invalid-package');
  await loadPackage(app, 'sales');
  const { package_info } = await app.as(ROOT).apps.get({ app_id: 'zylTKNVx' });
  assert.is(package_info.version, '1.1.0');
});

fetching('fails with package-store-unavailable without the store', async ({ app }) => {
  await rm(app.packagesDir, { recursive: true });
  await writeFile(app.packagesDir, 'a file where the folder should be');

  await rejectsWith(fetchPackage(app, 'sales'), 'package-store-unavailable');
});

const loading = appSuite('appPackages.load');

const SALES = { slug: 'sales', label: 'Sales' };
const APP_ID = 'zylTKNVx';

const appOf = async (app: TestApp, slug: string) => {
  const found = (await app.as(ROOT).apps.list({})).find((shown) => shown.slug === slug);
  if (!found) throw new Error(`there is no app ${slug}`);
  return found;
};

const entriesOf = (app: TestApp, target: string) =>
  app.as(ROOT).audit.list({ action: 'app.load-package', target });

loading('loads the fetched package into the existing app, and records each change', async ({ app }) => {
  await install(app, { ...SALES, version: '1.0.0', stacks: { overview: 'Overview', trends: 'Trends' } });
  const { id, package_info: info } = await appOf(app, 'sales');

  assert.is(id, APP_ID);
  assert.equal(Object.keys(info).sort(), ['fetched_at', 'loaded_at', 'sha256', 'stacks', 'version']);
  assert.is(info.version, '1.0.0');
  assert.equal(info.stacks, [
    { id: 'a0a91e46', slug: 'overview', label: 'Overview' },
    { id: 'b1b82f57', slug: 'trends', label: 'Trends' },
  ]);

  const stacks = { overview: 'Start', forecast: 'Forecast' };
  await install(app, { ...SALES, version: '1.1.0', label: 'Sales live', stacks });
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

loading('changes nothing if the app runs the version, nor what an admin has edited', async ({ app }) => {
  await app.as(ACME).apps.update({ app_id: APP_ID, label: 'Our sales', help_html: '<p>Ask Ada.</p>' });
  const state = async () => [
    await appOf(app, 'sales'),
    await entriesOf(app, 'sales'),
    fieldOf(await app.as(ROOT).apps.versions({ app_id: APP_ID }), 'loads'),
  ];
  const before = await state();

  app.clock.advance(60_000);
  await fetchPackage(app, 'sales');
  await loadPackage(app, 'sales');

  assert.equal(await state(), before);
});

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
  const details = {
    version: { from: null, to: '1.0.0' },
    label: { from: '', to: 'Routes' },
    stacks: { added: ['map'], renamed: [], removed: [] },
  };
  assert.equal(fieldOf(await entriesOf(app, 'routes'), 'details'), [details]);
});

loading('creates a new app in the client that the package names, if it exists', async ({ app }) => {
  await install(app, { slug: 'theirs', version: '1.0.0', client: 2 });
  await publish(app, { slug: 'nobodys', version: '1.0.0', client: 99 });
  await fetchPackage(app, 'nobodys');

  assert.ok(fieldOf(await app.as(GLOBEX).apps.list({}), 'slug').includes('theirs'));
  const problem = await rejectsWith(loadPackage(app, 'nobodys'), 'invalid-package');
  assert.is(problem.message, 'app.yaml names client 99, which does not exist.');
  assert.not.ok(fieldOf(await app.as(ROOT).apps.list({}), 'slug').includes('nobodys'));
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

  const entries = await entriesOf(app, slug);
  const versions = entries.map(({ details }) => details.version as { from: string; to: string });
  assert.is((await appOf(app, slug)).package_info.version, '3.0.0');
  for (const [index, { from }] of versions.slice(0, -1).entries()) assert.is(from, versions[index + 1]?.to);
});

loading('refuses packages that were not fetched', async ({ app }) => {
  await rejectsWith(loadPackage(app, 'churn'), 'not-found');
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

const owners = appSuite('a package that names a client');

/** Everything in an app that a load or a rollback can change. */
const stateOf = async (app: TestApp) => [
  (await app.as(ACME).apps.list({})).find(({ slug }) => slug === 'sales'),
  await rowsOf(app, 'loaded_packages'),
  await app.as(ROOT).audit.list({ target: 'sales', action: 'app.load-package' }),
  await app.as(ROOT).audit.list({ target: 'sales', action: 'app.rollback-package' }),
];

owners('updates the app of that client', async ({ app }) => {
  await install(app, { slug: 'sales', version: '1.0.0', client: 1, label: 'Sales' });
  await install(app, { slug: 'sales', version: '1.1.0', label: 'Sales without a client' });

  assert.is((await app.as(ACME).apps.get({ app_id: APP_ID })).label, 'Sales without a client');
});

owners('is not loaded into an app of another client', async ({ app }) => {
  const before = await stateOf(app);
  await publish(app, { slug: 'sales', version: '2.0.0', client: 2, label: 'Hijacked' });
  await fetchPackage(app, 'sales', '2.0.0');

  const { message } = await rejectsWith(loadPackage(app, 'sales'), 'invalid-package');

  assert.is(message, "app.yaml names client 2, but the app sales is client 1's.");
  assert.equal(await stateOf(app), before);
});

owners('cannot be restored by a rollback after the app has moved to another client', async ({ app }) => {
  await setRows(app, 'apps', { slug: 'sales' }, { client_id: 2 });
  const before = await stateOf(app);

  const problem = await rejectsWith(app.as(STAFF).apps.rollback({ app_slug: 'sales' }), 'invalid-package');

  assert.is(problem.message, "app.yaml names client 1, but the app sales is client 2's.");
  assert.equal(await stateOf(app), before);
});

const stacks = appSuite('stacks of app packages');

stacks('keep the filters of a removed stack, which gets its old id when it returns', async ({ app }) => {
  const filtersOf = (stack_id: string) => app.as(ADA).savedFilters.listByStack({ stack_id });
  const stack_id = 'a0a91e46';
  await app.as(ADA).savedFilters.create({ stack_id, hash: 'f', name: 'x' });

  await install(app, { ...SALES, version: '1.2.0', stacks: { forecast: 'Forecast' } });
  assert.is((await filtersOf(stack_id)).length, 1);
  await rejectsWith(app.as(ADA).savedFilters.create({ stack_id, hash: 'g', name: 'x' }), 'invalid-input');

  await install(app, { ...SALES, version: '1.3.0', stacks: { overview: 'Back again' } });
  const { package_info } = await appOf(app, 'sales');
  assert.equal(package_info.stacks, [{ id: stack_id, slug: 'overview', label: 'Back again' }]);
  assert.match((await filtersOf(stack_id))[0]?.stack ?? '', /^Back again for/);
  const [entry] = await app.as(ROOT).audit.list({ action: 'app.load-package' });
  assert.equal(entry?.details.stacks, { added: ['overview'], renamed: [], removed: ['forecast'] });
});

stacks('apps.stacks lists the current stacks by slug to users who may view the app', async ({ app }) => {
  await install(app, { slug: 'listed', version: '1.0.0', stacks: { old: 'Old', zoo: 'Zoo' } });
  await install(app, { slug: 'listed', version: '1.1.0', stacks: { zoo: 'Zoo', ant: 'Ant' } });
  const { id: app_id } = await appOf(app, 'listed');

  const all = await app.as(ROOT).apps.stacks({ app_id });
  const rest = await app.as(ROOT).apps.stacks({ app_id, cursor: all[0]?.id });

  assert.equal(fieldsOf(all, 'slug', 'label'), [
    ['ant', 'Ant'],
    ['zoo', 'Zoo'],
  ]);
  assert.equal(rest, all.slice(1));
  await rejectsWith(app.as(ADA).apps.stacks({ app_id }), 'not-found');
  await rejectsWith(app.as(ROOT).apps.stacks({ app_id, cursor: 'a0a91e46' }), 'invalid-input');
});

fetching.run();
loading.run();
owners.run();
stacks.run();
