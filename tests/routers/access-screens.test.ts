import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const screens = appSuite('screens of access');

screens(
  'of a person name the grant, the groups and the role that give each app of the clients',
  async ({ app }) => {
    const email = 'ways@acme.test';
    await app.as(ACME).users.create({ email, client: 1 });
    const expires_at = new Date('2099-01-31T12:00:00Z');
    await app.as(ACME).grants.create({ app_id: SALES, email, expires_at, reason: 'Closing' });
    const team = await app.as(ACME).groups.create({ id: 1, name: 'Zebras', members: [email], apps: [CHURN] });
    const other = await app.as(ACME).groups.create({ id: 1, name: 'Ants', apps: [SALES] });

    const { apps, groups } = await app.as(ACME).access.ofPerson({ email });

    const [sales, churn] = [SALES, CHURN].map((id) => apps.find((one) => one.id === id));
    assert.equal(
      [sales?.grant?.granted_by, sales?.grant?.expires_at, sales?.grant?.reason, sales?.groups],
      [ACME, expires_at, 'Closing', []],
    );
    assert.equal([churn?.grant, churn?.groups, churn?.role], [null, [team.id], null]);
    const added = { is_member: true, added_at: app.clock.now(), added_by: ACME };
    const notAdded = { is_member: false, added_at: null, added_by: null };
    assert.equal(groups, [
      { id: other.id, client: 1, name: 'Ants', apps: [SALES], ...notAdded },
      { id: team.id, client: 1, name: 'Zebras', apps: [CHURN], ...added },
    ]);
    assert.ok((await app.as(ACME).access.ofPerson({ email: ACME })).apps.every(({ role }) => role));
  },
);

screens('of a person list the apps that the person lacks', async ({ app }) => {
  const email = 'no-way@acme.test';
  await app.as(ACME).users.create({ email, client: 1 });

  const { apps } = await app.as(ACME).access.ofPerson({ email });

  assert.equal(apps.map(({ id }) => id).toSorted(), [SALES, CHURN].toSorted());
  assert.ok(apps.every(({ grant, groups, role }) => grant === null && groups.length === 0 && role === null));
});

screens('of a shared person show nothing of other clients', async ({ app }) => {
  const email = 'ways-shared@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET] });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Drivers', members: [email], apps: [FLEET] });

  const ofAcme = await app.as(ACME).access.ofPerson({ email });

  assert.ok([...ofAcme.apps, ...ofAcme.groups].every(({ client }) => client === 1));
  const ofStaff = await app.as(STAFF).access.ofPerson({ email });
  assert.equal([...new Set(ofStaff.apps.map(({ client }) => client))], [1, 2]);
  await rejectsWith(app.as(ACME).access.ofPerson({ email: EDSGER }), 'not-found');
  await rejectsWith(app.as(ADA).access.ofPerson({ email: ADA }), 'forbidden');
});

screens('of the matrix show groups, and when grants end', async ({ app }) => {
  const email = 'in-grid@acme.test';
  await app.as(ACME).users.create({ email, client: 1 });
  const expires_at = new Date('2099-01-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email, expires_at });
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Grid', members: [email], apps: [CHURN] });

  const { users, groups } = await app.as(ACME).access.grid({ id: 1, search: email });

  assert.ok(groups.some((group) => group.id === id && group.name === 'Grid'));
  assert.equal(
    users.map((user) => [user.email, user.apps, user.apps_by_group, user.groups, user.ends]),
    [[email, [SALES, CHURN], [CHURN], [id], [{ app: SALES, expires_at }]]],
  );
  await rejectsWith(app.as(GLOBEX).access.grid({ id: 1 }), 'not-found');
});

screens.run();
