import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { runConcurrently } from '../support/database-sessions.ts';
import { createMemoryPackageStore } from '../support/package-stores.ts';
import { fetchPackage, loadPackage, publish, staffPackages } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const fetching = appSuite('appPackages.fetch');

const rowsOf = (app: TestApp, slug: string) =>
  app
    .db()
    .selectFrom('fetched_packages')
    .select(['version', 'sha256', 'fetched_at', 'fetched_by'])
    .where('slug', '=', slug)
    .orderBy('id')
    .execute();
const versionsIn = async (app: TestApp, slug: string) =>
  (await rowsOf(app, slug)).map(({ version }) => version);

fetching.before(({ app }) => publishDemoPackages(app.store));

fetching('fetches the highest release without a version and for latest', async ({ app }) => {
  assert.is((await fetchPackage(app, 'vcdashboard')).message, 'Loaded vcdashboard version 1.0.0');
  assert.is((await fetchPackage(app, 'sales', 'latest')).message, 'Loaded sales version 1.1.0');
});

fetching('treats null and an empty app_version as latest', async ({ app }) => {
  for (const app_version of [null, '']) {
    const response = await app.send('POST /app/fetch/sales/', { as: STAFF, payload: { app_version } });
    assert.is(response.json().message, 'Loaded sales version 1.1.0');
  }
});

fetching('fetches a prerelease only by its version', async ({ app }) => {
  await publish(app, { slug: 'early', version: '2.0.0-rc.1' });

  await rejectsWith(fetchPackage(app, 'early'), 'not-found');
  await rejectsWith(fetchPackage(app, 'early', 'latest'), 'not-found');
  assert.is((await fetchPackage(app, 'early', '2.0.0-rc.1')).message, 'Loaded early version 2.0.0-rc.1');
});

fetching('orders versions by number, and equal numbers by build', async ({ app }) => {
  for (const version of ['1.10.0', '1.9.9', '1.10.0+b2', '1.10.0+b10', '1.11.0-beta'])
    await publish(app, { slug: 'many', version });

  assert.is((await fetchPackage(app, 'many')).message, 'Loaded many version 1.10.0+b2');
});

fetching('fails with not-found for a slug or version that is not in the store', async ({ app }) => {
  for (const [slug, version] of [
    ['nothing'],
    ['sales', '9.9.9'],
    ['../sales'],
    ['Sales'],
    ['sales', '../1.0.0'],
  ] as const) {
    await rejectsWith(fetchPackage(app, slug, version), 'not-found');
  }
});

fetching('is for staff and superusers', async ({ app }) => {
  for (const who of [ADA, ACME]) {
    await rejectsWith(app.as(who).appPackages.fetch({ app_slug: 'sales' }), 'forbidden');
  }
});

fetching('keeps one row for a repeated fetch, with the last time and user', async ({ app }) => {
  await publish(app, { slug: 'again', version: '1.0.0' });
  await fetchPackage(app, 'again');
  app.clock.advance(60_000);
  await app.as(ROOT).appPackages.fetch({ app_slug: 'again' });

  const [row, ...others] = await rowsOf(app, 'again');

  assert.equal(others, []);
  assert.equal([row?.fetched_at, row?.fetched_by], [app.clock.now(), ROOT]);
});

fetching('keeps one row per version, ordered by the last fetch', async ({ app }) => {
  for (const version of ['1.0.0', '1.1.0', '1.0.0', '1.1.0', '1.0.0'])
    await fetchPackage(app, 'sales', version);

  assert.equal(await versionsIn(app, 'sales'), ['1.1.0', '1.0.0']);
});

/** A store in which the bytes of 1.0.0 were replaced. */
const swappedStore = async (slug: string, note: string) => {
  const store = createMemoryPackageStore();
  return { store, ...(await publish({ store }, { slug, version: '1.0.0', note })) };
};

fetching(
  'refuses different bytes of a version that was fetched before, and stores nothing',
  async ({ app }) => {
    const [first, second] = [await swappedStore('swapped', 'one'), await swappedStore('swapped', 'two')];
    await (await staffPackages(app, first)).fetch('swapped');

    const problem = await rejectsWith((await staffPackages(app, second)).fetch('swapped'), 'invalid-package');

    assert.match(problem.message, /other bytes were put under this version/);
    assert.ok(problem.message.includes(first.sha256) && problem.message.includes(second.sha256));
    assert.equal(
      (await rowsOf(app, 'swapped')).map(({ sha256 }) => sha256),
      [first.sha256],
    );
  },
);

fetching('accepts one of several concurrent fetches with different bytes of a version', async ({ app }) => {
  const stores = await Promise.all(['one', 'two', 'three'].map((note) => swappedStore('duel', note)));
  const services = await Promise.all(stores.map((store) => staffPackages(app, store)));

  const fetches = services.map((service) => () => service.fetch('duel'));
  const outcomes = await runConcurrently(app, 'fetched_packages', fetches);

  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
  assert.equal(refused, ['invalid-package', 'invalid-package']);
  assert.is((await rowsOf(app, 'duel')).length, 1);
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
  const response = await app.send('POST /app/fetch/sales/', { as: STAFF });

  assert.is(response.statusCode, 503);
  assert.is(response.json().type, 'urn:steward:problem:package-store-unavailable');
});

fetching.run();
