import * as assert from 'uvu/assert';
import { install } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, ROOT, type TestApp } from '../support/test-app.ts';

const stacks = appSuite('stacks of app packages');

const SALES = { slug: 'sales', label: 'Sales' };
const stacksOf = async (app: TestApp, slug: string) => {
  const found = (await app.as(ROOT).apps.list({})).find((shown) => shown.slug === slug);
  return found?.package_info.stacks as { id: string; slug: string; label: string }[]; // just loaded
};

stacks('keep the filters of a removed stack, which gets its old id when it returns', async ({ app }) => {
  const filtersOf = (stack_id: string) => app.as(ADA).savedFilters.listByStack({ stack_id });
  const stack_id = 'a0a91e46';
  await app.as(ADA).savedFilters.create({ stack_id, hash: 'f', name: 'x' });

  await install(app, { ...SALES, version: '1.2.0', stacks: { forecast: 'Forecast' } });
  assert.is((await filtersOf(stack_id)).length, 1);
  await rejectsWith(app.as(ADA).savedFilters.create({ stack_id, hash: 'g', name: 'x' }), 'invalid-input');

  await install(app, { ...SALES, version: '1.3.0', stacks: { overview: 'Back again' } });
  assert.equal(await stacksOf(app, 'sales'), [{ id: stack_id, slug: 'overview', label: 'Back again' }]);
  assert.match((await filtersOf(stack_id))[0]?.stack ?? '', /^Back again for/);
  const [entry] = await app.as(ROOT).audit.list({ action: 'app.load-package' });
  assert.equal(entry?.details.stacks, { added: ['overview'], renamed: [], removed: ['forecast'] });
});

stacks('accept 200 stacks in the order of the package, and keep their ids', async ({ app }) => {
  const slugs = Array.from({ length: 200 }, (_, index) => `s${(index * 37) % 200}`);
  const wanted = Object.fromEntries(slugs.map((slug) => [slug, slug.toUpperCase()]));
  await install(app, { slug: 'wide', version: '1.0.0', stacks: wanted });
  const before = await stacksOf(app, 'wide');

  await install(app, { slug: 'wide', version: '1.1.0', stacks: wanted });

  assert.equal(
    before.map(({ slug }) => slug),
    slugs,
  );
  assert.is(new Set(before.map(({ id }) => id)).size, 200);
  assert.equal(await stacksOf(app, 'wide'), before);
});

stacks('apps.stacks lists the current stacks by slug to users who may view the app', async ({ app }) => {
  await install(app, { slug: 'listed', version: '1.0.0', stacks: { old: 'Old', zoo: 'Zoo' } });
  await install(app, { slug: 'listed', version: '1.1.0', stacks: { zoo: 'Zoo', ant: 'Ant' } });
  const [{ id: app_id } = { id: '' }] = (await app.as(ROOT).apps.list({})).filter(
    ({ slug }) => slug === 'listed',
  );

  const all = await app.as(ROOT).apps.stacks({ app_id });
  const rest = await app.as(ROOT).apps.stacks({ app_id, cursor: all[0]?.id });

  assert.equal(
    all.map(({ slug, label }) => [slug, label]),
    [
      ['ant', 'Ant'],
      ['zoo', 'Zoo'],
    ],
  );
  assert.equal(rest, all.slice(1));
  await rejectsWith(app.as(ADA).apps.stacks({ app_id }), 'not-found');
  await rejectsWith(app.as(ROOT).apps.stacks({ app_id, cursor: 'a0a91e46' }), 'invalid-input');
});

stacks.run();
