import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { AppRole } from '../../entities/app.ts';
import { claimsIn, ticketOf, userId } from '../support/access-views.ts';
import { fieldOf } from '../support/lists.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const data = appSuite('data permissions');

const REGION = { type: 'array', title: 'Regions', items: { enum: ['North', 'South'] } };
const SCHEMA = { properties: { region: REGION }, required: ['region'] };

const setSchema = (
  app: TestApp,
  schema: object | null,
  mode: 'warn' | 'enforce' = 'enforce',
  dry_run = false,
) =>
  app
    .as(ACME)
    .dataPermissions.setSchema({ id: 1, schema: schema as Record<string, unknown> | null, mode, dry_run });

const setExtra = async (app: TestApp, email: string, extra: Record<string, unknown>) =>
  setRows(app, 'memberships', { client_id: 1, user_id: await userId(app, email) }, { extra });

const declareRoles = (app: TestApp, roles: AppRole[]) =>
  sql`update apps set app_roles = ${JSON.stringify(roles)}::json where id = ${SALES}`.execute(app.db());

data.before.each(async ({ app }) => {
  await setSchema(app, null);
});

data('close an app to a person without a required value, and say what to change', async ({ app }) => {
  await setExtra(app, GRACE, {});
  await setSchema(app, SCHEMA);

  await rejectsWith(app.as(GRACE).apps.openTicket({ app_id: SALES }), 'attributes-invalid');
  const { allowed, blockers } = await app.as(ACME).access.explain({ email: GRACE, app_id: SALES });
  assert.is(allowed, false);
  assert.equal(fieldOf(blockers, 'code'), ['attributes-invalid']);
  assert.equal(fieldOf(blockers, 'detail'), ['Data permissions are invalid: region is required.']);

  await setExtra(app, GRACE, { region: ['South'] });
  assert.equal(claimsIn(await ticketOf(app, GRACE)).data_permissions, { region: ['South'] });
});

data('with a mistyped key close the app, and say which', async ({ app }) => {
  await setExtra(app, GRACE, { region: ['South'], regoin: ['North'] });
  await setSchema(app, SCHEMA);

  const found = await app.as(ACME).dataPermissions.ofPerson({ email: GRACE, app_id: SALES });
  assert.is(found.allowed, false);
  assert.equal(found.faults, [{ key: 'regoin', message: 'is not an attribute of this client or its apps' }]);
});

data(
  'that are invalid only warn until the client enforces them, and apps get them as they are',
  async ({ app }) => {
    await setExtra(app, GRACE, { regoin: ['North'] });
    await setSchema(app, SCHEMA, 'warn');

    const { allowed, warnings, data_permissions } = await app
      .as(ACME)
      .access.explain({ email: GRACE, app_id: SALES });
    assert.equal([allowed, fieldOf(warnings, 'code')], [true, ['attributes-invalid']]);
    assert.equal(data_permissions, { regoin: ['North'] });
  },
);

data('of a group, the membership and the grant override each other, and are explained', async ({ app }) => {
  const email = await addMember(app);
  await setSchema(app, SCHEMA);
  const group = { name: `North of ${email}`, members: [email], attributes: { region: ['North'] } };
  await app.as(ACME).groups.create({ id: 1, ...group });
  assert.equal(claimsIn(await ticketOf(app, email)).data_permissions, { region: ['North'] });

  await setExtra(app, email, { region: ['South'] });
  await app.as(ACME).grants.update({ app_id: SALES, email, attributes: { region: [] } });
  const { attributes } = await app.as(ACME).dataPermissions.ofPerson({ email, app_id: SALES });
  assert.equal(attributes, [
    {
      key: 'region',
      title: 'Regions',
      value: [],
      sources: [{ from: 'grant', name: null }],
      overrides: [
        { value: ['South'], sources: [{ from: 'membership', name: null }] },
        { value: ['North'], sources: [{ from: 'group', name: group.name }] },
      ],
    },
  ]);
});

data('of groups and grants are checked when they are set', async ({ app }) => {
  await setSchema(app, SCHEMA);
  const group = { id: 1, name: 'Wrong', attributes: { regoin: ['North'] } };

  await rejectsWith(app.as(ACME).groups.create(group), 'invalid-input');
  const grant = { app_id: SALES, email: GRACE, attributes: { region: ['Nroth'] } };
  await rejectsWith(app.as(ACME).grants.update(grant), 'invalid-input');
});

data('cannot be changed for oneself by managers', async ({ app }) => {
  await setSchema(app, SCHEMA);
  const manager = await addMember(app);
  await app.as(ACME).roles.setInClient({ id: 1, email: manager, roles: ['people-manager'] });
  const { id: group_id } = await app.as(ACME).groups.create({ id: 1, name: 'Own', members: [manager] });

  const change = { id: 1, group_id, attributes: { region: ['North'] } };
  await rejectsWith(app.as(manager).groups.update(change), 'forbidden');
  await rejectsWith(app.as(manager).groups.update({ id: 1, group_id, apps: [CHURN] }), 'forbidden');
  await rejectsWith(app.as(manager).groups.remove({ id: 1, group_id }), 'forbidden');

  const opener = await addMember(app);
  await app.as(ACME).roles.setInClient({ id: 1, email: opener, roles: ['app-manager'] });
  const view = { app: 'sales', user: opener, data_permissions: { region: ['North', 'South'] } };
  await rejectsWith(app.as(opener).accessViews.create(view), 'invalid-input');
});

data('that PostgreSQL cannot read close the app to this person alone', async ({ app }) => {
  const email = await addMember(app);
  await setSchema(app, SCHEMA);
  await setExtra(app, GRACE, { region: ['South'] });
  await setExtra(app, email, { region: ['South'], note: '\0', constructor: 1 });

  await rejectsWith(app.as(email).apps.openTicket({ app_id: SALES }), 'attributes-invalid');
  const { statusCode } = await app.send(`POST /jb/apps/${SALES}/ticket/`, { as: email, payload: {} });
  assert.is(statusCode, 403);
  const rows = await app.as(ACME).dataPermissions.ofApp({ app_id: SALES });
  assert.ok(rows.find((row) => row.email === GRACE)?.allowed);
});

data('by a new schema: the preview lists who would lose access, and changes nothing', async ({ app }) => {
  await setExtra(app, GRACE, {});
  await setExtra(app, ADA, { region: ['North'] });
  const { losing, people } = await setSchema(app, SCHEMA, 'enforce', true);

  const found = people.find(({ email, app_id }) => email === GRACE && app_id === SALES);
  assert.ok(losing > 0);
  assert.equal(
    [found?.before.allowed, found?.after.allowed, found?.after.detail],
    [true, false, 'region is required'],
  );
  assert.not(people.some(({ email, after }) => email === ADA && !after.allowed));
  assert.is((await app.as(ACME).dataPermissions.getSchema({ id: 1 })).schema, null);
});

data('that are sensitive are masked for people who do not manage people', async ({ app }) => {
  const auditor = await addMember(app);
  await app.as(ACME).roles.setInClient({ id: 1, email: auditor, roles: ['auditor'] });
  await setExtra(app, GRACE, { region: ['South'] });
  await setSchema(app, { properties: { region: { ...REGION, 'x-steward': { sensitive: true } } } });

  const seenBy = async (who: string) => {
    const rows = await app.as(who).dataPermissions.ofApp({ app_id: SALES });
    return rows.find(({ email }) => email === GRACE)?.data_permissions;
  };
  assert.equal([await seenBy(ACME), await seenBy(auditor)], [{ region: ['South'] }, { region: '•••' }]);
});

data('of a client are seen and set by its people alone', async ({ app }) => {
  await rejectsWith(app.as(GLOBEX).dataPermissions.getSchema({ id: 1 }), 'not-found');
  await rejectsWith(
    app.as(GLOBEX).dataPermissions.setSchema({ id: 1, schema: null, mode: 'warn' }),
    'not-found',
  );
  await rejectsWith(app.as(GLOBEX).dataPermissions.ofPerson({ email: GRACE, app_id: SALES }), 'not-found');
});

data(
  'roles in an app come from the grant and from groups, as far as the app declares them',
  async ({ app }) => {
    const email = await addMember(app);
    await declareRoles(app, [{ key: 'analyst', label: 'Analyst', description: '' }]);
    const unknown = { app_id: SALES, email, app_roles: ['owner'] };
    await rejectsWith(app.as(ACME).grants.update(unknown), 'invalid-input');

    await app.as(ACME).groups.create({
      ...{ id: 1, name: `Analysts of ${email}`, members: [email], apps: [SALES, CHURN] },
      app_roles: { [SALES]: ['analyst'] },
    });
    assert.equal(claimsIn(await ticketOf(app, email)).app_roles, ['analyst']);
    const listed = await app.as(ACME).access.effective({ app_id: SALES });
    assert.equal(listed.find((row) => row.email === email)?.app_roles, ['analyst']);
    const { users } = await app.as(ACME).access.matrix({ id: 1, search: email });
    assert.equal(users[0]?.app_roles, [{ app: SALES, roles: ['analyst'] }]);
    await declareRoles(app, []);
    assert.equal(claimsIn(await ticketOf(app, email)).app_roles, []);
  },
);

data('are preserved with a grant that is revoked and given back', async ({ app }) => {
  await setSchema(app, SCHEMA);
  const email = await addMember(app);
  await app.as(ACME).grants.update({ app_id: SALES, email, attributes: { region: ['North'] } });
  const { operation } = await app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'offboard' });
  await app.as(ROOT).operations.undo({ id: operation });

  assert.equal(claimsIn(await ticketOf(app, email)).data_permissions, { region: ['North'] });
});

data('of many people are set by one attribute, after a preview, and undone', async ({ app }) => {
  await setSchema(app, SCHEMA);
  const email = await addMember(app);
  await setExtra(app, email, { region: ['North'], team: 'red' });
  const change = { attribute: 'region', value: ['South'] };
  const { touched, people } = await app
    .as(ACME)
    .dataPermissions.previewValue({ id: 1, emails: [email], ...change });
  assert.is(touched, 1);
  assert.equal(people[0]?.after.data_permissions, { region: ['South'] });

  const request = { emails: [email], action: 'set-attribute' as const, client: 1, ...change };
  const { operation, results } = await app.as(ACME).users.bulkUpdate(request);
  assert.equal(fieldOf(results, 'status'), ['ok']);
  assert.equal((await app.as(ACME).users.get({ email })).extra, { region: ['South'], team: 'red' });
  await app.as(ACME).operations.undo({ id: operation });
  assert.equal((await app.as(ACME).users.get({ email })).extra, { region: ['North'], team: 'red' });
  await rejectsWith(app.as(ACME).users.bulkUpdate({ ...request, value: ['Nroth'] }), 'invalid-input');
});

data.run();
