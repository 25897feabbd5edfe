import * as assert from 'uvu/assert';
import { fetchPackage, install, loadPackage, publish } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const versions = appSuite('apps.versions');

const APP_ID = 'zylTKNVx';
const listAs = (app: TestApp, who: string, page: { cursor?: number; limit?: number } = {}) =>
  app.as(who).apps.versions({ app_id: APP_ID, ...page });
const namesOf = (list: { version: string }[]) => list.map(({ version }) => version);

versions('is empty before anything was fetched', async ({ app }) => {
  assert.equal(await listAs(app, ACME), []);
});

versions('lists times and users of the fetches and loads of each version', async ({ app }) => {
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

versions('supports pagination', async ({ app }) => {
  const first = await listAs(app, ACME, { limit: 2 });
  const cursor = first.at(-1)?.id;
  assert.ok(cursor);

  assert.equal(namesOf(first), ['1.0.0', '1.2.0']);
  assert.equal(namesOf(await listAs(app, ACME, { limit: 2, cursor })), ['1.1.0']);
  assert.equal(await listAs(app, ACME, { cursor: 0 }), []);
  const response = await app.send(`GET /jb/apps/${APP_ID}/versions/?limit=1&cursor=${cursor}`, { as: ACME });
  assert.equal(namesOf(response.json()), ['1.1.0']);
});

versions(
  'shows client admins who loaded a version, as the audit trail does, but not who fetched it',
  async ({ app }) => {
    const list = await listAs(app, ACME);

    assert.equal(
      list.map(({ fetched_by }) => fetched_by),
      ['', '', ''],
    );
    assert.is(list[0]?.loads[0]?.loaded_by, ROOT);
  },
);

versions('keeps all loads if two versions are fetched alternately', async ({ app }) => {
  const countRows = async () =>
    (await app.db().selectFrom('fetched_packages').select('id').where('slug', '=', 'sales').execute()).length;
  const loadsOf = async () =>
    new Map((await listAs(app, ROOT)).map(({ version, loads }) => [version, loads]));
  const [rows, loads] = [await countRows(), await loadsOf()];

  for (const version of ['1.1.0', '1.2.0', '1.1.0', '1.2.0', '1.0.0'])
    await fetchPackage(app, 'sales', version);

  assert.equal([await countRows(), await loadsOf()], [rows, loads]);
  assert.equal(namesOf(await listAs(app, ROOT)), ['1.0.0', '1.2.0', '1.1.0']);
  assert.equal(
    (await listAs(app, ROOT)).map(({ is_staged }) => is_staged),
    [true, false, false],
  );
});

versions('lists the last 20 loads of a version', async ({ app }) => {
  for (let turn = 0; turn < 22; turn += 1) {
    await app.as(STAFF).apps.rollback({ app_slug: 'sales', app_version: '1.1.0' });
    app.clock.advance(1000);
    await app.as(STAFF).apps.rollback({ app_slug: 'sales', app_version: '1.0.0' });
  }

  const [newest] = await listAs(app, ROOT);

  assert.is(newest?.loads.length, 20);
  assert.equal(newest?.loads[0]?.loaded_at, app.clock.now());
});

versions('is available to users who administer or may view all of the app', async ({ app }) => {
  await rejectsWith(listAs(app, ADA), 'forbidden');
  await rejectsWith(listAs(app, EDSGER), 'forbidden');
  await rejectsWith(listAs(app, GLOBEX), 'not-found');
  await rejectsWith(app.as(ROOT).apps.versions({ app_id: 'nothing' }), 'not-found');
});

versions.run();
