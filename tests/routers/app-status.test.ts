import * as assert from 'uvu/assert';
import { install } from '../support/packages.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';

const status = appSuite('apps.status');

const APP_ID = 'zylTKNVx';
const statusFor = (app: TestApp, who: string) => app.as(who).apps.status({ app_id: APP_ID });

status('returns the running version to everyone who may open the app', async ({ app }) => {
  const expected = {
    id: APP_ID,
    slug: 'sales',
    label: 'Sales',
    version: null,
    in_maintenance: false,
    maintenance_message: '',
    launch_url: '',
    is_requestable: false,
  };
  for (const who of [ADA, GRACE, ACME, STAFF, ROOT]) assert.equal(await statusFor(app, who), expected, who);

  const launch_url = 'https://apps.acme.test/sales/';
  await install(app, { slug: 'sales', version: '1.0.0', label: 'Sales live', launch_url });
  const loaded = { ...expected, label: 'Sales live', version: '1.0.0', launch_url };
  assert.equal(await statusFor(app, ADA), loaded);
});

status('has the message only while the app is in maintenance', async ({ app }) => {
  const change = (changes: object) => app.as(ACME).apps.update({ app_id: APP_ID, ...changes });

  await change({ maintenance_message: 'Back at noon.' });
  assert.is((await statusFor(app, ADA)).maintenance_message, '');
  await change({ in_maintenance: true });
  const { in_maintenance, maintenance_message } = await statusFor(app, ADA);
  assert.equal([in_maintenance, maintenance_message], [true, 'Back at noon.']);
  await change({ in_maintenance: false });
  assert.is((await statusFor(app, ADA)).maintenance_message, '');
});

status('fails with not-found for everyone else', async ({ app }) => {
  for (const who of [EDSGER, GLOBEX]) await rejectsWith(statusFor(app, who), 'not-found');
  await rejectsWith(app.as(ROOT).apps.status({ app_id: 'nothing' }), 'not-found');
  const response = await app.send(`GET /jb/apps/${APP_ID}/status/`);
  assert.is(response.statusCode, 401);
});

status.run();
