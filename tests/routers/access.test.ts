import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';
import { restoreGrants } from '../support/users.ts';

const access = appSuite('access matrix');

access.before.each(async ({ app }) => {
  await restoreGrants(app);
});

access('shows the members of a client with its apps', async ({ app }) => {
  await app.as(ROOT).users.update({ email: ADA, apps: [SALES, CHURN, FLEET] });

  const { apps, users, next_cursor } = await app.as(ACME).access.matrix({ id: 1, sort: 'email' });

  assert.equal(fieldsOf(apps, 'id', 'slug'), [
    [SALES, 'sales'],
    [CHURN, 'churn'],
  ]);
  assert.equal(fieldsOf(users, 'email', 'apps', 'is_active', 'is_changeable'), [
    [ADA, [SALES, CHURN], true, true],
    [ACME, [], true, false],
    [GRACE, [SALES], true, true],
    [IDLE, [], false, true],
  ]);
  const admins = users.filter(({ is_admin }) => is_admin);
  assert.equal(fieldOf(admins, 'email'), [ACME]);
  assert.is(next_cursor, null);
});

access('marks users whom the viewer may not change', async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });
  const changeable = async (as: string) => {
    const { users } = await app.as(as).access.matrix({ id: 1, sort: 'email' });
    return users.flatMap(({ email, is_changeable }) => (is_changeable ? email : []));
  };

  assert.equal(await changeable(ACME), [ADA, IDLE]);
  assert.equal(await changeable(ROOT), [ADA, GRACE, IDLE]);
  assert.equal(await changeable(STAFF), []);

  await app.as(ROOT).roles.update({ email: GRACE, is_staff: false });
});

access('is filtered, sorted and paged by the server', async ({ app }) => {
  const { matrix } = app.as(ACME).access;
  const page = { id: 1, sort: '-email' as const, limit: 3 };
  const first = await matrix(page);
  const rest = await matrix({ ...page, cursor: first.next_cursor ?? '' });
  const emails = ({ users }: typeof first) => fieldOf(users, 'email');

  assert.equal([...emails(first), ...emails(rest)], [IDLE, GRACE, ACME, ADA]);
  assert.is(rest.next_cursor, null);
  assert.equal(emails(await matrix({ id: 1, app: 'churn' })), [ADA]);
  assert.equal(emails(await matrix({ id: 1, search: 'hopper' })), [GRACE]);
  await rejectsWith(matrix({ id: 2 }), 'not-found');
  await rejectsWith(app.as(ADA).access.matrix({ id: 1 }), 'forbidden');
});

access('changes cells, records them with one operation, and undoes them', async ({ app }) => {
  const acme = app.as(ACME);
  const { operation, undo_until, changed } = await acme.access.update({
    id: 1,
    cells: [
      { email: ADA, app_id: SALES, granted: false },
      { email: ADA, app_id: CHURN, granted: true },
      { email: GRACE, app_id: CHURN, granted: true },
      { email: IDLE, app_id: SALES, granted: false },
    ],
  });

  const appsOf = async (email: string) => (await app.as(ROOT).users.get({ email })).apps;

  assert.is(changed, 2);
  assert.equal(undo_until, new Date(app.clock.now().getTime() + 10 * MINUTE_MS));
  assert.equal([await appsOf(ADA), await appsOf(GRACE)], [[CHURN], [SALES, CHURN]]);
  const entries = await acme.audit.list({ operation });
  assert.equal(
    entries.map(({ action, target, details }) => [action, target, details.granted, details.revoked]).sort(),
    [
      ['user.change-apps', ADA, [], [SALES]],
      ['user.change-apps', GRACE, [CHURN], []],
    ],
  );

  await acme.users.update({ email: GRACE, apps: [SALES] });
  const undone = await acme.operations.undo({ id: operation });
  assert.is(undone.reverted, 1);
  assert.equal(fieldsOf(undone.skipped, 'email', 'app_id'), [[GRACE, CHURN]]);
  assert.equal([await appsOf(ADA), await appsOf(GRACE)], [[SALES, CHURN], [SALES]]);
});

access('changes nothing if a cell is invalid, and names every invalid cell', async ({ app }) => {
  const problem = await rejectsWith(
    app.as(ACME).access.update({
      id: 1,
      cells: [
        { email: GRACE, app_id: CHURN, granted: true },
        { email: EDSGER, app_id: SALES, granted: true },
        { email: GRACE, app_id: FLEET, granted: true },
        { email: ACME, app_id: SALES, granted: true },
        { email: GRACE, app_id: CHURN, granted: false },
      ],
    }),
    'invalid-input',
  );

  assert.equal(problem.fields, {
    'cells.1.email': ['No such user.'],
    'cells.2.app_id': ['No app of this client has this id.'],
    'cells.3.email': ['Client admins cannot be updated through this endpoint.'],
    'cells.4': ['Another cell has this user and app.'],
  });
  assert.equal((await app.as(ROOT).users.get({ email: GRACE })).apps, [SALES]);
});

access('is changed by client admins and superusers only', async ({ app }) => {
  const cells = [{ email: GRACE, app_id: CHURN, granted: true }];

  await rejectsWith(app.as(STAFF).access.update({ id: 1, cells }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).access.update({ id: 1, cells }), 'not-found');
  await rejectsWith(app.as(ACME).access.update({ id: 1, cells: [] }), 'invalid-input');
});

access('makes new users of a client its members', async ({ app }) => {
  const cells = [{ email: EDSGER, app_id: SALES, granted: true }];
  await app.as(ROOT).access.update({ id: 1, cells });

  assert.equal(fieldOf(await app.as(ACME).users.list({ search: EDSGER }), 'email'), [EDSGER]);
});

access('survives concurrent changes of the same users in other orders', async ({ app }) => {
  await app.as(ROOT).roles.update({ email: STAFF, is_superuser: true });
  const emails = [ADA, GRACE, IDLE, STAFF, ROOT];
  const update = (who: string, order: string[], granted: boolean) =>
    app.as(who).access.update({ id: 1, cells: order.map((email) => ({ email, app_id: CHURN, granted })) });

  const results = await Promise.allSettled([
    update(ROOT, emails, true),
    update(ROOT, [...emails].reverse(), false),
    update(STAFF, [...emails].reverse(), true),
    app.as(ROOT).users.bulkUpdate({ emails, action: 'grant-apps', apps: [CHURN] }),
  ]);
  await app.as(ROOT).roles.update({ email: STAFF, is_superuser: false });

  for (const { status } of results) assert.is(status, 'fulfilled');
});

access.run();
