import * as assert from 'uvu/assert';
import { AUDIT_ACTIONS, LOGIN_ACTIONS } from '../../src/services/audit/event-types.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const operations = appSuite('audit.listOperations');

/** Three people lose an app in one operation; then one of them is renamed. */
const changeMany = async (app: TestApp) => {
  const emails = [ADA, GRACE, IDLE];
  await app.as(ACME).users.bulkUpdate({ emails, action: 'grant-apps', apps: [SALES] });
  const { operation } = await app.as(ACME).users.bulkUpdate({ emails, action: 'revoke-apps', apps: [SALES] });
  app.clock.advance(1000);
  await app.as(ACME).users.update({ email: ADA, first_name: 'Augusta' });
  return operation;
};

operations(
  'has one row for a change of many users, with a summary, which opens to each entry',
  async ({ app }) => {
    await changeMany(app);
    const [renamed, revoked] = await app.as(ACME).audit.listOperations({ kind: 'changes', limit: 2 });

    assert.equal([renamed?.action, renamed?.summary], ['user.update', null]);
    assert.equal(revoked?.summary, {
      count: 3,
      targets: 3,
      target_types: ['user'],
      people: 3,
      person: null,
      actions: ['user.change-apps'],
      is_same: true,
      change: 'revoke-apps',
    });
    const opened = await app.as(ACME).audit.listOperations({ entry: revoked?.id });
    assert.equal(fieldOf(opened, 'target').toSorted(), [ADA, GRACE, IDLE].toSorted());
    assert.ok(opened.every(({ summary }) => summary === null));
  },
);

operations('has the undo of an operation as a row of its own', async ({ app }) => {
  const operation = await changeMany(app);
  await app.as(ACME).operations.undo({ id: operation });

  const rows = await app.as(ACME).audit.listOperations({ operation });

  assert.equal(
    rows.map(({ details, summary }) => [details.is_undo ?? false, summary?.count]),
    [
      [true, 3],
      [false, 3],
    ],
  );
  assert.is((await app.as(ACME).audit.list({ operation })).length, 6);
});

operations('says of an offboarding that it was one, and of whom', async ({ app }) => {
  const groups = app.as(ACME).groups;
  for (const name of ['Leavers', 'Movers']) await groups.create({ id: 1, name, members: [IDLE] });
  const { operation } = await app.as(ACME).users.bulkUpdate({ emails: [IDLE], action: 'offboard' });
  await app.as(ACME).operations.undo({ id: operation });

  const rows = await app.as(ACME).audit.listOperations({ operation });

  assert.equal(
    rows.map(({ summary }) => [summary?.change, summary?.people, summary?.person?.email]),
    [
      ['offboard', 1, IDLE],
      ['offboard', 1, IDLE],
    ],
  );
  for (const { people, summary } of rows) assert.ok(people.some(({ id }) => id === summary?.person?.id));
});

operations(
  'has one row for what one request changed, but not if another person sends its id',
  async ({ app }) => {
    app.clock.advance(1000);
    const headers = { 'x-request-id': 'same-id' };
    const payload = { first_name: 'A.', apps: [CHURN] };
    for (const as of [ACME, ROOT]) {
      const sent = { ...payload, last_name: as.slice(0, 4) };
      const { statusCode, body } = await app.send(`PATCH /jb/users/${ADA}/`, { as, headers, payload: sent });
      assert.is(statusCode, 200, body);
    }

    const rows = await app.as(ROOT).audit.listOperations({ target: ADA, from: app.clock.now() });

    assert.equal(fieldOf(rows, 'actor').toSorted(), [ACME, ROOT].toSorted());
    const [first] = rows.filter(({ actor }) => actor === ACME);
    assert.equal(first?.summary?.actions, ['user.change-apps', 'user.update']);
    assert.is(first?.summary?.targets, 1);
  },
);

operations('reads each operation once, page by page, as the filter selects it', async ({ app }) => {
  for (let round = 0; round < 3; round++) {
    await changeMany(app);
    app.clock.advance(1000);
  }
  const filter = { client: 1, actions: 'user.change-apps,user.update' };
  const { listOperations } = app.as(ACME).audit;
  const all = await listOperations({ ...filter, limit: 200 });
  const pages = [];
  let cursor: number | undefined;
  for (;;) {
    const page = await listOperations({ ...filter, limit: 2, cursor });
    if (page.length === 0) break;
    pages.push(...page);
    cursor = page.at(-1)?.id;
  }

  assert.equal(pages, all);
  const flat = await app.as(ACME).audit.list({ ...filter, limit: 200 });
  const counted = all.map(({ summary }) => summary?.count ?? 1).reduce((sum, count) => sum + count, 0);
  assert.is(counted, flat.length);
  const { headers } = await app.send('GET /jb/audit/operations/?page=2', { as: ACME });
  assert.is(headers['x-count'], undefined, 'operations are not counted');
});

operations('counts only entries that the viewer sees and the filter selects', async ({ app }) => {
  const emails = [ADA, GRACE];
  await app.as(ROOT).users.bulkUpdate({ emails, action: 'grant-apps', apps: [SALES, FLEET] });
  const newest = async (viewer: string, filter = {}) =>
    (await app.as(viewer).audit.listOperations({ actions: 'user.change-apps', ...filter, limit: 1 }))[0]
      ?.summary;

  const of = async (viewer: string, filter = {}) => (await newest(viewer, filter))?.count ?? 1;
  assert.ok((await of(ROOT)) > (await of(GLOBEX)));
  assert.is(await of(ROOT, { target: ADA, client: 2 }), 1);
  await rejectsWith(app.as(ADA).audit.listOperations({}), 'forbidden');
});

operations(
  'names the people of an entry, and tells service accounts and directories from people',
  async ({ app }) => {
    const { create, createToken } = app.as(ROOT).serviceAccounts;
    const make = async (name: string, scopes: ('users:write' | 'scim')[]) => {
      const account = await create({ name, client: 1, roles: ['client-admin'], scopes });
      return (await createToken({ id: account.id, name })).token;
    };
    const token = await make('Nightly', ['users:write']);
    const headers = { authorization: `Token ${token}` };
    const payload = { last_name: 'Murray' };
    const { statusCode, body } = await app.send(`PATCH /jb/users/${IDLE}/`, { headers, payload });
    assert.is(statusCode, 200, body);
    await make('Okta', ['scim']);

    const [entry] = await app.as(ACME).audit.listOperations({ target: IDLE, limit: 1 });
    assert.equal(
      fieldsOf(entry?.people ?? [], 'name', 'kind').toSorted(),
      [
        ['Ida Murray', 'person'],
        ['Nightly', 'service-account'],
      ].toSorted(),
    );
  },
);

operations('splits the trail into changes and logins', async ({ app }) => {
  await app.send('POST /session/', { payload: { username: ADA, password: DEMO_PASSWORD } });
  const actionsOf = async (kind: 'changes' | 'logins') =>
    fieldOf(await app.as(ROOT).audit.listOperations({ kind, limit: 200 }), 'action');

  const [changes, logins] = [await actionsOf('changes'), await actionsOf('logins')];
  assert.ok(logins.includes('login.session') && changes.length > 0);
  assert.ok(logins.every((action) => LOGIN_ACTIONS.some((one) => one === action)));
  assert.not.ok(changes.some((action) => LOGIN_ACTIONS.some((one) => one === action)));
  assert.ok(LOGIN_ACTIONS.length < AUDIT_ACTIONS.length);
  const refused = await rejectsWith(
    app.as(ROOT).audit.listOperations({ actions: 'user.update,x' }),
    'invalid-input',
  );
  assert.ok(Object.keys(refused.fields ?? {})[0]?.startsWith('actions'));
});

operations.run();
