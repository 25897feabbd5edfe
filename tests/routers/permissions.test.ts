import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const permissions = appSuite('permissions');

const PEOPLE = [ADA, GRACE, ACME, GLOBEX, STAFF, ROOT];

/** Grace is staff and administers Acme. */
permissions.before(async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
});

const succeeds = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    () => false,
  );

/** Calls that change nothing. */
const updateUser = (app: TestApp, who: string, email: string) => app.as(who).users.update({ email });
const updateApp = (app: TestApp, who: string, id: string) => app.as(who).apps.update({ app_id: id });
const readSessions = (app: TestApp, who: string, email: string) =>
  app.as(who).sessions.listByUser({ email, limit: 1 });
const setNoRoles = (app: TestApp, who: string, email: string) =>
  Promise.any([1, 2].map((id) => app.as(who).roles.setInClient({ id, email, roles: [] })));

permissions('match what the service allows on a user', async ({ app }) => {
  for (const who of PEOPLE) {
    const seen = await Promise.all(PEOPLE.map((email) => succeeds(app.as(who).users.get({ email }))));
    for (const email of PEOPLE.filter((_email, index) => seen[index])) {
      const may = await app.as(who).users.permissions({ email });
      const pair = `${who} and ${email}`;
      assert.is(may.can_update, await succeeds(updateUser(app, who, email)), `update: ${pair}`);
      if (who !== email)
        assert.is(may.can_set_roles, await succeeds(setNoRoles(app, who, email)), `roles: ${pair}`);
      // It also requires a role, without which no one can read the sessions of others.
      if (who !== email) assert.is(may.can_revoke, await succeeds(readSessions(app, who, email)), pair);
    }
  }
});

permissions('match what the service allows on an app', async ({ app }) => {
  for (const who of PEOPLE)
    for (const id of [SALES, FLEET]) {
      if (!(await succeeds(app.as(who).apps.get({ app_id: id })))) continue;
      const may = await app.as(who).apps.permissions({ app_id: id });
      assert.is(may.can_update, await succeeds(updateApp(app, who, id)), `${who} and ${id}`);
      assert.is(may.client, id === SALES ? 1 : 2);
    }
});

permissions('are hidden from those who may not see the user or the app', async ({ app }) => {
  await rejectsWith(app.as(ADA).users.permissions({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(ADA).apps.permissions({ app_id: FLEET }), 'not-found');
});

permissions.run();
