import * as assert from 'uvu/assert';
import { type Endpoint, REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { type Action, rolesThatMay } from '../../src/services/access/permissions.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, restPath, STAFF } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const roles = appSuite('roles');

roles('can make a member a client admin, and a member again', async ({ app }) => {
  const made = await app.as(ROOT).roles.setClientAdmin({ id: 1, email: ADA, is_admin: true });
  assert.equal(made.clientadmin_of, [1]);
  assert.is((await app.as(ADA).users.list({})).length, 4);

  const unmade = await app.as(ROOT).roles.setClientAdmin({ id: 1, email: ADA, is_admin: false });
  assert.equal(unmade.clientadmin_of, []);
  await rejectsWith(app.as(ADA).users.list({}), 'forbidden');
  assert.equal((await app.as(ADA).sites.list({})).length, 1);
});

roles('grants and revokes staff and superuser', async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });
  assert.is((await app.as(GRACE).clients.list({})).length, 2);
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: false, is_superuser: true });
  assert.ok(await app.as(GRACE).clients.update({ id: 2, login_title: 'Hi' }));
  await app.as(GRACE).roles.update({ email: ROOT, is_superuser: false });

  await rejectsWith(app.as(GRACE).roles.update({ email: GRACE, is_superuser: false }), 'self-modification');
  await app.as(GRACE).roles.update({ email: ROOT, is_superuser: true });
});

roles('shows the roles of a user to superusers only', async ({ app }) => {
  assert.equal(await app.as(ROOT).roles.get({ email: STAFF }), { is_staff: true, is_superuser: false });
  assert.equal(await app.as(ROOT).roles.get({ email: ROOT }), { is_staff: false, is_superuser: true });

  await rejectsWith(app.as(ROOT).roles.get({ email: 'unknown@acme.test' }), 'not-found');
  for (const who of [ACME, STAFF, ADA]) await rejectsWith(app.as(who).roles.get({ email: ADA }), 'forbidden');
});

roles('keeps one superuser if two revoke each other concurrently', async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_superuser: true });

  const outcomes = await Promise.allSettled([
    app.as(ROOT).roles.update({ email: GRACE, is_superuser: false }),
    app.as(GRACE).roles.update({ email: ROOT, is_superuser: false }),
  ]);

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  await setRows(app, 'users', { email: ROOT }, { is_superuser: true });
});

/** What the base procedures of routers require. */
const REQUIRED: Action[][] = [
  ['view'],
  ['manage-people'],
  ['manage-grants'],
  ['manage-people', 'manage-grants'],
  ['manage-credentials'],
  ['manage-people', 'manage-grants', 'manage-credentials'],
  ['manage-apps'],
  ['manage-apps', 'manage-credentials'],
  ['operate', 'manage-apps'],
  ['configure'],
  ['operate'],
  ['read-audit', 'poll-events'],
  ['administer'],
];

const urlOf = ({ method, url }: Endpoint): string => `${method} ${restPath(url).replaceAll(/:\w+/g, '1')}`;

roles('403 every procedure that requires a role names it in the error', async ({ app }) => {
  const endpoints = REST_ENDPOINTS.filter(({ role }) => role !== undefined);
  assert.ok(endpoints.length > 30);
  assert.equal(
    new Set(endpoints.map(({ role }) => role)),
    new Set(REQUIRED.map((actions) => rolesThatMay(...actions))),
  );
  for (const endpoint of endpoints) {
    const response = await app.send(urlOf(endpoint), { as: ADA });
    assert.is(response.statusCode, 403, endpoint.procedure);
    assert.is(response.json().detail, `This needs the role ${endpoint.role}.`, endpoint.procedure);
  }
});

roles('403 an admin role elsewhere changes nothing for the admins of a client', async ({ app }) => {
  const [root, acme] = [app.as(ROOT), app.as(ACME)];
  /** What the admin of Acme gets for everything about a member. */
  const tryAll = async (email: string) => {
    const update = (changes: object) => acme.users.update({ email, ...changes });
    const calls = [
      () => acme.users.permissions({ email }),
      () => update({ first_name: 'X' }),
      () => update({ extra: { a: 1 } }),
      () => update({ apps: [] }),
      () => acme.grants.create({ app_id: SALES, email }),
      () => acme.memberships.update({ id: 1, email, is_demo_user: true }),
      () => acme.access.update({ id: 1, cells: [{ email, app_id: SALES, granted: false }] }),
      () => acme.access.grid({ id: 1, search: email }),
      () => acme.users.bulkUpdate({ emails: [email], action: 'grant-apps', apps: [SALES] }),
      () => acme.users.changeEmail({ email, new_email: `x-${email}` }),
      () => acme.sessions.listByUser({ email }),
      () => update({ is_active: false }),
      () => acme.users.get({ email }),
      () => acme.memberships.remove({ id: 1, email }),
    ];
    const outcomes = [];
    for (const call of calls) {
      const outcome = await call().catch((error: Error) => `${error}`);
      const text = String(JSON.stringify(outcome))
        .replaceAll(email, 'EMAIL')
        .replaceAll(email.split('@')[0] ?? '', 'NAME');
      outcomes.push(text.replace(/"(operation|version|id|profile_color)":("[^"]*"|\d+)|\d{4}-[^"]*Z/g, ''));
    }
    return outcomes;
  };
  for (const email of ['peer@acme.test', 'prime@acme.test'])
    await root.users.create({ email, apps: [SALES, FLEET], send_email: false });
  await root.roles.setClientAdmin({ id: 2, email: 'prime@acme.test', is_admin: true });

  const plain = await tryAll('peer@acme.test');
  assert.equal(await tryAll('prime@acme.test'), plain);
  assert.match(plain.join(), /"can_update_apps":true/);
  assert.equal((await root.users.get({ email: 'prime@acme.test' })).clientadmin_of, [2]);
});

roles.run();
