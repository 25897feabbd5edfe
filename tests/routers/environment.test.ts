import * as assert from 'uvu/assert';
import { setRows } from '../support/rows.ts';
import { ACME, appSuite, GLOBEX, ROOT } from '../support/test-app.ts';

const environment = appSuite('environment', { ENVIRONMENT: 'staging', UPLOAD_BUCKET_NAME: 'shared-bucket' });

environment('returns the configured values', async ({ app }) => {
  assert.equal(await app.as(ROOT).environment.read({}), {
    environment: 'staging',
    upload_bucket_name: 'shared-bucket',
  });
});

environment('returns the bucket of the client to its admin', async ({ app }) => {
  await setRows(app, 'clients', { id: 1 }, { upload_bucket_name: 'acme-own' });

  assert.is((await app.as(ACME).environment.read({})).upload_bucket_name, 'acme-own');
  assert.is((await app.as(GLOBEX).environment.read({})).upload_bucket_name, 'shared-bucket');
});

environment.run();
