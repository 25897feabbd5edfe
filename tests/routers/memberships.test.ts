import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { claimsIn, userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, setRows, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const memberships = appSuite('memberships');

let created = 0;

/** A new person of both clients, with an app of each. */
const addShared = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `both-${created}@globex.test`;
  await app.as(ROOT).users.create({ email, apps: [FLEET, SALES], extra: { region: 'all' } });
  return email;
};

/** What the memberships of a person have, by client. */
const dataOf = async (app: TestApp, email: string) =>
  (await app.as(ROOT).memberships.list({ email })).map(({ extra }) => extra);

const accountOf = (app: TestApp, email: string) => app.as(ROOT).users.get({ email });

const opens = async (app: TestApp, email: string): Promise<string[]> =>
  (await app.as(email).apps.list({})).map(({ id }) => id);

const claimsOf = async (app: TestApp, email: string, app_id: string) =>
  claimsIn((await app.as(email).apps.openTicket({ app_id })).ticket);

memberships('are listed for superusers, and for client admins those in their clients', async ({ app }) => {
  const email = await addShared(app);

  const flags = { is_admin: false, roles: [], is_active: true, is_demo_user: false };
  const all = await app.as(ROOT).memberships.list({ email });
  assert.equal(
    all.map(({ joined_at, ...membership }) => membership),
    [
      { client: 1, client_name: 'Acme Analytics' },
      { client: 2, client_name: 'Globex Data' },
    ].map((client) => ({ ...client, ...flags, extra: { region: 'all' }, ended_at: null })),
  );
  const clientsFor = async (who: string) =>
    (await app.as(who).memberships.list({ email })).map(({ client }) => client);
  assert.equal(await clientsFor(ACME), [1]);
  assert.equal(await clientsFor(GLOBEX), [2]);
  assert.equal(await clientsFor(email), [1, 2]);
  await rejectsWith(clientsFor(ADA), 'not-found');
});

memberships('are suspended by the admin of one client, without an effect elsewhere', async ({ app }) => {
  const email = await addShared(app);
  const account = await accountOf(app, email);
  await app.as(ACME).users.deactivate({ email });

  assert.is((await app.as(ACME).users.get({ email })).is_active, false);
  assert.equal((await app.as(ACME).users.get({ email })).apps, []);
  assert.is((await app.as(GLOBEX).users.get({ email })).is_active, true);
  assert.equal(await accountOf(app, email), { ...account, apps: [FLEET] });
  assert.equal(await opens(app, email), [FLEET]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: SALES }), 'not-found');
  const [ofAcme, ofGlobex] = await app.as(ROOT).memberships.list({ email });
  assert.equal([ofAcme?.is_active, ofAcme?.ended_at], [false, app.clock.now()]);
  assert.equal([ofGlobex?.is_active, ofGlobex?.ended_at], [true, null]);
});

memberships('that are suspended keep an app closed that is granted again', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).users.update({ email, is_active: false });
  await app.as(ACME).users.update({ email, apps: [SALES] });

  assert.equal((await app.as(ACME).users.get({ email })).apps, []);
  assert.equal(await opens(app, email), [FLEET]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: SALES }), 'not-found');
  const matrix = await app.as(ACME).access.matrix({ id: 1, search: email });
  assert.is(matrix.users[0]?.is_active, false);

  await app.as(ACME).users.update({ email, is_active: true });
  assert.equal((await opens(app, email)).toSorted(), [FLEET, SALES].toSorted());
});

memberships('have data of their own for the apps of their client', async ({ app }) => {
  const email = await addShared(app);
  const changes = { extra: { region: 'north' }, is_demo_user: true };
  const updated = await app.as(ACME).users.update({ email, ...changes });

  assert.equal([updated.extra, updated.is_demo_user], [{ region: 'north' }, true]);
  const other = await app.as(GLOBEX).users.get({ email });
  assert.equal([other.extra, other.is_demo_user], [{ region: 'all' }, false]);
  const [sales, fleet] = [await claimsOf(app, email, SALES), await claimsOf(app, email, FLEET)];
  assert.equal([sales.data_permissions, sales.is_demo_user], [{ region: 'north' }, true]);
  assert.equal([fleet.data_permissions, fleet.is_demo_user], [{ region: 'all' }, false]);
});

memberships('stay as they are if a caller sends back what it has read', async ({ app }) => {
  const email = await addShared(app);
  await app.as(GLOBEX).users.update({ email, extra: { region: 'south' } });
  for (const who of [ACME, ROOT]) {
    const { users } = app.as(who);
    const { first_name, last_name, extra, is_active, is_demo_user, apps } = await users.get({ email });
    await users.update({ email, first_name, last_name, extra, is_active, is_demo_user, apps });
  }

  assert.equal(await dataOf(app, email), [{ region: 'all' }, { region: 'south' }]);
});

memberships('all get the data that a superuser sets, and the account too', async ({ app }) => {
  const email = await addShared(app);
  await app.as(GLOBEX).users.update({ email, is_active: false, extra: { region: 'south' } });
  const { extra } = await app.as(ROOT).users.update({ email, extra: { region: 'north' } });

  assert.equal(extra, { region: 'north' });
  assert.equal(await dataOf(app, email), [{ region: 'north' }, { region: 'north' }]);
  assert.equal(await valuesOf(app, 'users', 'extra', { email }), [{ region: 'north' }]);
});

memberships('are what superusers and the person see, an active one before others', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).users.update({ email, extra: { region: 'north' } });
  await app.as(GLOBEX).users.update({ email, extra: { region: 'south' } });
  const seen = () =>
    Promise.all([ROOT, STAFF, email].map(async (who) => (await app.as(who).users.get({ email })).extra));
  assert.equal(await seen(), Array(3).fill({ region: 'north' }));

  await app.as(ACME).users.update({ email, is_active: false });
  assert.equal(await seen(), Array(3).fill({ region: 'south' }));
});

memberships('of the first client take the data of the account, later ones are empty', async ({ app }) => {
  const email = 'joining@people.test';
  await app.as(ROOT).users.create({ email, extra: { region: 'all' }, is_demo_user: true });
  const first = await app.as(ROOT).users.update({ email, apps: [FLEET] });
  assert.equal([first.extra, first.is_demo_user], [{ region: 'all' }, true]);

  const second = await app.as(ROOT).users.update({ email, apps: [FLEET, SALES] });
  assert.equal([second.extra, second.is_demo_user], [{}, false], 'by the order of clients');
  assert.equal(await dataOf(app, email), [{}, { region: 'all' }]);

  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await app.as(ROOT).memberships.remove({ id: 1, email });
  assert.equal((await accountOf(app, email)).extra, {});
});

memberships('are what lists and filters of a client admin show', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).users.update({ email, is_active: false, extra: { region: 'north' } });
  const inactive = async (who: string) =>
    (await app.as(who).users.count({ search: email, is_active: false })).count;

  assert.equal([await inactive(ACME), await inactive(GLOBEX), await inactive(ROOT)], [1, 0, 0]);
  for (const path of ['/jb/users/', '/jb/clients/1/users/', '/jb/users/?limit=1000']) {
    const users: { email: string }[] = (await app.send(`GET ${path}`, { as: ACME })).json();
    const { is_active, extra } = Object(users.find((user) => user.email === email));
    assert.equal([is_active, extra], [false, { region: 'north' }], path);
  }
  const people = await app.as(GLOBEX).users.people({ search: email });
  assert.is(people[0]?.is_active, true);
});

memberships('that were suspended again since are not reactivated by an undo', async ({ app }) => {
  const email = await addShared(app);
  const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'deactivate' });
  await app.as(ACME).users.update({ email, is_active: true });
  app.clock.advance(1_000);
  await app.as(ACME).users.update({ email, is_active: false });

  const { skipped } = await app.as(ACME).operations.undo({ id: operation });

  assert.ok(skipped.some(({ app_id, problem }) => app_id === null && problem.code === 'changed-since'));
  assert.is((await app.as(ACME).users.get({ email })).is_active, false);
});

memberships('cannot reactivate an account that a superuser has deactivated', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ROOT).users.deactivate({ email });

  assert.is((await app.as(ACME).users.get({ email })).is_active, false);
  await rejectsWith(app.as(ACME).users.update({ email, is_active: true }), 'shared-user');
});

memberships('of an inactive account are changed without reactivating it', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ROOT).users.deactivate({ email });
  const update = (is_active: boolean) => app.as(ROOT).memberships.update({ id: 1, email, is_active });

  assert.is((await update(false)).is_active, false);
  assert.is((await update(true)).is_active, true);
  assert.is((await accountOf(app, email)).is_active, false);
});

memberships('are removed with what the preview has named', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).accessViews.create({ app: 'sales', user_email: email });
  const preview = await app.as(ACME).memberships.previewRemoval({ id: 1, email });
  assert.equal(preview, {
    apps: [{ id: SALES, label: 'Sales' }],
    groups: [],
    access_views: 1,
    deactivates_account: false,
  });

  await app.as(ACME).memberships.remove({ id: 1, email });

  await rejectsWith(app.as(ACME).users.get({ email }), 'not-found');
  assert.equal(await opens(app, email), [FLEET]);
  await rejectsWith(app.as(ACME).memberships.remove({ id: 1, email }), 'not-found');
  const entries = await app.as(ROOT).audit.list({ target: email, limit: 2 });
  assert.equal(entries.map(({ action, clients }) => [action, clients]).toSorted(), [
    ['membership.remove', [1]],
    ['user.change-apps', [1]],
  ]);
});

memberships('have previews of their end without expired grants and share links', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).accessViews.create({ app: 'sales', user_email: email });
  const user_id = await userId(app, email);
  const expires_at = new Date(0);
  await setRows(app, 'access_views', { user_id }, { expires_at });
  await setRows(app, 'app_grants', { user_id, app_id: SALES }, { expires_at });

  const preview = await app.as(ACME).memberships.previewRemoval({ id: 1, email });
  const offboarding = await app.as(ACME).users.previewOffboarding({ email });
  await app.as(ACME).memberships.remove({ id: 1, email });

  assert.equal([preview.apps, preview.access_views], [[], 0]);
  assert.equal([offboarding.apps, offboarding.access_views], [[], 0]);
  assert.is((await app.as(ROOT).audit.list({ target: email, limit: 1 }))[0]?.action, 'membership.remove');
});

memberships('that end take the invitations of their client along for good', async ({ app }) => {
  for (const end of ['suspend', 'remove'] as const) {
    const email = await addShared(app);
    const revoke = { emails: [email], action: 'revoke-apps' as const, apps: [SALES] };
    const { operation } = await app.as(ACME).users.bulkUpdate(revoke);
    const times = { date_invited: app.clock.now(), expires_at: new Date(app.clock.now().getTime() + 60_000) };
    const inviter_id = await userId(app, ACME);
    await addRows(app, 'invitations', { client_id: 1, inviter_id, email, key: `key-${end}`, ...times });
    if (end === 'suspend') await app.as(ACME).users.deactivate({ email });
    else await app.as(ACME).memberships.remove({ id: 1, email });

    await app.as(ACME).operations.undo({ id: operation });

    assert.equal(await opens(app, email), [FLEET], end);
    assert.equal(await valuesOf(app, 'invitations', 'status', { email }), ['revoked'], end);
  }
});

memberships('that are removed as the last one deactivate the account', async ({ app }) => {
  const email = await addShared(app);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  assert.is((await app.as(ACME).memberships.previewRemoval({ id: 1, email })).deactivates_account, true);
  const token = await app.tokenOf(email);

  await app.as(ACME).memberships.remove({ id: 1, email });

  assert.is((await accountOf(app, email)).is_active, false);
  await rejectsWith(app.as(null).tokens.verify({ token }), 'invalid-token');
});

memberships('of client admins are removed by superusers only, and never the own one', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });

  await rejectsWith(app.as(ACME).memberships.remove({ id: 1, email }), 'client-admin-locked');
  await rejectsWith(app.as(ACME).memberships.remove({ id: 1, email: ACME }), 'self-modification');
  await rejectsWith(app.as(ACME).memberships.remove({ id: 1, email: ROOT }), 'not-found');
  await rejectsWith(app.as(GLOBEX).memberships.remove({ id: 1, email }), 'not-found');
  await app.as(ROOT).memberships.remove({ id: 1, email });
});

memberships('of an admin give no right while suspended, and return the role', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });
  await app.as(ACME).users.deactivate({ email });

  assert.equal((await accountOf(app, email)).clientadmin_of, []);
  await rejectsWith(app.as(email).users.list({}), 'forbidden');
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
  const admins = await app.as(ROOT).users.list({ role: 'client-admin', search: email });
  assert.equal(admins, []);
  const holders = await app.as(ACME).roles.listInClient({ id: 1 });
  assert.not(holders.some((holder) => holder.email === email));
  const [ofAcme] = await app.as(ROOT).memberships.list({ email });
  assert.equal([ofAcme?.is_admin, ofAcme?.is_active], [true, false]);

  await app.as(ACME).memberships.update({ id: 1, email, is_active: true });

  assert.equal((await accountOf(app, email)).clientadmin_of, [1]);
  assert.ok((await app.as(email).users.list({ client: 1 })).length > 0);
});

memberships('with kept roles are reactivated only by those who may do as much', async ({ app }) => {
  const email = await addShared(app);
  const manager = await addShared(app);
  await app.as(ACME).roles.setInClient({ id: 1, email: manager, roles: ['people-manager'] });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });
  await app.as(ACME).users.deactivate({ email });

  const reactivate = (who: string) => app.as(who).memberships.update({ id: 1, email, is_active: true });
  await rejectsWith(reactivate(manager), 'forbidden');
  await rejectsWith(app.as(manager).users.update({ email, is_active: true }), 'forbidden');
  const [row] = (await app.as(manager).users.bulkUpdate({ emails: [email], action: 'reactivate' })).results;
  assert.is(row?.problem?.code, 'forbidden');
  await rejectsWith(app.as(ACME).users.update({ email, is_active: true }), 'client-admin-locked');
  assert.is((await reactivate(ACME)).is_active, true);
});

memberships(
  'are suspended with all that they have, and one reactivation returns exactly that',
  async ({ app }) => {
    const email = await addShared(app);
    const { id: group } = await app
      .as(ACME)
      .groups.create({ id: 1, name: `Kept ${email}`, members: [email], apps: [CHURN] });
    await app.as(ACME).users.update({ email, extra: { region: 'north' } });
    await app.as(ACME).roles.setInClient({ id: 1, email, roles: ['auditor', 'help-desk'] });
    const terms = { expires_at: new Date(app.clock.now().getTime() + DAY_MS), reason: 'Trial' };
    await app.as(ACME).grants.remove({ app_id: SALES, email });
    await app.as(ACME).grants.create({ app_id: SALES, email, ...terms });
    await app.as(ACME).accessViews.create({ app: 'sales', user_email: email });
    const had = async () => ({
      opens: (await opens(app, email)).toSorted(),
      account: (({ last_activated: _, last_deactivated: __, ...person }) => person)(
        await app.as(ACME).users.get({ email }),
      ),
      memberships: await app.as(ROOT).memberships.list({ email }),
      access: await app.as(ACME).access.ofPerson({ email }),
      members: (await app.as(ACME).groups.get({ id: 1, group_id: group })).members,
      ending: (await app.as(ACME).grants.listEnding({})).filter((grant) => grant.email === email),
    });
    const before = await had();
    assert.equal(before.opens, [CHURN, FLEET, SALES].toSorted());
    assert.is(before.ending.length, 1);

    const change = { emails: [email], client: 1 };
    const { operation, results } = await app.as(ACME).users.bulkUpdate({ ...change, action: 'deactivate' });
    assert.is(results[0]?.status, 'ok');

    const during = await had();
    assert.equal([during.opens, during.account.apps, during.ending], [[FLEET], [], []]);
    assert.equal(during.members, before.members);
    for (const app_id of [SALES, CHURN]) {
      await rejectsWith(app.as(email).apps.openTicket({ app_id }), 'not-found');
      assert.is((await app.as(ROOT).access.explain({ email, app_id })).allowed, false);
      const people = await app.as(ROOT).access.effective({ app_id });
      assert.not(people.some((person) => person.email === email));
      assert.not(
        (await app.as(ROOT).users.list({ app: app_id === SALES ? 'sales' : 'churn' })).some(
          (person) => person.email === email,
        ),
      );
    }
    await rejectsWith(app.as(email).audit.list({}), 'forbidden');
    await app.as(ACME).users.bulkUpdate({ ...change, action: 'reactivate' });
    assert.equal(await had(), {
      ...before,
      memberships: during.memberships.map((each) => ({ ...each, is_active: true, ended_at: null })),
    });

    const again = await app.as(ACME).users.bulkUpdate({ ...change, action: 'deactivate' });
    await app.as(ACME).operations.undo({ id: again.operation });
    assert.equal((await had()).opens, before.opens);
    assert.is((await app.as(ACME).operations.undo({ id: operation })).skipped.length, 1);
  },
);

memberships('of suspended people keep the apps that a caller has not read', async ({ app }) => {
  const email = await addShared(app);
  await app.as(ACME).users.update({ email, is_active: false });
  const { apps } = await app.as(ACME).users.get({ email });
  await app.as(ACME).users.update({ email, apps });
  await app.as(ACME).users.update({ email, is_active: true, apps });

  assert.equal((await opens(app, email)).toSorted(), [FLEET, SALES].toSorted());
  await app.as(ACME).users.update({ email, is_active: false, apps: [] });
  await app.as(ACME).users.update({ email, is_active: true });
  assert.equal(await opens(app, email), [FLEET]);
});

memberships.run();
