import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';
import { restoreGrants } from '../support/users.ts';

const bulk = appSuite('bulk changes of users');

bulk.before.each(async ({ app }) => {
  const root = app.as(ROOT);
  await restoreGrants(app);
  await root.users.update({ email: IDLE, apps: [], is_active: false });
  await app.db().deleteFrom('outbox_mails').execute();
});

type Result = Awaited<ReturnType<ReturnType<TestApp['as']>['users']['bulkUpdate']>>;

const statuses = ({ results }: Result) =>
  results.map(({ email, status, problem }) => [email, problem?.code ?? status]);

const appsOf = async (app: TestApp, email: string) => (await app.as(ROOT).users.get({ email })).apps;

const isActive = async (app: TestApp, email: string) => (await app.as(ROOT).users.get({ email })).is_active;

bulk('grants and revokes apps, row by row', async ({ app }) => {
  const emails = [ADA, GRACE, 'nobody@acme.test', ACME, ADA];

  const granted = await app.as(ACME).users.bulkUpdate({ emails, action: 'grant-apps', apps: [CHURN] });
  const revoke = { emails: [ADA, EDSGER], action: 'revoke-apps' as const, apps: [SALES] };
  const revoked = await app.as(ROOT).users.bulkUpdate(revoke);

  assert.equal(statuses(granted), [
    [ADA, 'unchanged'],
    [GRACE, 'ok'],
    ['nobody@acme.test', 'not-found'],
    [ACME, 'client-admin-locked'],
  ]);
  assert.is(granted.results[3]?.problem?.detail, 'Client admins cannot be updated through this endpoint.');
  assert.is(granted.next_cursor, null);
  assert.equal(granted.undo_until, new Date(app.clock.now().getTime() + 10 * MINUTE_MS));
  assert.equal(await appsOf(app, GRACE), [SALES, CHURN]);
  assert.equal(statuses(revoked), [
    [ADA, 'ok'],
    [EDSGER, 'unchanged'],
  ]);
  assert.equal(await appsOf(app, ADA), [CHURN]);
});

bulk('deactivates and reactivates by the rules of users.deactivate, also client admins', async ({ app }) => {
  const token = await app.tokenOf(GRACE);
  const admin = 'second-admin@acme.test';
  await app.as(ROOT).users.create({ email: admin, client: 1 });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: admin, is_admin: true });
  const emails = [GRACE, IDLE, ROOT, admin];
  const off = await app.as(ROOT).users.bulkUpdate({ emails, action: 'deactivate' });

  assert.equal(statuses(off), [
    [GRACE, 'ok'],
    [IDLE, 'unchanged'],
    [ROOT, 'self-modification'],
    [admin, 'ok'],
  ]);
  assert.is(await app.openServices().authentication.findByToken(token), null);

  const on = await app.as(ACME).users.bulkUpdate({ emails: [GRACE, admin, STAFF], action: 'reactivate' });
  assert.equal(statuses(on), [
    [GRACE, 'ok'],
    [admin, 'ok'],
    [STAFF, 'not-found'],
  ]);
  assert.ok(await isActive(app, GRACE));
});

bulk('takes a filter, and shows client admins only their users', async ({ app }) => {
  const filter = { role: 'member', is_active: true } as const;
  const result = await app.as(ACME).users.bulkUpdate({ filter, action: 'grant-apps', apps: [CHURN] });

  assert.equal(statuses(result).sort(), [
    [ADA, 'unchanged'],
    [GRACE, 'ok'],
  ]);
  assert.equal(await appsOf(app, EDSGER), [FLEET]);
});

bulk('refuses apps that the actor may not grant, before it changes anyone', async ({ app }) => {
  const acme = app.as(ACME).users;
  const grant = { emails: [GRACE], action: 'grant-apps' as const, apps: [CHURN, FLEET] };
  const foreign = await rejectsWith(acme.bulkUpdate(grant), 'invalid-input');

  assert.equal(foreign.fields, { apps: [`There is no app ${FLEET} to grant.`] });
  assert.equal(await appsOf(app, GRACE), [SALES]);
  await rejectsWith(app.as(STAFF).users.bulkUpdate({ emails: [GRACE], action: 'deactivate' }), 'forbidden');
  await rejectsWith(app.as(ADA).users.bulkUpdate({ emails: [GRACE], action: 'deactivate' }), 'forbidden');
});

bulk('requires either addresses or a filter, and apps only where they are used', async ({ app }) => {
  const refused = async (input: Parameters<ReturnType<TestApp['as']>['users']['bulkUpdate']>[0]) =>
    Object.keys((await rejectsWith(app.as(ROOT).users.bulkUpdate(input), 'invalid-input')).fields ?? {});

  assert.equal(await refused({ action: 'deactivate' }), ['emails']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], filter: {} }), ['filter']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], cursor: ADA }), ['cursor']);
  assert.equal(await refused({ action: 'deactivate', emails: [ADA], apps: [SALES] }), ['apps']);
  assert.equal(await refused({ action: 'grant-apps', emails: [ADA] }), ['apps']);
  const many = Array.from({ length: 1_001 }, (_, n) => `u${n}@acme.test`);
  assert.equal(await refused({ action: 'deactivate', emails: many }), ['emails']);
  assert.ok(await isActive(app, ADA));
});

bulk('records each change with the id of the operation', async ({ app }) => {
  const grant = { emails: [GRACE, ADA], action: 'grant-apps' as const, apps: [CHURN] };
  const { operation } = await app.as(ACME).users.bulkUpdate(grant);

  const [entry, ...others] = await app.as(ACME).audit.list({ operation });

  assert.equal(others, [], 'Ada had the app');
  assert.equal([entry?.action, entry?.actor, entry?.target], ['user.change-apps', ACME, GRACE]);
  assert.equal(entry?.details, { granted: [CHURN], revoked: [], operation });
  assert.equal(await app.as(GLOBEX).audit.list({ operation }), []);
});

bulk('continues a filter with the same operation', async ({ app }) => {
  const grant = { filter: { client: 1 }, action: 'grant-apps' as const, apps: [CHURN] };
  const { operation } = await app.as(ROOT).users.bulkUpdate(grant);
  const next = { ...grant, cursor: ADA, operation };
  const second = await app.as(ROOT).users.bulkUpdate(next);

  assert.is(second.operation, operation);
  assert.not.ok(second.results.some(({ email }) => email === ADA));
  const other = app.as(ROOT).users.bulkUpdate({ ...next, action: 'deactivate', apps: undefined });
  assert.equal(Object.keys((await rejectsWith(other, 'invalid-input')).fields ?? {}), ['operation']);
  await rejectsWith(app.as(ACME).users.bulkUpdate(next), 'not-found');
  app.clock.advance(11 * MINUTE_MS);
  await rejectsWith(app.as(ROOT).users.bulkUpdate(next), 'undo-expired');
});

bulk('mails links to set a password, and invitations to those without an account', async ({ app }) => {
  const invited = 'guest@acme.test';
  await app.as(ROOT).users.create({ email: 'fresh@acme.test', client: 1, send_email: false });
  await app.as(ACME).clients.invite({ id: 1, email: invited });
  await app.as(GLOBEX).clients.invite({ id: 2, email: 'other@globex.test' });
  await app.db().deleteFrom('outbox_mails').execute();
  const emails = [GRACE, 'fresh@acme.test', invited, IDLE, EDSGER, 'other@globex.test'];

  const result = await app.as(ACME).users.bulkUpdate({ emails, action: 'send-password-link' });
  await outboxOf(app).createLinks();

  assert.equal(statuses(result), [
    [GRACE, 'ok'],
    ['fresh@acme.test', 'ok'],
    [invited, 'ok'],
    [IDLE, 'account-inactive'],
    [EDSGER, 'not-found'],
    ['other@globex.test', 'not-found'],
  ]);
  assert.is(result.undo_until, null);
  const mails = (await rowsOf(app, 'outbox_mails')).map(({ kind, recipient }) => `${kind} ${recipient}`);
  assert.equal(mails, [`password-reset ${GRACE}`, 'password-setup fresh@acme.test', `invitation ${invited}`]);
  const [entry] = await app.as(ACME).audit.list({ operation: result.operation, target: GRACE });
  assert.equal([entry?.action, entry?.actor], ['password.request-reset', ACME]);
});

bulk('limits the password mails to one address', async ({ app }) => {
  app.clock.advance(DAY_MS);
  const send = () => app.as(ACME).users.bulkUpdate({ emails: [GRACE], action: 'send-password-link' });
  for (let count = 0; count < 5; count += 1) assert.equal(statuses(await send()), [[GRACE, 'ok']]);

  assert.equal(statuses(await send()), [[GRACE, 'throttled']]);
  app.clock.advance(61 * MINUTE_MS);
  assert.equal(statuses(await send()), [[GRACE, 'ok']]);
});

let created = 0;

const addGroup = async (app: TestApp, members: string[] = [], apps: string[] = []): Promise<number> => {
  created += 1;
  return (await app.as(ACME).groups.create({ id: 1, name: `Team ${created}`, members, apps })).id;
};

const addMember = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `person-${created}@acme.test`;
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: false });
  return email;
};

const membersOf = async (app: TestApp, id: number) =>
  (await app.as(ACME).groups.get({ id: 1, group_id: id })).members;

const add = (app: TestApp, emails: string[], groups: number[], as = ACME) =>
  app.as(as).users.bulkUpdate({ emails, action: 'add-to-groups', groups });

const ofGroups = appSuite('users.bulkUpdate of groups');

ofGroups('adds members to groups, row by row, and records it', async ({ app }) => {
  const [first, second] = [await addGroup(app, [GRACE], [CHURN]), await addGroup(app, [GRACE])];
  const result = await add(app, [ADA, GRACE, EDSGER, ACME], [first, second]);
  const { operation, undo_until } = result;

  assert.equal(statuses(result), [
    [ADA, 'ok'],
    [GRACE, 'unchanged'],
    [EDSGER, 'not-found'],
    [ACME, 'client-admin-locked'],
  ]);
  assert.ok(undo_until);
  assert.equal(await membersOf(app, first), [ADA, GRACE]);
  const entries = await app.as(ACME).audit.list({ action: 'group.update', limit: 2 });
  for (const { details, clients } of entries) {
    assert.equal(details, { operation, members: { added: [await userId(app, ADA)], removed: [] } });
    assert.equal(clients, [1]);
  }
});

ofGroups('refuses groups that the actor does not manage, and people of other clients', async ({ app }) => {
  const id = await addGroup(app);
  const elsewhere = await app.as(GLOBEX).groups.create({ id: 2, name: 'Elsewhere', members: [], apps: [] });
  for (const [as, group] of [
    [ACME, elsewhere.id],
    [ACME, 999_999],
    [GLOBEX, id],
  ] as const) {
    const { fields } = await rejectsWith(add(app, [ADA], [group], as), 'invalid-input');
    assert.equal(fields, { groups: [`You do not manage a group ${group}.`] });
  }
  await rejectsWith(add(app, [ADA], [id], STAFF), 'forbidden');
  await rejectsWith(add(app, [ADA], []), 'invalid-input');
  const grant = { emails: [ADA], action: 'grant-apps' as const, apps: [SALES], groups: [id] };
  await rejectsWith(app.as(ACME).users.bulkUpdate(grant), 'invalid-input');
  const { results } = await add(app, [EDSGER, ADA], [id], ROOT);
  assert.equal(results[0]?.problem?.code, 'invalid-input');
  assert.equal(await membersOf(app, id), [ADA]);
});

ofGroups('is undone, except for who left or joined again since', async ({ app }) => {
  const people = [await addMember(app), await addMember(app), await addMember(app), await addMember(app)];
  const [stays = '', left = '', again = '', before = ''] = people;
  const id = await addGroup(app, [before]);
  const { operation } = await add(app, people, [id]);
  const change = (input: { added_members?: string[]; removed_members?: string[] }) =>
    app.as(ACME).groups.edit({ id: 1, group_id: id, ...input });
  await change({ removed_members: [left, again] });
  app.clock.advance(1000);
  await change({ added_members: [again] });

  const { reverted, skipped } = await app.as(ACME).operations.undo({ id: operation });
  assert.is(reverted, 1);
  assert.equal(
    skipped.map(({ email, app_id, group_id, problem }) => [email, app_id, group_id, problem.code]),
    [left, again].map((email) => [email, null, id, 'changed-since']),
  );
  assert.equal(await membersOf(app, id), [again, before].sort());
  const [entry] = await app.as(ACME).audit.list({ action: 'group.update', limit: 1 });
  assert.equal(entry?.details, {
    operation,
    is_undo: true,
    members: { added: [], removed: [await userId(app, stays)] },
  });
});

ofGroups('gives the apps of the group, and closes requests for them', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  const { id } = await app.as(email).requests.create({ app: CHURN });
  const { operation } = await add(app, [email], [await addGroup(app, [], [CHURN])]);

  assert.ok((await app.as(email).apps.openTicket({ app_id: CHURN })).ticket);
  assert.is((await app.as(email).requests.get({ id })).status, 'closed');
  await app.as(ACME).operations.undo({ id: operation });
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
});

ofGroups('grants apps with a reason', async ({ app }) => {
  const email = await addMember(app);
  const grant = { emails: [email], action: 'grant-apps' as const, apps: [CHURN], reason: 'Audit' };
  await app.as(ACME).users.bulkUpdate(grant);
  const [found] = (await app.as(ACME).grants.list({ app_id: CHURN })).filter((row) => row.email === email);
  assert.equal([found?.reason, found?.granted_by, found?.expires_at], ['Audit', ACME, null]);
  const other = { emails: [email], action: 'deactivate' as const, reason: 'Left' };
  await rejectsWith(app.as(ACME).users.bulkUpdate(other), 'invalid-input');
});

bulk.run();
ofGroups.run();
