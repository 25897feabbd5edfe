import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT, STAFF } from '../support/test-app.ts';

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

roles('revoking a client admin role from a non-member does not add a membership', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });

  await rejectsWith(app.as(ACME).users.get({ email: EDSGER }), 'not-found');
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
  await app.db().updateTable('users').set({ is_superuser: true }).where('email', '=', ROOT).execute();
});

roles('requires a superuser, and an existing user and client', async ({ app }) => {
  for (const who of [ACME, STAFF, ADA]) {
    await rejectsWith(app.as(who).roles.update({ email: who, is_superuser: true }), 'forbidden');
    await rejectsWith(app.as(who).roles.setClientAdmin({ id: 1, email: who, is_admin: true }), 'forbidden');
  }
  await rejectsWith(app.as(ROOT).roles.setClientAdmin({ id: 9, email: ADA, is_admin: true }), 'not-found');
  await rejectsWith(app.as(ROOT).roles.update({ email: 'x@y.test', is_staff: true }), 'not-found');
});

roles.run();
