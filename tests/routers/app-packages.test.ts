import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { appSuite } from '../support/app-suite.ts';
import { rejectsWith } from '../support/rejects-with.ts';
import { ACME, ADA, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const packages = appSuite('appPackages');

const fetchAs = (app: TestApp, who: string, app_slug: string, app_version?: string) =>
  app.as(who).appPackages.fetch({ app_slug, app_version });
const infoOf = async (app: TestApp, slug: string) =>
  (await app.as(ROOT).apps.list({})).find((shown) => shown.slug === slug);

packages.before(({ app }) => publishDemoPackages(app.store));

packages('takes the highest release when no version or latest is asked for', async ({ app }) => {
  assert.is((await fetchAs(app, STAFF, 'vcdashboard')).message, 'Loaded vcdashboard version 1.0.0');
  assert.is((await fetchAs(app, STAFF, 'sales', 'latest')).message, 'Loaded sales version 1.1.0');
  assert.is(
    (await fetchAs(app, ROOT, 'vcdashboard', '1.1.0-beta.1')).message,
    'Loaded vcdashboard version 1.1.0-beta.1',
  );
});

packages('answers 404 for a slug or version that is not in the store', async ({ app }) => {
  for (const [slug, version] of [
    ['nothing'],
    ['sales', '9.9.9'],
    ['../sales'],
    ['Sales'],
    ['sales', '../1.0.0'],
  ] as const) {
    await rejectsWith(fetchAs(app, STAFF, slug, version), 'not-found');
  }
});

packages('is for staff and superusers', async ({ app }) => {
  for (const who of [ADA, ACME]) {
    await rejectsWith(fetchAs(app, who, 'sales'), 'not-allowed');
    await rejectsWith(app.as(who).appPackages.load({ app_slug: 'sales' }), 'not-allowed');
  }
});

packages('loads what was fetched into the app that there is', async ({ app }) => {
  await fetchAs(app, STAFF, 'sales', '1.0.0');
  await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  const info = (await infoOf(app, 'sales'))?.package_info;

  assert.equal(Object.keys(info ?? {}).sort(), ['fetched_at', 'loaded_at', 'sha256', 'stacks', 'version']);
  assert.is(info?.version, '1.0.0');
  assert.equal(info?.stacks, [
    { id: 'a0a91e46', slug: 'overview', label: 'Overview' },
    { id: 'b1b82f57', slug: 'trends', label: 'Trends' },
  ]);
  assert.is((await infoOf(app, 'sales'))?.id, 'zylTKNVx');
});

packages('makes a new app in the client of the site', async ({ app }) => {
  await fetchAs(app, STAFF, 'vcdashboard');
  await Promise.all([1, 2, 3].map(() => app.as(STAFF).appPackages.load({ app_slug: 'vcdashboard' })));
  const made = (await app.as(ROOT).clients.apps({ id: 1 })).find((shown) => shown.slug === 'vcdashboard');

  assert.match(made?.id ?? '', /^[A-Za-z0-9]{8}$/);
  assert.is(made?.label, 'VC Dashboard');
});

packages(
  'keeps the filters of a stack that a version has dropped, and offers it no more',
  async ({ app }) => {
    const ofStack = async () => {
      const { stacks } = ((await infoOf(app, 'sales'))?.package_info ?? {}) as {
        stacks: { id: string; slug: string }[];
      }; // loaded below
      return stacks.find((stack) => stack.slug === 'forecast')?.id ?? '';
    };
    await fetchAs(app, STAFF, 'sales', '1.1.0');
    await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
    const stack_id = await ofStack();
    await app.as(ADA).savedFilters.create({ stack_id, hash: 'f', name: 'x' });

    await fetchAs(app, STAFF, 'sales', '1.0.0');
    await app.as(STAFF).appPackages.load({ app_slug: 'sales' });

    assert.is((await app.as(ADA).savedFilters.ofStack({ stack_id })).length, 1);
    await rejectsWith(app.as(ADA).savedFilters.create({ stack_id, hash: 'g', name: 'x' }), 'invalid-input');
  },
);

packages('loads nothing that was not fetched', async ({ app }) => {
  await rejectsWith(app.as(STAFF).appPackages.load({ app_slug: 'churn' }), 'not-found');
});

packages('keeps what was fetched before when a bad package comes', async ({ app }) => {
  await fetchAs(app, STAFF, 'sales', '1.1.0');
  await writeFile(join(app.packagesDir, 'sales-2.0.0.tgz'), 'no archive');
  await writeFile(join(app.packagesDir, 'sales-2.0.0.tgz.sha256'), `${'0'.repeat(64)}  sales-2.0.0.tgz\n`);

  await rejectsWith(fetchAs(app, STAFF, 'sales'), 'bad-package');
  await app.as(STAFF).appPackages.load({ app_slug: 'sales' });
  assert.is((await infoOf(app, 'sales'))?.package_info.version, '1.1.0');
});

packages('answers 503 when the store is away', async ({ app }) => {
  await rm(app.packagesDir, { recursive: true });
  await writeFile(app.packagesDir, 'a file where the folder should be');
  const response = await app.send('POST /app/fetch/sales/', { as: STAFF });

  assert.is(response.statusCode, 503);
  assert.is(response.json().type, 'urn:steward:problem:store-away');
});

packages.run();
