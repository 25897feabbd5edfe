import { rm, writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import { BUCKET, setCredentials, startS3Server } from '../support/s3-server.ts';
import { appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

setCredentials();
const server = await startS3Server();
const onS3 = appSuite('app packages on S3', {
  APP_STORE: `s3://${BUCKET}/apps`,
  APP_STORE_ENDPOINT: server.endpoint,
});

const fetchSales = (app: TestApp, body: { app_version?: string } = {}) =>
  app.send('POST /app/fetch/sales/', { as: STAFF, payload: body });

const countsOf = async (app: TestApp): Promise<number[]> => {
  const count = async (table: 'fetched_packages' | 'audit_entries') => {
    const rows = app
      .db()
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<string>().as('count'));
    return Number((await rows.executeTakeFirstOrThrow()).count);
  };
  return [await count('fetched_packages'), await count('audit_entries')];
};

onS3.before(({ app }) => publishDemoPackages(app.store));
onS3.after(() => server[Symbol.asyncDispose]());
onS3.before.each(async () => {
  await server.restart();
  server.conduct.fault = null;
  delete server.conduct.affects;
});

onS3('are fetched and loaded', async ({ app }) => {
  const fetched = await fetchSales(app);
  const loaded = await app.send('POST /app/load/sales/', { as: STAFF });

  assert.equal(fetched.json(), { message: 'Loaded sales version 1.1.0' });
  assert.is(loaded.statusCode, 204);
  const shown = (await app.as(ROOT).apps.list({})).find(({ slug }) => slug === 'sales');
  assert.is(shown?.package_info.version, '1.1.0');
});

onS3('are not found where the store has none', async ({ app }) => {
  await rejectsWith(app.as(STAFF).appPackages.fetch({ app_slug: 'churn' }), 'not-found');
  assert.is((await fetchSales(app, { app_version: '9.9.9' })).statusCode, 404);
});

const outages: Record<string, () => Promise<void>> = {
  'is down': () => server.stop(),
  'breaks off in the middle': async () => {
    server.conduct.fault = 'breaks';
  },
  'denies the bytes': async () => {
    server.conduct.fault = 'AccessDenied';
    server.conduct.affects = (_method, path) => path.endsWith('.tgz');
  },
  'answers 500': async () => {
    server.conduct.fault = 'InternalError';
  },
};
for (const [what, begin] of Object.entries(outages)) {
  onS3(`change nothing while the store ${what}, and are there again afterwards`, async ({ app }) => {
    await app.tokenOf(STAFF);
    const before = await countsOf(app);

    await begin();
    const response = await fetchSales(app);
    const during = await countsOf(app);
    await server.restart();
    server.conduct.fault = null;
    const again = await fetchSales(app);

    assert.is(response.statusCode, 503);
    assert.is(response.json().type, 'urn:steward:problem:package-store-unavailable');
    assert.is(response.headers['retry-after'], '2');
    assert.equal(during, before);
    assert.is(again.statusCode, 200);
  });
}

onS3('are refused where the bytes are others than those published', async ({ app }) => {
  await writeFile(server.fileOf('apps/sales-2.0.0.tgz'), 'no archive');
  await writeFile(server.fileOf('apps/sales-2.0.0.tgz.sha256'), `${'0'.repeat(64)}  sales-2.0.0.tgz\n`);
  const before = await countsOf(app);

  const response = await fetchSales(app, { app_version: '2.0.0' });

  assert.is(response.json().type, 'urn:steward:problem:invalid-package');
  assert.equal(await countsOf(app), before);
  await rm(server.fileOf('apps/sales-2.0.0.tgz'));
});

onS3.run();
