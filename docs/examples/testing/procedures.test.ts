// Tests procedures in-process with createCaller: no HTTP, no client. In this checkout a test like this belongs in
// tests/routers, where `npm run test:one routers/sites` runs it.
import * as assert from 'uvu/assert';
import { rejectsWith } from '../../../tests/support/rejects.ts';
import { ADA, appSuite, ROOT } from '../../../tests/support/test-app.ts';

// One PostgreSQL database with the demo data, for all tests of the suite.
const sites = appSuite('example: procedures called with createCaller');

sites('creates a site and returns it', async ({ app }) => {
  // `as` calls createCaller with a context in which this user is logged in.
  const root = app.as(ROOT);

  const site = await root.sites.create({ domain: 'Reports.Example.com', name: 'Reports' });

  assert.is(site.domain, 'reports.example.com');
  assert.equal(await root.sites.get({ id: site.id }), site);
});

sites('refuses a caller without the role, and a caller without credentials', async ({ app }) => {
  const input = { domain: 'mine.example.com', name: 'Mine' };

  await rejectsWith(app.as(ADA).sites.create(input), 'forbidden');
  await rejectsWith(app.as(null).sites.create(input), 'unauthenticated');
});

sites('names every invalid field', async ({ app }) => {
  const { fields } = await rejectsWith(app.as(ROOT).sites.create({ domain: '-', name: '' }), 'invalid-input');

  assert.equal(Object.keys(fields ?? {}).sort(), ['domain', 'name']);
});

sites('uses the clock of the test', async ({ app }) => {
  const { id } = await app.as(ADA).tokens.createNamed({ name: 'export' });

  const token = (await app.as(ADA).tokens.list({})).find((listed) => listed.id === id);

  assert.equal(token?.created_at, app.clock.now());
});

sites.run();
