import { rm, writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { fieldOf } from '../support/lists.ts';
import { fetchPackage, install, loadPackage, publish } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf } from '../support/rows.ts';
import { ACME, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const rollbacks = appSuite('apps.rollback');

const APP_ID = 'zylTKNVx';

const rollBack = async (app: TestApp, app_version?: string, app_slug = 'sales') =>
  (await app.as(STAFF).apps.rollback({ app_slug, app_version })).message;

const sales = (app: TestApp) => app.as(ROOT).apps.get({ app_id: APP_ID });

const versionOf = async (app: TestApp) => (await sales(app)).package_info.version;

/** Each version that was loaded, and whether by a rollback. */
const loadsOf = async (app: TestApp): Promise<string[]> => {
  const packages = await rowsOf(app, 'fetched_packages');
  return (await rowsOf(app, 'loaded_packages', { app_id: APP_ID })).map(({ package_id, is_rollback }) => {
    const version = packages.find(({ id }) => id === package_id)?.version;
    return `${version}${is_rollback ? ' again' : ''}`;
  });
};

rollbacks('is refused before a second version was loaded', async ({ app }) => {
  await install(app, { slug: 'sales', version: '1.0.0', label: 'Sales', stacks: { overview: 'Overview' } });

  const problem = await rejectsWith(rollBack(app), 'not-found');
  const advice = 'Fetch and load the version that you want.';
  assert.is(problem.message, `No other version of sales was loaded before. ${advice}`);
  await rejectsWith(rollBack(app, undefined, 'fleet'), 'not-found');
  await rejectsWith(rollBack(app, undefined, 'nothing'), 'not-found');
});

rollbacks('restores the previous version, and a second rollback undoes the first', async ({ app }) => {
  const stacks = { overview: 'Start', trends: 'Trends' };
  await install(app, { slug: 'sales', version: '1.1.0', label: 'Sales live', stacks });

  assert.is(await rollBack(app), 'Rolled back sales to version 1.0.0');
  const back = await sales(app);
  assert.equal([back.label, back.package_info.version], ['Sales', '1.0.0']);
  assert.equal(back.package_info.stacks, [{ id: 'a0a91e46', slug: 'overview', label: 'Overview' }]);

  assert.is(await rollBack(app), 'Rolled back sales to version 1.1.0');
  assert.equal(await loadsOf(app), ['1.0.0', '1.1.0', '1.0.0 again', '1.1.0 again']);
});

rollbacks('restores any loaded version by name, including later ones', async ({ app }) => {
  await install(app, { slug: 'sales', version: '1.2.0' });

  assert.is(await rollBack(app, '1.0.0'), 'Rolled back sales to version 1.0.0');
  assert.is(await rollBack(app, '1.2.0'), 'Rolled back sales to version 1.2.0');
  assert.is(await versionOf(app), '1.2.0');
});

rollbacks('refuses a version that was never loaded, even if it was fetched', async ({ app }) => {
  await publish(app, { slug: 'sales', version: '1.3.0' });
  await fetchPackage(app, 'sales', '1.3.0');

  for (const version of ['1.3.0', '9.9.9', 'latest', '../1.0.0']) {
    const problem = await rejectsWith(rollBack(app, version), 'not-found');
    assert.is(problem.message, `Version ${version} of sales was never loaded. Fetch and load it instead.`);
  }
  assert.is(await versionOf(app), '1.2.0');
});

rollbacks('does not change which package is loaded next', async ({ app }) => {
  await loadPackage(app, 'sales');
  assert.is(await versionOf(app), '1.3.0');
  await rollBack(app);
  assert.is(await versionOf(app), '1.2.0');
  await loadPackage(app, 'sales');
  assert.is(await versionOf(app), '1.3.0');
});

rollbacks('records the changes in the audit trail of the client', async ({ app }) => {
  await rollBack(app, '1.0.0');
  const [entry] = await app.as(ACME).audit.list({ action: 'app.rollback-package' });

  assert.is(entry?.actor, STAFF);
  assert.equal(entry?.details, {
    version: { from: '1.3.0', to: '1.0.0' },
    label: { from: 'sales', to: 'Sales' },
    stacks: { added: ['overview'], renamed: [], removed: [] },
  });
});

rollbacks('applies concurrent rollbacks one after another', async ({ app }) => {
  const [loads, version] = [(await loadsOf(app)).length, await versionOf(app)];
  await Promise.all([1, 2, 3, 4].map(() => rollBack(app)));

  // Applied one after another: four steps back and forth.
  assert.is((await loadsOf(app)).length, loads + 4);
  assert.is(await versionOf(app), version);
});

rollbacks('needs no store', async ({ app }) => {
  await rm(app.packagesDir, { recursive: true });
  await writeFile(app.packagesDir, 'a file where the folder should be');

  assert.is(await rollBack(app, '1.2.0'), 'Rolled back sales to version 1.2.0');
});

const versions = appSuite('apps.versions');

const listAs = (app: TestApp, who: string) => app.as(who).apps.versions({ app_id: APP_ID });

versions('lists times and users of the fetches and loads of each version', async ({ app }) => {
  assert.equal(await listAs(app, ACME), []);
  const published = await publish(app, { slug: 'sales', version: '1.0.0' });
  const fetchedAt = app.clock.now();
  await fetchPackage(app, 'sales');
  app.clock.advance(60_000);
  await loadPackage(app, 'sales');

  const [version, ...others] = await listAs(app, ROOT);

  assert.equal(others, []);
  assert.equal(version, {
    id: version?.id,
    version: '1.0.0',
    sha256: published.sha256,
    size_bytes: published.sizeBytes,
    fetched_at: fetchedAt,
    fetched_by: STAFF,
    loads: [{ loaded_at: app.clock.now(), loaded_by: STAFF, is_rollback: false }],
    is_current: true,
    is_staged: true,
  });
});

versions('has one element per version, the last fetched first, with all its loads', async ({ app }) => {
  await install(app, { slug: 'sales', version: '1.1.0' });
  await publish(app, { slug: 'sales', version: '1.2.0' });
  await fetchPackage(app, 'sales', '1.2.0');
  await fetchPackage(app, 'sales', '1.0.0');
  await app.as(ROOT).apps.rollback({ app_slug: 'sales' });

  const list = await listAs(app, STAFF);

  assert.equal(
    list.map((of) => [of.version, of.is_current, of.is_staged, of.loads.map((load) => load.is_rollback)]),
    [
      ['1.0.0', true, true, [true, false]],
      ['1.2.0', false, false, []],
      ['1.1.0', false, false, [false]],
    ],
  );
  assert.is(list[0]?.loads[0]?.loaded_by, ROOT);
});

versions('shows client admins who loaded a version, but not who fetched it', async ({ app }) => {
  const list = await listAs(app, ACME);

  assert.equal(fieldOf(list, 'fetched_by'), ['', '', '']);
  assert.is(list[0]?.loads[0]?.loaded_by, ROOT);
});

versions('lists the last 20 loads of a version', async ({ app }) => {
  const { id: package_id } = await rowOf(app, 'fetched_packages', { version: '1.0.0' });
  const load = {
    app_id: APP_ID,
    package_id,
    loaded_at: app.clock.now(),
    loaded_by: STAFF,
    is_rollback: true,
  };
  await addRows(
    app,
    'loaded_packages',
    Array.from({ length: 22 }, () => load),
  );
  await app.as(STAFF).apps.rollback({ app_slug: 'sales', app_version: '1.1.0' });
  app.clock.advance(1000);
  await app.as(STAFF).apps.rollback({ app_slug: 'sales', app_version: '1.0.0' });

  const [newest] = await listAs(app, ROOT);

  assert.is(newest?.loads.length, 20);
  assert.equal(newest?.loads[0]?.loaded_at, app.clock.now());
});

rollbacks.run();
versions.run();
