import * as assert from 'uvu/assert';
import { openView, setApp } from '../support/access-views.ts';
import { fillLists, readEndpoints } from '../support/every-read.ts';
import { valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const views = appSuite('access views, read by staff');

views.before(async ({ app }) => {
  await fillLists(app);
  await setApp(app, { launch_url: 'https://sales.example.com/' });
});

const PATH = '/access_views/';
const CSV = { accept: 'text/csv' };
const create = (app: TestApp, input = {}) => app.as(ACME).accessViews.create({ app: 'sales', ...input });

const storedKeys = async (app: TestApp): Promise<string[]> => [
  ...(await valuesOf(app, 'access_views', 'key')),
  ...(await valuesOf(app, 'access_view_uses', 'raw_key')),
];

views('have no key in any format of the list and of the uses, and over tRPC', async ({ app }) => {
  const { id, key } = await create(app, { autorotate: true, allowed_uses_cnt: 0 });
  assert.is((await openView(app, key)).statusCode, 303);
  const keys = await storedKeys(app);
  assert.ok(keys.includes(key));
  const uses = `${PATH}${id}/usage/`;
  const embedded = (await app.as(ACME).accessViews.embed({ app: 'sales', email: ADA })).url.slice(-33, -1);

  for (const path of [PATH, uses, '!/api/v2/accessviews/', `!/api/v2/accessviews/${id}/usage/`])
    for (const query of ['', '?page_size=1000'])
      for (const headers of [{}, CSV, { accept: 'text/html' }]) {
        const { statusCode, body } = await app.send(`GET ${path}${query}`, { as: STAFF, headers });
        assert.is(statusCode, 200, body);
        for (const secret of [...keys, embedded, '/v/']) assert.not.ok(body.includes(secret), path + query);
      }
  const csv = (await app.send(`GET ${uses}`, { as: STAFF, headers: CSV })).body;
  assert.match(csv, /^raw_key,.*\r?\n,/);
  assert.is((await app.as(STAFF).accessViews.uses({ key: String(id) }))[0]?.raw_key, '');
  assert.is((await app.as(ACME).accessViews.uses({ key: String(id) }))[0]?.raw_key, key);
});

views('leave no key in anything that staff can read, and neither do their uses', async ({ app }) => {
  const { key } = await create(app, { user: ADA });
  assert.is((await openView(app, key)).statusCode, 303);
  const keys = await storedKeys(app);

  for (const { path } of readEndpoints())
    for (const headers of [{}, CSV]) {
      const { body } = await app.send(`GET ${path}`, { as: STAFF, headers });
      // The problem of a wrong path names the path.
      const text = body
        .replaceAll(path, '')
        .replaceAll(encodeURI(path), '')
        .replace(/"instance":"[^"]*"/, '');
      for (const secret of keys) assert.not.ok(text.includes(secret), `${path} has ${secret}`);
    }
  const audit = await app.as(ROOT).audit.list({ limit: 200 });
  for (const secret of keys) assert.not.ok(JSON.stringify(audit).includes(secret));
});

views.run();
