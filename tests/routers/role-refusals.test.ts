import * as assert from 'uvu/assert';
import { type Endpoint, restEndpoints } from '../../src/http/rest/endpoints.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT, restPath } from '../support/test-app.ts';
import { FLEET } from '../support/usage.ts';

const refusals = appSuite('403 by role');

const ROLES = [
  'client admin, staff or superuser',
  'client admin or superuser',
  'staff or superuser',
  'superuser',
];

const urlOf = ({ method, url }: Endpoint): string => `${method} ${restPath(url).replaceAll(/:\w+/g, '1')}`;

refusals('every procedure that requires a role names it in the error', async ({ app }) => {
  const endpoints = restEndpoints().filter(({ role }) => role !== undefined);
  assert.ok(endpoints.length > 30);
  assert.equal(new Set(endpoints.map(({ role }) => role)), new Set(ROLES));
  for (const endpoint of endpoints) {
    const response = await app.send(urlOf(endpoint), { as: ADA });
    assert.is(response.statusCode, 403, endpoint.procedure);
    assert.is(response.json().detail, `This needs the role ${endpoint.role}.`, endpoint.procedure);
  }
});

refusals('names the client whose admin may read the usage of an app', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });

  const refused = await rejectsWith(app.as(EDSGER).usage.listByApp({ app_id: FLEET }), 'forbidden');

  assert.is(refused.message, 'This needs the role client admin of client 2, staff or superuser.');
});

refusals('names no role of the user that a client admin cannot change', async ({ app }) => {
  const root = app.as(ROOT);
  await root.roles.update({ email: GRACE, is_staff: true });
  await root.roles.setClientAdmin({ id: 2, email: EDSGER, is_admin: true });
  await root.users.update({ email: ADA, apps: ['zylTKNVx', FLEET] });
  await root.roles.setClientAdmin({ id: 2, email: ADA, is_admin: true });

  const staff = await rejectsWith(app.as(ACME).users.deactivate({ email: GRACE }), 'forbidden');
  const other = await rejectsWith(app.as(ACME).users.update({ email: ADA, extra: {} }), 'shared-user');
  const apps = await rejectsWith(app.as(ACME).users.update({ email: ADA, apps: [] }), 'shared-user');
  const foreign = await rejectsWith(app.as(GLOBEX).users.deactivate({ email: GRACE }), 'not-found');

  assert.is(staff.message, 'This needs the role superuser.');
  assert.is(apps.message, other.message);
  assert.not.match(other.message, /2|Globex|administers|role/);
  assert.not.match(other.message, /apps/, 'which cannot be changed either');
  assert.is(foreign.message, 'No such user.');
});

refusals.run();
