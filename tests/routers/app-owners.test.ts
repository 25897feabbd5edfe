import * as assert from 'uvu/assert';
import { fetchPackage, install, loadPackage, publish } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const owners = appSuite('a package that names a client');

/** Everything in an app that a load or a rollback can change. */
const stateOf = async (app: TestApp) => [
  (await app.as(ACME).apps.list({})).find(({ slug }) => slug === 'sales'),
  await app.db().selectFrom('loaded_packages').selectAll().execute(),
  await app.as(ROOT).audit.list({ target: 'sales', action: 'app.load-package' }),
  await app.as(ROOT).audit.list({ target: 'sales', action: 'app.rollback-package' }),
];
const REFUSAL = "app.yaml names client 2, but the app sales is client 1's.";

owners('updates the app of that client', async ({ app }) => {
  await install(app, { slug: 'sales', version: '1.0.0', client: 1, label: 'Sales' });
  await install(app, { slug: 'sales', version: '1.1.0', label: 'Sales without a client' });

  const [sales] = await stateOf(app);
  assert.equal(sales, await app.as(ACME).apps.get({ app_id: 'zylTKNVx' }));
  assert.is((await app.as(ACME).apps.get({ app_id: 'zylTKNVx' })).label, 'Sales without a client');
});

owners('is not loaded into an app of another client', async ({ app }) => {
  const before = await stateOf(app);
  await publish(app, { slug: 'sales', version: '2.0.0', client: 2, label: 'Hijacked' });
  await fetchPackage(app, 'sales', '2.0.0');

  const problem = await rejectsWith(loadPackage(app, 'sales'), 'invalid-package');
  const response = await app.send('POST /app/load/sales/', { as: STAFF });

  assert.is(problem.message, REFUSAL);
  assert.equal([response.statusCode, response.json().detail], [400, REFUSAL]);
  assert.equal(await stateOf(app), before);
  assert.is((await app.as(GLOBEX).apps.list({})).filter(({ slug }) => slug === 'sales').length, 0);
});

owners('cannot be restored by a rollback after the app has moved to another client', async ({ app }) => {
  await app.db().updateTable('apps').set({ client_id: 2 }).where('slug', '=', 'sales').execute();
  const before = await stateOf(app);

  const problem = await rejectsWith(app.as(STAFF).apps.rollback({ app_slug: 'sales' }), 'invalid-package');

  assert.is(problem.message, "app.yaml names client 1, but the app sales is client 2's.");
  assert.equal(await stateOf(app), before);
});

owners.run();
