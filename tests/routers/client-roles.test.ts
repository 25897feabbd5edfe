import * as assert from 'uvu/assert';
import { CLIENT_ROLES, DELEGATED_ROLES } from '../../src/services/access/permissions.ts';
import { userId } from '../support/access-views.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, setRows } from '../support/rows.ts';
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
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const roles = appSuite('delegated roles');

type Role = (typeof DELEGATED_ROLES)[number]['name'];

const give = (app: TestApp, email: string, held: Role[], by = ACME) =>
  app.as(by).roles.setInClient({ id: 1, email, roles: held });

/** A new member of client 1 with these roles. */
const holder = async (app: TestApp, ...held: Role[]): Promise<string> => {
  const email = await addMember(app);
  await give(app, email, held);
  return email;
};

roles('are given by admins of the client, listed, recorded, and ended', async ({ app }) => {
  const email = await holder(app, 'help-desk', 'auditor');
  const listed = await app
    .as(ADA)
    .roles.listInClient({ id: 1 })
    .catch(() => 'forbidden');

  assert.is(listed, 'forbidden');
  assert.equal(
    (await app.as(ACME).roles.listInClient({ id: 1 })).map((person) => [
      person.email,
      person.is_admin,
      person.roles,
    ]),
    [
      [ACME, true, []],
      [email, false, ['help-desk', 'auditor']],
    ].sort(),
  );
  assert.equal((await app.as(email).sessions.current())?.roles.client_roles, { 1: ['help-desk', 'auditor'] });
  const { details, client_ids } = await rowOf(app, 'audit_entries', {
    action: 'membership.set-roles',
    target_id: String(await userId(app, email)),
  });
  assert.equal([details, client_ids], [{ roles: { from: [], to: ['help-desk', 'auditor'] } }, [1]]);

  await give(app, email, []);
  await rejectsWith(app.as(email).users.list({}), 'forbidden');
});

roles(
  'cannot be given to oneself, to strangers, or without the right to configure the client',
  async ({ app }) => {
    const manager = await holder(app, 'people-manager');

    await rejectsWith(give(app, ACME, ['auditor']), 'self-modification');
    await rejectsWith(give(app, EDSGER, ['auditor']), 'not-found');
    await rejectsWith(app.as(ACME).roles.setInClient({ id: 2, email: ADA, roles: ['auditor'] }), 'not-found');
    for (const by of [manager, STAFF, GRACE]) await rejectsWith(give(app, ADA, ['auditor'], by), 'forbidden');
    await setRows(app, 'users', { email: GRACE }, { is_staff: true });
    await rejectsWith(give(app, GRACE, ['auditor']), 'forbidden');
    await setRows(app, 'users', { email: GRACE }, { is_staff: false });
  },
);

roles('the last active admin of a client stays admin', async ({ app }) => {
  const setAdmin = (email: string, is_admin: boolean) =>
    app.as(ROOT).roles.setClientAdmin({ id: 2, email, is_admin });

  await rejectsWith(setAdmin(GLOBEX, false), 'last-client-admin');
  await setAdmin(EDSGER, true);
  const outcomes = await Promise.allSettled([setAdmin(GLOBEX, false), setAdmin(EDSGER, false)]);

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  await setAdmin(GLOBEX, true);
  await setAdmin(EDSGER, false);
});

type Caller = ReturnType<TestApp['as']>;

let calls = 0;

/** One call for each column of the table of roles. */
const CALLS: Record<string, (caller: Caller, target: string) => Promise<unknown>> = {
  view: (caller) => caller.users.list({ limit: 1 }),
  people: (caller) => caller.users.create({ email: `new${++calls}@acme.test`, client: 1, send_email: false }),
  groups: (caller) => caller.groups.create({ id: 1, name: `Team ${++calls}` }),
  grants: (caller, email) => caller.grants.create({ app_id: CHURN, email }),
  credentials: (caller, email) =>
    Promise.all([caller.sessions.revokeAll({ email }), caller.users.identities({ email })]),
  apps: (caller) => caller.apps.update({ app_id: SALES, label: `Sales ${++calls}` }),
  settings: (caller) => caller.clients.update({ id: 1, login_title: `Hello ${++calls}` }),
  audit: (caller) => caller.audit.list({ limit: 1 }),
};

const MAY: Record<Role | 'client-admin', string[]> = {
  auditor: ['view', 'audit'],
  'help-desk': ['view', 'credentials'],
  'people-manager': ['view', 'people', 'groups', 'grants', 'credentials', 'audit'],
  'app-manager': ['view', 'grants', 'apps', 'audit'],
  'client-admin': Object.keys(CALLS),
};

for (const { name } of CLIENT_ROLES)
  roles(`${name}: may do its row of the table, and nothing else`, async ({ app }) => {
    const email = name === 'client-admin' ? ACME : await holder(app, name);
    const allowed: string[] = [];
    for (const [column, call] of Object.entries(CALLS)) {
      const target = await addMember(app);
      await call(app.as(email), target).then(
        () => allowed.push(column),
        (error: unknown) => assert.match(String(error), /This needs the role|forbidden/, column),
      );
    }

    assert.equal(allowed, MAY[name]);
    await rejectsWith(app.as(email).clients.get({ id: 2 }), 'not-found');
    await rejectsWith(app.as(email).users.get({ email: EDSGER }), 'not-found');
  });

roles('give no authority over people with more rights', async ({ app }) => {
  const [desk, manager, apps, auditor] = await Promise.all([
    holder(app, 'help-desk'),
    holder(app, 'people-manager'),
    holder(app, 'app-manager'),
    holder(app, 'auditor'),
  ]);

  for (const [who, target] of [
    [desk, manager],
    [desk, auditor],
    [manager, apps],
    [manager, ACME],
  ] as const)
    await rejectsWith(app.as(who).sessions.revokeAll({ email: target }), 'forbidden');
  await app.as(manager).sessions.revokeAll({ email: desk });
  await rejectsWith(app.as(manager).users.deactivate({ email: apps }), 'forbidden');
  await rejectsWith(app.as(apps).accessViews.create({ app: 'sales', user: ACME }), 'invalid-input');
  const view = await app.as(ACME).accessViews.create({ app: 'sales', user: ACME });
  await rejectsWith(app.as(apps).accessViews.get({ key: view.key }), 'not-found');
});

roles('do not change the groups of people with more rights, or their own', async ({ app }) => {
  const [manager, stronger, plain] = [
    await holder(app, 'people-manager'),
    await holder(app, 'people-manager', 'app-manager'),
    await addMember(app),
  ];
  const { id: group_id } = await app.as(ACME).groups.create({ id: 1, name: 'Rights', members: [stronger] });
  const change = (who: string, members: string[]) => app.as(who).groups.update({ id: 1, group_id, members });

  await change(manager, [stronger, plain]);
  for (const members of [[plain], [stronger, plain, manager]])
    await rejectsWith(change(manager, members), 'forbidden');
  assert.equal((await change(ACME, [manager])).members, [manager]);
});

roles('an app manager changes the apps of a person by PATCH, and nothing else of them', async ({ app }) => {
  const [manager, email] = [await holder(app, 'app-manager'), await addMember(app)];
  const seen = await app.as(manager).users.get({ email });
  const update = (changes: object) => app.as(manager).users.update({ ...seen, email, ...changes });

  assert.equal((await update({ apps: [SALES, CHURN] })).apps, [SALES, CHURN]);
  for (const change of [{ first_name: 'X' }, { is_active: false }, { extra: { a: 1 } }])
    await rejectsWith(update(change), 'forbidden');
});

roles('a delegated role opens no app of the client', async ({ app }) => {
  const email = await holder(app, 'app-manager', 'people-manager');

  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
});

/** Names the rows that a caller sees in each list. */
const seenBy = async (caller: Caller): Promise<string[]> => {
  const lists: Record<string, () => Promise<readonly object[]>> = {
    people: () => caller.users.list({}),
    apps: () => caller.apps.list({}),
    clients: () => caller.clients.list({}),
    invitations: () => caller.invitations.search({}),
    mails: () => caller.mail.list({}),
    audit: () => caller.audit.list({ limit: 500 }),
    groups: () => caller.groups.list({ id: 1 }),
    usage: async () => (await caller.usage.list({ app_id: SALES })).items,
    webhooks: () => caller.webhooks.list({}),
  };
  const seen = Object.entries(lists).map(async ([list, read]) => {
    const rows = await read().catch(() => []);
    return rows.map((row) => `${list} ${'email' in row ? row.email : 'id' in row ? row.id : ''}`);
  });
  return (await Promise.all(seen)).flat();
};

roles('show never less to a person who is given one more', async ({ app }) => {
  const email = await addMember(app, [SALES, FLEET], ROOT);
  const seen = new Map<string, Set<string>>();
  const names = DELEGATED_ROLES.map(({ name }) => name);
  const sets = Array.from({ length: 2 ** names.length }, (_, bits) =>
    names.filter((_, at) => bits & (1 << at)),
  );
  for (const held of sets) {
    await setRows(app, 'memberships', { client_id: 1, user_id: await userId(app, email) }, { roles: held });
    seen.set(held.join(' '), new Set(await seenBy(app.as(email))));
  }

  assert.is(sets.length, 16);
  for (const more of sets)
    for (const role of more) {
      const fewer = more.filter((name) => name !== role).join(' ');
      const lost = [...(seen.get(fewer) ?? [])].filter((row) => !seen.get(more.join(' '))?.has(row));
      assert.equal(lost, [], `${more} shows less than ${fewer}`);
    }
});

roles.run();
