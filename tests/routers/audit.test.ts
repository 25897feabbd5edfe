import * as assert from 'uvu/assert';
import { Problem } from '../../src/lib/problems.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { addMember } from '../support/members.ts';
import { failureOf, rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const audit = appSuite('audit');

audit('list is readable by superusers, and by client admins for their clients', async ({ app }) => {
  await app.as(GLOBEX).users.update({ email: EDSGER, first_name: 'E.' });
  await app.as(ACME).users.update({ email: ADA, first_name: 'A.' });

  const acme = await app.as(ACME).audit.list({ limit: 200 });
  const asked = await app.as(ACME).audit.list({ client: 2 });
  const root = await app.as(ROOT).audit.list({ client: 2 });

  assert.ok(acme.length > 0);
  assert.ok(acme.every(({ clients }) => clients.includes(1)));
  assert.equal(asked, []);
  assert.ok(root.some(({ target }) => target === EDSGER));
  await rejectsWith(app.as(ADA).audit.list({}), 'forbidden');
});

audit('list is paginated, and filtered by time', async ({ app }) => {
  const { list } = app.as(ROOT).audit;
  const all = await list({ limit: 200 });
  const first = await list({ limit: 3 });
  const second = await list({ limit: 3, cursor: first.at(-1)?.id });
  const after = new Date(app.clock.now().getTime() + 1);
  app.clock.advance(60_000);
  await app.as(ROOT).users.update({ email: ADA, first_name: 'Ada' });

  assert.equal([...first, ...second], all.slice(0, 6));
  assert.equal(fieldOf(await list({ from: after }), 'action'), ['user.update']);
  assert.equal(await list({ to: after, limit: 200 }), all);
  for (const invalid of ['yesterday', '2026-02-30', '2026-13-01', '2025-02-29T10:00:00Z']) {
    const refused = await app.send(`GET /jb/audit/?from=${invalid}`, { as: ROOT });
    assert.equal(Object.keys(refused.json().errors ?? {}), ['from'], invalid);
  }
  assert.is((await app.send('GET /jb/audit/?from=2024-02-29', { as: ROOT })).statusCode, 200);
});

audit('list of a person has the groups that name them, as far as the viewer may see', async ({ app }) => {
  const email = await addMember(app, [SALES, FLEET], ROOT);
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Joiners', members: [GRACE] });
  for (const members of [[email, GRACE], []])
    await app.as(ACME).groups.update({ id: 1, group_id: id, members });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Elsewhere', members: [email] });

  const seenBy = async (viewer: string) =>
    (await app.as(viewer).audit.list({ person: email })).map(({ action, target }) => `${action} ${target}`);

  const ofAcme = ['group.update Joiners', 'group.update Joiners'];
  assert.equal((await seenBy(ACME)).slice(0, 2), ofAcme);
  assert.ok((await seenBy(ACME)).includes(`user.create ${email}`));
  assert.equal((await seenBy(ROOT)).slice(0, 3), ['group.create Elsewhere', ...ofAcme]);
});

audit('list hides apps of other clients from client admins', async ({ app }) => {
  await app.as(ROOT).users.update({ email: ADA, apps: [SALES, FLEET] });
  await app.as(ROOT).users.update({ email: ADA, first_name: 'A. A.' });

  const acme = await app.as(ACME).audit.list({ target: ADA, limit: 200 });

  assert.ok(acme.length > 0);
  assert.not.ok(JSON.stringify(acme).includes(FLEET));
  assert.ok(acme.every(({ clients }) => clients.length === 1));
  const globex = await app.as(GLOBEX).audit.list({ target: ADA, action: 'user.change-apps' });
  assert.equal(fieldOf(globex, 'details'), [{ granted: [FLEET], revoked: [] }]);
});

audit('list treats the cursor of an invisible entry as unknown', async ({ app }) => {
  await app.as(GLOBEX).users.update({ email: EDSGER, last_name: 'Dijkstra-D.' });
  const [foreign] = await app.as(ROOT).audit.list({ target: EDSGER, action: 'user.update' });
  const faultsOf = async (cursor: number) =>
    (await rejectsWith(app.as(ACME).audit.list({ cursor }), 'invalid-input')).fields;

  assert.ok(foreign);
  assert.equal(await faultsOf(foreign.id), await faultsOf(999_999));
  assert.equal(Object.keys((await faultsOf(999_999)) ?? {}), ['cursor']);
});

const trail = appSuite('audit trail');

trail('records actor, action, target, time and address', async ({ app }) => {
  const response = await app.send('PATCH /jb/users/grace@acme.test/', {
    as: ACME,
    payload: { last_name: 'Murray', extra: { note: 'something private' }, apps: [] },
    headers: { 'x-request-id': 'change-1' },
  });
  assert.is(response.statusCode, 200);

  const [entry] = await app.as(ACME).audit.list({ target: GRACE, action: 'user.update' });
  const [apps] = await app.as(ACME).audit.list({ target: GRACE, action: 'user.change-apps' });

  assert.equal(apps?.details, { granted: [], revoked: [SALES] });

  assert.ok(entry?.actor_id && Number(entry.target_id) > 0);
  assert.equal(
    { ...entry, id: 0, actor_id: 0, target_id: '' },
    {
      id: 0,
      timestamp: app.clock.now(),
      action: 'user.update',
      actor: ACME,
      actor_type: 'user',
      actor_id: 0,
      target: GRACE,
      target_type: 'user',
      target_id: '',
      clients: [1],
      details: { last_name: { from: null, to: null }, extra: { from: null, to: null } },
      people: [],
      request_id: 'change-1',
      address: '127.0.0.1',
    },
  );
});

const actionsOf = async (app: TestApp, filter: { target?: string; actor?: string }) =>
  fieldOf(await app.as(ROOT).audit.list({ ...filter, limit: 200 }), 'action').toReversed();

trail('has an entry for every kind of change, and for refused ones', async ({ app }) => {
  const root = app.as(ROOT);
  const site = await root.sites.create({ domain: 'new.test', name: 'New' });
  const client = await root.clients.create({ name: 'New', site: site.id });
  await root.clients.update({ id: client.id, login_title: 'x'.repeat(255) });
  await root.users.create({ email: 'new@new.test', client: client.id });
  await root.roles.update({ email: 'new@new.test', is_staff: true });
  await root.roles.setClientAdmin({ id: client.id, email: 'new@new.test', is_admin: true });
  await root.apps.update({ app_id: SALES, in_maintenance: true });
  await root.apps.clearCache({ app_id: SALES });
  await root.users.deactivate({ email: 'new@new.test' });
  const filter = { stack_id: 'a0a91e46', hash: 'h', name: 'n' };
  await root.savedFilters.create(filter);
  await root.savedFilters.replace({ hash: 'h', filter: { ...filter, name: 'renamed' } });
  await root.savedFilters.remove({ hash: 'h' });
  await rejectsWith(root.users.deactivate({ email: ROOT }), 'self-modification');

  assert.equal(await actionsOf(app, { actor: ROOT }), [
    'site.create',
    'client.create',
    'client.update',
    'user.create',
    'user.update-roles',
    'membership.set-roles',
    'app.update',
    'app.clear-cache',
    'user.deactivate',
    'saved-filter.create',
    'saved-filter.update',
    'saved-filter.delete',
    'request.refused',
  ]);
});

trail('has an entry for every change of an invitation', async ({ app }) => {
  const { invitations } = app.as(ACME);
  const email = 'invited@new.test';
  const items = [{ email, initial_apps: [SALES] }];
  const [{ id } = { id: 0 }] = await invitations.create({ items });
  await invitations.create({ items });
  await invitations.update({ email, extra: { region: 'EU' } });
  for (const change of ['resend', 'copyLink', 'revoke'] as const) await invitations[change]({ id });

  const verbs = ['create', 'renew', 'update', 'resend', 'copy-link', 'revoke'];
  const expected = verbs.map((verb) => `invitation.${verb}`);
  assert.equal(await actionsOf(app, { target: email }), expected);
  assert.is((await app.as(ACME).audit.list({ target: email, actor: ACME })).length, verbs.length);
});

trail('has an entry for every change of credentials', async ({ app }) => {
  const { id } = await app.as(STAFF).tokens.createNamed({ name: 'export' });
  await app.as(STAFF).tokens.revoke({ id });
  await app.send('POST /session/', { payload: { username: STAFF, password: DEMO_PASSWORD } });
  const [session] = await app.as(STAFF).sessions.list();
  await app.as(STAFF).sessions.revoke({ id: session?.id ?? 0 });
  await app.as(null).passwords.requestReset({ email: STAFF });
  await app.as(ROOT).sessions.revokeAll({ email: STAFF });

  assert.equal(await actionsOf(app, { target: STAFF }), [
    'token.create',
    'token.revoke',
    'login.session',
    'session.end',
    'password.request-reset',
    'user.revoke-sessions',
  ]);
});

trail('records deactivations and reactivations alike, however they were requested', async ({ app }) => {
  const acme = app.as(ACME);
  await acme.users.update({ email: ADA, is_active: false, first_name: 'Augusta' });
  await acme.users.update({ email: ADA, is_active: true });
  await acme.users.deactivate({ email: ADA });
  const { operation } = await acme.users.bulkUpdate({ emails: [ADA], action: 'reactivate' });
  await acme.operations.undo({ id: operation });

  const detailsOf = async (action: 'user.deactivate' | 'user.reactivate' | 'user.update') =>
    fieldOf(await acme.audit.list({ target: ADA, action }), 'details').toReversed();

  assert.equal(await detailsOf('user.deactivate'), [{}, {}, { operation, is_undo: true }]);
  assert.equal(await detailsOf('user.reactivate'), [{}, { operation }]);
  assert.equal(await detailsOf('user.update'), [{ first_name: { from: null, to: null } }]);
  await acme.users.update({ email: ADA, is_active: true, first_name: 'Ada' });
});

trail('records the same refused request of a user once per minute', async ({ app }) => {
  const refused = () => rejectsWith(app.as(GRACE).users.list({}), 'forbidden');
  const entries = () => app.as(ACME).audit.list({ actor: GRACE, action: 'request.refused' });

  await Promise.all([refused(), refused(), refused()]);
  await rejectsWith(app.as(GRACE).mail.list({}), 'forbidden');
  const first = await entries();
  app.clock.advance(60_000);
  await refused();

  assert.equal(first.map(({ details, target, clients }) => [details, target, clients]).toSorted(), [
    [{ request: 'mail.list', problem: 'forbidden' }, '', [1]],
    [{ request: 'users.list', problem: 'forbidden' }, '', [1]],
  ]);
  assert.is((await entries()).length, 3);
  assert.equal(await app.as(GLOBEX).audit.list({ actor: GRACE }), []);
});

trail('records at most ten refused requests of a user per minute', async ({ app }) => {
  const actor = await app.openServices().authentication.findByToken(await app.tokenOf(EDSGER));
  const { refusals } = app.openServices();
  if (!actor) throw new Error('The token of the demo user is not known.');

  for (let number = 0; number < 30; number += 1)
    await refusals.record(actor, `procedure.${number}`, new Problem('forbidden'));

  assert.is((await app.as(GLOBEX).audit.list({ actor: EDSGER, action: 'request.refused' })).length, 10);
});

trail('keeps the entry of a refused request whose transaction was rolled back', async ({ app }) => {
  app.clock.advance(60_000);
  const response = await app.send('PATCH /jb/users/admin@globex.test/', {
    as: GLOBEX,
    payload: { first_name: 'Changed' },
    headers: { 'idempotency-key': 'refused-change', 'x-request-id': 'refused-1' },
  });
  const [entry] = await app.as(GLOBEX).audit.list({ actor: GLOBEX, action: 'request.refused' });

  assert.is(response.statusCode, 403);
  assert.equal(entry?.details, { request: 'users.update', problem: 'client-admin-locked' });
  assert.equal([entry?.request_id, entry?.address], ['refused-1', '127.0.0.1']);
});

trail('records logins and failed logins, without the username as typed', async ({ app }) => {
  const { create } = app.as(null).tokens;
  await create({ username: EDSGER, password: DEMO_PASSWORD });
  for (const [username, password] of [
    [EDSGER, 'a wrong guess'],
    ['my password typed as a name', 'x'],
  ] as const)
    await rejectsWith(create({ username, password }), 'invalid-credentials');

  const all = await app.as(ROOT).audit.list({ limit: 200 });
  const edsger = await app.as(GLOBEX).audit.list({ target: EDSGER });
  const unknown = all.filter(({ action, target }) => action === 'login.fail' && target === '');

  assert.equal(fieldsOf(edsger, 'action', 'actor'), [
    ['login.fail', ''],
    ['login.token', EDSGER],
  ]);
  assert.is(unknown.length, 1);
  assert.not.match(JSON.stringify(all), new RegExp(`${DEMO_PASSWORD}|a wrong guess|my password`));
});

trail('is append-only', async ({ app }) => {
  for (const statement of [
    `update audit_entries set actor_label = 'another user'`,
    'delete from audit_entries',
    'truncate audit_entries',
  ]) {
    const { message } = await failureOf(app.orm.em.fork().execute(statement));
    assert.match(message, /append-only/, statement);
  }
});

trail('has no entry for a change that was rolled back', async ({ app }) => {
  const { audit, invitations, users } = app.as(ROOT);
  const before = await audit.list({ limit: 200 });

  await rejectsWith(users.update({ email: ADA, apps: ['notAnApp'] }), 'invalid-input');
  await rejectsWith(invitations.create({ items: [{ email: ADA, client: 1 }] }), 'invalid-input');
  await invitations.create({ items: [{ email: 'dry@run.test', client: 1 }], dry_run: true });

  assert.equal(await audit.list({ limit: 200 }), before);
});

trail('has no entry if nothing changed', async ({ app }) => {
  const root = app.as(ROOT);
  const { last_name } = await root.users.get({ email: ADA });
  const before = await root.audit.list({ limit: 200 });

  await root.users.update({ email: ADA, last_name });
  await root.users.deactivate({ email: IDLE });
  await root.roles.update({ email: ADA });
  await root.roles.setClientAdmin({ id: 2, email: ADA, is_admin: false });
  await root.clients.update({ id: 1, name: 'Acme Analytics' });
  await root.apps.update({ app_id: SALES, label: 'Sales' });

  assert.equal(await root.audit.list({ limit: 200 }), before);
});

const expected = appSuite('expected values of an update');

expected('refuse to overwrite a field of a user that someone else has changed', async ({ app }) => {
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'Grace B.' });
  const update = (values: { first_name: string; last_name: string; is_active?: boolean }) =>
    app.as(ACME).users.update({ email: GRACE, first_name: 'G.', last_name: 'H.', expected: values });

  await rejectsWith(update({ first_name: 'Grace', last_name: 'Hopper' }), 'precondition-failed');
  const kept = await app.as(ACME).users.get({ email: GRACE });
  const saved = await update({ first_name: 'Grace B.', last_name: 'Hopper', is_active: true });

  assert.equal(fieldsOf([kept, saved], 'first_name', 'last_name'), [
    ['Grace B.', 'Hopper'],
    ['G.', 'H.'],
  ]);
});

expected('cover the apps and the free-form data of a user', async ({ app }) => {
  const { update } = app.as(ACME).users;
  await update({ email: ADA, extra: { desk: 1, floor: 2 }, apps: [SALES] });
  const stale = [{ apps: [SALES, CHURN] }, { extra: { desk: 2, floor: 2 } }, { is_demo_user: true }];

  for (const values of stale)
    await rejectsWith(update({ email: ADA, first_name: 'A.', expected: values }), 'precondition-failed');
  const right = { apps: [SALES], extra: { floor: 2, desk: 1 } };
  assert.equal((await update({ email: ADA, apps: [CHURN], expected: right })).apps, [CHURN]);
});

expected('let one of two concurrent updates of a user through, also of their access', async ({ app }) => {
  const before = await app.as(ROOT).users.get({ email: GRACE });
  const rename = (first_name: string) =>
    app.as(ACME).users.update({ email: GRACE, first_name, expected: { first_name: before.first_name } });
  const deactivate = () =>
    app.as(ROOT).users.update({ email: EDSGER, is_active: false, expected: { is_active: true } });

  const renames = await Promise.allSettled([rename('One'), rename('Two'), rename('Three')]);
  const deactivations = await Promise.allSettled([deactivate(), deactivate()]);

  for (const outcomes of [renames, deactivations])
    assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
});

expected('may be values that an update would refuse', async ({ app }) => {
  await setRows(app, 'clients', { id: 1 }, { home_location: 'imported' });
  const change = { id: 1, home_location: '/', expected: { home_location: 'imported' } };

  assert.is((await app.as(ACME).clients.update(change)).home_location, '/');
});

expected('do not reveal what the caller may not see', async ({ app }) => {
  for (const first_name of ['Ada', 'wrong']) {
    await rejectsWith(app.as(GLOBEX).users.update({ email: ADA, expected: { first_name } }), 'not-found');
    await rejectsWith(app.as(GRACE).users.update({ email: ADA, expected: { first_name } }), 'forbidden');
  }
  await rejectsWith(app.as(GLOBEX).apps.update({ app_id: SALES, expected: { label: 'x' } }), 'not-found');
  await rejectsWith(app.as(GLOBEX).clients.update({ id: 1, expected: { name: 'x' } }), 'not-found');
});

audit.run();
trail.run();
expected.run();
