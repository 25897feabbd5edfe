import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
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

const bulk = appSuite('users.bulkUpdate of groups');

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

bulk('adds members to groups, row by row, and records it', async ({ app }) => {
  const [first, second] = [await addGroup(app, [GRACE], [CHURN]), await addGroup(app, [GRACE])];
  const { operation, results, undo_until } = await add(app, [ADA, GRACE, EDSGER, ACME], [first, second]);

  assert.equal(
    results.map(({ email, status, problem }) => [email, problem?.code ?? status]),
    [
      [ADA, 'ok'],
      [GRACE, 'unchanged'],
      [EDSGER, 'not-found'],
      [ACME, 'client-admin-locked'],
    ],
  );
  assert.ok(undo_until);
  assert.equal(await membersOf(app, first), [ADA, GRACE]);
  const entries = await app.as(ACME).audit.list({ action: 'group.update', limit: 2 });
  for (const { details, clients } of entries) {
    assert.equal(details, { operation, members: { added: [ADA], removed: [] } });
    assert.equal(clients, [1]);
  }
});

bulk('refuses groups that the actor does not manage, and people of other clients', async ({ app }) => {
  const id = await addGroup(app);
  const elsewhere = await app.as(GLOBEX).groups.create({ id: 2, name: 'Elsewhere', members: [], apps: [] });
  for (const [as, group] of [
    [ACME, elsewhere.id],
    [ACME, 999_999],
    [GLOBEX, id],
  ] as const) {
    const { fields } = await rejectsWith(add(app, [ADA], [group], as), 'invalid-input');
    assert.equal(fields, { groups: [`You manage no group ${group}.`] });
  }
  await rejectsWith(add(app, [ADA], [id], STAFF), 'forbidden');
  await rejectsWith(add(app, [ADA], []), 'invalid-input');
  const grant = { emails: [ADA], action: 'grant-apps' as const, apps: [SALES], groups: [id] };
  await rejectsWith(app.as(ACME).users.bulkUpdate(grant), 'invalid-input');
  const { results } = await add(app, [EDSGER, ADA], [id], ROOT);
  assert.equal(results[0]?.problem?.code, 'invalid-input');
  assert.equal(await membersOf(app, id), [ADA]);
});

bulk('is undone, except for who left or joined again since', async ({ app }) => {
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
  assert.equal(entry?.details, { operation, is_undo: true, members: { added: [], removed: [stays] } });
});

bulk('gives the apps of the group, and closes requests for them', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ACME).apps.update({ app_id: CHURN, is_requestable: true });
  const { id } = await app.as(email).requests.create({ app: CHURN });
  const { operation } = await add(app, [email], [await addGroup(app, [], [CHURN])]);

  assert.ok((await app.as(email).apps.openTicket({ app_id: CHURN })).ticket);
  assert.is((await app.as(email).requests.get({ id })).status, 'closed');
  await app.as(ACME).operations.undo({ id: operation });
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
});

bulk('of a shared user changes groups of the own client only', async ({ app }) => {
  const email = await addMember(app);
  await app.as(ROOT).grants.create({ app_id: FLEET, email });
  const id = await addGroup(app);
  const { id: ofGlobex } = await app.as(GLOBEX).groups.create({ id: 2, name: 'Both', members: [], apps: [] });
  const { results } = await add(app, [email], [id]);
  assert.is(results[0]?.status, 'ok');
  await rejectsWith(add(app, [email], [id, ofGlobex]), 'invalid-input');
  assert.equal((await app.as(GLOBEX).groups.get({ id: 2, group_id: ofGlobex })).members, []);
});

bulk('has one outcome beside changes of the same group', async ({ app }) => {
  const people = await Promise.all(Array.from({ length: 5 }, () => addMember(app)));
  const id = await addGroup(app);
  const outcomes = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      index % 3 === 0
        ? app.as(ACME).groups.update({ id: 1, group_id: id, members: people.slice(index % 5) })
        : add(app, people, [id]),
    ),
  );
  for (const outcome of outcomes)
    if ('results' in outcome) assert.ok(outcome.results.every(({ status }) => status !== 'failed'));
  assert.equal(new Set(await membersOf(app, id)).size, (await membersOf(app, id)).length);
});

bulk('grants apps with a reason', async ({ app }) => {
  const email = await addMember(app);
  const grant = { emails: [email], action: 'grant-apps' as const, apps: [CHURN], reason: 'Audit' };
  await app.as(ACME).users.bulkUpdate(grant);
  const listed = await app.as(ACME).grants.list({ app_id: CHURN });
  const found = listed.find((row) => row.email === email);
  assert.equal([found?.reason, found?.granted_by, found?.expires_at], ['Audit', ACME, null]);
  const other = { emails: [email], action: 'deactivate' as const, reason: 'Left' };
  await rejectsWith(app.as(ACME).users.bulkUpdate(other), 'invalid-input');
});

bulk.run();
