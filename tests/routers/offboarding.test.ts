import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const offboarding = appSuite('offboarding');

let created = 0;

/** A person with an app, a group that gives another, a link and a pending request; returns the address and the ids. */
const addPerson = async (app: TestApp, apps: string[] = [SALES]) => {
  created += 1;
  const email = `leaver-${created}@acme.test`;
  await app.as(ROOT).users.create({ email, first_name: 'Lea', apps, client: 1, send_email: false });
  const name = `Team ${created}`;
  const group = await app.as(ACME).groups.create({ id: 1, name, members: [email], apps: [CHURN] });
  const view = apps.includes(SALES)
    ? await app.as(ACME).accessViews.create({ app: 'sales', user_email: email })
    : null;
  return { email, group: group.id, groupName: name, view: view?.id ?? 0 };
};

const offboard = async (app: TestApp, email: string, as = ACME) => {
  const { operation, results } = await app.as(as).users.bulkUpdate({ emails: [email], action: 'offboard' });
  return { operation, row: results[0] };
};

const stateOf = async (app: TestApp, { email, group, view }: Awaited<ReturnType<typeof addPerson>>) => {
  const user = await app.as(ROOT).users.get({ email });
  const views = await app.as(ROOT).accessViews.list({ user: email });
  return {
    is_active: user.is_active,
    apps: user.apps,
    isMember: (await app.as(ROOT).groups.get({ id: 1, group_id: group })).members.includes(email),
    hasLink: views.some(({ id, is_active }) => id === view && is_active),
  };
};

const HAD = { is_active: true, apps: [SALES, CHURN], isMember: true, hasLink: true };

const NOTHING = { is_active: false, apps: [], isMember: false, hasLink: false };

offboarding('ends all that the preview counts, and the undo gives it back but logins', async ({ app }) => {
  const person = await addPerson(app);
  const { email, groupName } = person;
  const token = await app.tokenOf(email);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  await app.as(GLOBEX).clients.invite({ id: 2, email });
  const preview = await app.as(ACME).users.previewOffboarding({ email });
  assert.equal(preview, {
    is_active: true,
    deactivates_account: true,
    clients: [],
    sessions: 0,
    tokens: 1,
    apps: [{ id: SALES, label: 'Sales' }],
    groups: [groupName],
    roles: [],
    access_views: 1,
    invitations: 0,
    mails: 0,
    requests: 0,
  });
  assert.is((await app.as(ROOT).users.previewOffboarding({ email })).invitations, 1);

  const { operation, row } = await offboard(app, email);

  assert.equal(row, { email, status: 'ok', problem: null });
  assert.equal(await stateOf(app, person), NOTHING);
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  // Another client has invited the person, and decides about that.
  assert.is((await app.as(GLOBEX).invitations.search({ search: email })).length, 1);
  const entries = await app.as(ACME).audit.list({ operation });
  assert.equal(entries.map(({ action }) => action).toSorted(), [
    ...['access-view.deactivate', 'group.update', 'user.change-apps', 'user.deactivate'],
  ]);

  const undone = await app.as(ACME).operations.undo({ id: operation });

  assert.equal(undone, { operation, reverted: 4, skipped: [], is_finished: true });
  assert.equal(await stateOf(app, person), HAD);
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
});

offboarding('by an admin of one of two clients ends what the person has there alone', async ({ app }) => {
  const person = await addPerson(app, [SALES, FLEET]);
  const { email } = person;
  const team = { id: 2, name: `Drivers ${created}`, members: [email], apps: [FLEET] };
  const elsewhere = await app.as(GLOBEX).groups.create(team);
  const token = await app.tokenOf(email);
  const seen = async () => [
    await app.as(GLOBEX).users.get({ email }),
    await app.as(GLOBEX).memberships.list({ email }),
    await app.as(GLOBEX).audit.list({ target: email }),
    await app.as(GLOBEX).groups.get({ id: 2, group_id: elsewhere.id }),
  ];
  const before = await seen();
  const preview = await app.as(ACME).users.previewOffboarding({ email });
  const { deactivates_account, clients, tokens, apps, groups } = preview;
  assert.equal([deactivates_account, clients], [false, [{ id: 1, name: 'Acme Analytics' }]]);
  assert.equal([tokens, apps.length, groups.length], [0, 1, 1]);

  const { operation } = await offboard(app, email);

  assert.equal(await seen(), before);
  assert.equal(await stateOf(app, person), { ...NOTHING, is_active: true, apps: [FLEET] });
  assert.is((await app.as(ACME).users.get({ email })).is_active, false);
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);
  await app.as(ACME).operations.undo({ id: operation });
  assert.equal(await stateOf(app, person), { ...HAD, apps: [SALES, CHURN, FLEET] });
  assert.equal(await seen(), before);
});

offboarding('of one client ends what the person has there alone, also by a superuser', async ({ app }) => {
  const person = await addPerson(app, [SALES, FLEET]);
  const { email } = person;
  const token = await app.tokenOf(email);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email, is_admin: true });
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email, is_admin: true });
  const rolesAre = async () => (await app.as(ROOT).users.get({ email })).clientadmin_of;
  const globex = () => app.as(GLOBEX).memberships.list({ email });
  const before = await globex();
  const preview = await app.as(ROOT).users.previewOffboarding({ email, client: 1 });
  const { deactivates_account, clients, tokens, roles } = preview;
  assert.equal([deactivates_account, clients], [false, [{ id: 1, name: 'Acme Analytics' }]]);
  assert.equal([tokens, roles], [0, ['client admin of Acme Analytics']]);
  await rejectsWith(app.as(ACME).users.previewOffboarding({ email, client: 2 }), 'not-found');

  const input = { emails: [email], action: 'offboard' as const, client: 1 };
  const { operation } = await app.as(ROOT).users.bulkUpdate(input);

  assert.equal([await globex(), await rolesAre()], [before, [2]]);
  assert.is((await app.as(ROOT).users.get({ email })).is_active, true);
  assert.equal((await app.as(ROOT).memberships.list({ email }))[0]?.is_active, false);
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);
  await app.as(ROOT).operations.undo({ id: operation });
  assert.equal([(await stateOf(app, person)).isMember, await rolesAre()], [true, [1, 2]]);
  await rejectsWith(app.as(GLOBEX).users.bulkUpdate(input), 'not-found');
});

offboarding('is refused to those who may not deactivate the person', async ({ app }) => {
  const { email } = await addPerson(app);
  const codeOf = async (as: string, of: string) => (await offboard(app, of, as)).row?.problem?.code;

  assert.is(await codeOf(GLOBEX, email), 'not-found');
  assert.is(await codeOf(ACME, EDSGER), 'not-found');
  assert.is(await codeOf(ACME, ACME), 'self-modification');
  assert.is(await codeOf(ROOT, ROOT), 'self-modification');
  await rejectsWith(offboard(app, email, STAFF), 'forbidden');
  await rejectsWith(offboard(app, email, ADA), 'forbidden');
  await app.as(ROOT).roles.update({ email, is_staff: true });
  assert.is(await codeOf(ACME, email), 'forbidden');
  for (const [as, of, code] of [
    [GLOBEX, email, 'not-found'],
    [ACME, email, 'forbidden'],
    [ACME, ACME, 'self-modification'],
    [STAFF, ADA, 'forbidden'],
  ] as const)
    await rejectsWith(app.as(as).users.previewOffboarding({ email: of }), code);
  assert.ok((await app.as(ROOT).users.get({ email })).is_active);
});

offboarding('ends roles, which the undo gives back', async ({ app }) => {
  const { email } = await addPerson(app);
  const root = app.as(ROOT);
  await root.roles.update({ email, is_staff: true, is_superuser: true });
  await root.roles.setClientAdmin({ id: 1, email, is_admin: true });
  await root.roles.setClientAdmin({ id: 2, email, is_admin: true });
  const roles = async () => [
    await root.roles.get({ email }),
    (await root.users.get({ email })).clientadmin_of,
  ];
  const all = [{ is_staff: true, is_superuser: true }, [1, 2]];
  assert.equal(await roles(), all);
  assert.equal((await root.users.previewOffboarding({ email })).roles, [
    ...['superuser', 'staff', 'client admin of Acme Analytics', 'client admin of Globex Data'],
  ]);

  const { operation } = await offboard(app, email, ROOT);

  assert.equal(await roles(), [{ is_staff: false, is_superuser: false }, []]);
  const { skipped } = await root.operations.undo({ id: operation });
  assert.equal([skipped, await roles()], [[], all]);
  await offboard(app, email, ROOT);
});

offboarding('is not undone where someone has decided since', async ({ app }) => {
  const root = app.as(ROOT);
  const { email, group, view } = await addPerson(app);
  await root.roles.update({ email, is_staff: true });
  await root.roles.setClientAdmin({ id: 1, email, is_admin: true });
  // The role has ended it.
  await root.accessViews.update({ key: String(view), is_active: true });
  const { operation } = await offboard(app, email, ROOT);
  // Given again, and taken away again.
  await root.groups.update({ id: 1, group_id: group, members: [email] });
  await root.groups.update({ id: 1, group_id: group, members: [] });
  await root.roles.update({ email, is_staff: true });
  await root.roles.update({ email, is_staff: false });
  for (const is_admin of [true, false]) await root.roles.setClientAdmin({ id: 1, email, is_admin });
  for (const apps of [[SALES], []]) await root.users.update({ email, apps });
  app.clock.advance(MINUTE_MS);
  await root.accessViews.update({ key: String(view), show_footer: false });

  const { reverted, skipped } = await root.operations.undo({ id: operation });

  assert.is(reverted, 1, 'the account');
  assert.equal(
    skipped.map(({ kind, app_id, group_id, problem }) => [kind, app_id ?? group_id, problem.code]),
    [
      ['app', SALES, 'changed-since'],
      ['group', group, 'changed-since'],
      ['access-view', null, 'changed-since'],
      ['client-role', null, 'changed-since'],
      ['role', null, 'changed-since'],
    ],
  );
  assert.equal((await root.users.get({ email })).clientadmin_of, []);
  assert.is((await root.roles.get({ email })).is_staff, false);
});

offboarding.run();
