import * as assert from 'uvu/assert';
import { fieldOf } from '../support/lists.ts';
import { addMember, opens } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const groups = appSuite('groups of a client');

let created = 0;
const addGroup = (app: TestApp, members: string[], apps: string[]) => {
  created += 1;
  return app.as(ACME).groups.create({ id: 1, name: `Team ${created}`, members, apps });
};
groups('give their apps to their members, in addition to grants', async ({ app }) => {
  const email = await addMember(app, [SALES]);
  const group = await addGroup(app, [email], [CHURN]);

  assert.equal([group.client, group.member_count, group.members, group.apps], [1, 1, [email], [CHURN]]);
  assert.equal(await opens(app, email), [SALES, CHURN]);
  assert.ok((await app.as(email).apps.openTicket({ app_id: CHURN })).ticket);
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES, CHURN]);
  assert.equal(await app.as(ACME).users.count({ app: 'churn', search: email }), { count: 1 });
  const { users } = await app.as(ACME).access.matrix({ id: 1, search: email });
  assert.equal([users[0]?.apps, users[0]?.apps_by_group], [[SALES, CHURN], [CHURN]]);
  for (const path of ['/jb/clients/1/users/', '/jb/users/?app=churn']) {
    const listed: { email: string; apps: string[] }[] = (await app.send(`GET ${path}`, { as: ACME })).json();
    const rows = listed.filter((user) => user.email === email);
    assert.equal(fieldOf(rows, 'apps'), [[SALES, CHURN]], path);
  }

  await app.as(ACME).groups.update({ id: 1, group_id: group.id, members: [] });
  assert.equal(await opens(app, email), [SALES]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: CHURN }), 'not-found');
});

groups('are found by words of their name in all clients that the caller sees', async ({ app }) => {
  await app.as(ACME).groups.create({ id: 1, name: 'Night shift North' });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Night shift South' });
  const found = async (as: string, search: string) =>
    fieldOf(await app.as(as).groups.search({ search }), 'name');

  assert.equal(await found(ROOT, 'shift night'), ['Night shift North', 'Night shift South']);
  assert.equal(await found(ACME, 'night'), ['Night shift North']);
  assert.equal(await found(ACME, 'south'), []);
  await rejectsWith(app.as(ADA).groups.search({ search: 'night' }), 'forbidden');
});

groups('list a person once who also has a grant of the app', async ({ app }) => {
  const email = await addMember(app, [CHURN]);
  await addGroup(app, [email], [CHURN]);
  await addGroup(app, [email], [CHURN, SALES]);

  const users = await app.as(ACME).users.list({ app: 'churn', search: email });
  assert.equal(fieldOf(users, 'email'), [email]);
  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES, CHURN]);
});

groups('keep their apps from being revoked person by person', async ({ app }) => {
  const email = await addMember(app, [SALES]);
  const group = await addGroup(app, [email], [CHURN]);
  const users = app.as(ACME).users;

  const refused = await rejectsWith(users.update({ email, apps: [SALES] }), 'invalid-input');
  assert.match(refused.fields?.apps?.[0] ?? '', new RegExp(`${CHURN}: Given by the group ${group.name}`));
  const { results } = await users.bulkUpdate({ emails: [email], action: 'revoke-apps', apps: [CHURN] });
  assert.match(results[0]?.problem?.detail ?? '', /Given by the group/);
  const cells = [{ email, app_id: CHURN, granted: false }];
  const matrix = await rejectsWith(app.as(ACME).access.update({ id: 1, cells }), 'invalid-input');
  assert.match(matrix.fields?.['cells.0']?.[0] ?? '', /Given by the group/);

  // What the group gives may be sent back, and is no grant then.
  assert.equal((await users.update({ email, apps: [CHURN] })).apps, [CHURN]);
  await app.as(ACME).groups.remove({ id: 1, group_id: group.id });
  assert.equal((await users.get({ email })).apps, []);
});

groups('give no apps to suspended members, and give them again', async ({ app }) => {
  const email = await addMember(app, []);
  await app.as(ROOT).users.update({ email, apps: [FLEET] });
  await addGroup(app, [email], [CHURN]);
  const suspended = await app.as(ACME).users.update({ email, is_active: false });

  assert.equal(suspended.apps, []);
  assert.equal(await opens(app, email), [FLEET]);
  const back = await app.as(ACME).users.update({ email, is_active: true });
  assert.equal(back.apps, [CHURN]);
  assert.equal((await opens(app, email)).toSorted(), [CHURN, FLEET].toSorted());
});

groups('are left by people who are removed from the client', async ({ app }) => {
  const email = await addMember(app, []);
  await app.as(ROOT).users.update({ email, apps: [FLEET] });
  const group = await addGroup(app, [email], [CHURN]);
  const preview = await app.as(ACME).memberships.previewRemoval({ id: 1, email });
  assert.equal(preview.groups, [group.name]);

  await app.as(ACME).memberships.remove({ id: 1, email });

  assert.equal((await app.as(ACME).groups.get({ id: 1, group_id: group.id })).members, []);
  assert.equal(await opens(app, email), [FLEET]);
});

groups('are recorded with who and what was added and removed', async ({ app }) => {
  const [first, second] = [await addMember(app, []), await addMember(app, [])];
  const group = await addGroup(app, [first], [CHURN]);
  const update = { id: 1, group_id: group.id, name: 'Renamed', members: [second], apps: [SALES] };
  const after = await app.as(ACME).groups.update(update);

  assert.equal([after.name, after.members, after.apps], ['Renamed', [second], [SALES]]);
  const [entry] = await app.as(ACME).audit.list({ action: 'group.update', limit: 1 });
  assert.equal([entry?.target, entry?.clients], ['Renamed', [1]]);
  const idOf = (email: string) => entry?.people.find((person) => person.email === email)?.id;
  assert.equal(entry?.details, {
    name: { from: group.name, to: 'Renamed' },
    members: { added: [idOf(second)], removed: [idOf(first)] },
    apps: { added: [SALES], removed: [CHURN] },
  });
  await app.as(ACME).groups.update(update);
  const entries = await app.as(ACME).audit.list({ action: 'group.update', limit: 2 });
  assert.is(entries[0]?.id, entry?.id, 'an unchanged group is not recorded');
});

groups('keep the members that someone else has added since the screen was opened', async ({ app }) => {
  const [first, second, third] = [
    await addMember(app, []),
    await addMember(app, []),
    await addMember(app, []),
  ];
  const { id: group_id } = await addGroup(app, [first], []);
  await app.as(ROOT).groups.update({ id: 1, group_id, members: [first, second] });

  const edit = { id: 1, group_id, added_members: [third], removed_members: [first] };
  const after = await app.as(ACME).groups.edit(edit);

  assert.equal(after.members, [second, third].toSorted());
  const [entry] = await app.as(ACME).audit.list({ action: 'group.update', limit: 1 });
  const idOf = (email: string) => entry?.people.find((person) => person.email === email)?.id;
  assert.equal(entry?.details, { members: { added: [idOf(third)], removed: [idOf(first)] } });
  await rejectsWith(app.as(GLOBEX).groups.edit(edit), 'not-found');
  await rejectsWith(app.as(STAFF).groups.edit(edit), 'forbidden');
  await rejectsWith(app.as(ACME).groups.edit({ ...edit, added_members: [EDSGER] }), 'invalid-input');
});

groups('say who would lose which app with them', async ({ app }) => {
  const [only, granted] = [await addMember(app, []), await addMember(app, [CHURN])];
  const [twice, gone] = [await addMember(app, []), await addMember(app, [])];
  await app.as(ACME).users.update({ email: gone, is_active: false });
  const { id: group_id } = await addGroup(app, [only, granted, twice, gone], [CHURN, SALES]);
  await addGroup(app, [twice], [SALES]);

  const screen = await app.as(ACME).groups.screen({ id: 1, group_id });

  assert.equal(screen.losses, [
    { app: SALES, people: 2 },
    { app: CHURN, people: 2 },
  ]);
  const active = screen.members.filter(({ is_active }) => is_active);
  assert.equal(fieldOf(active, 'email').toSorted(), [only, granted, twice].toSorted());
  assert.is(screen.members.length, 4);
  await rejectsWith(app.as(GLOBEX).groups.screen({ id: 1, group_id }), 'not-found');
});

groups('are not changed over what someone else has changed since', async ({ app }) => {
  const group = await addGroup(app, [], [CHURN]);
  const input = { id: 1, group_id: group.id, apps: [], expected: { apps: [SALES] } };
  await rejectsWith(app.as(ACME).groups.edit(input), 'precondition-failed');

  assert.equal((await app.as(ACME).groups.edit({ ...input, expected: { apps: [CHURN] } })).apps, []);
});

groups('hold only members and apps of their client', async ({ app }) => {
  const input = { id: 1, name: 'Strangers', members: [EDSGER, 'nobody@x.test'], apps: [FLEET] };
  const { fields } = await rejectsWith(app.as(ACME).groups.create(input), 'invalid-input');

  assert.is(fields?.members?.length, 2);
  assert.is(fields?.apps?.length, 1);
  const { name } = await addGroup(app, [ADA], []);
  await rejectsWith(app.as(ACME).groups.create({ id: 1, name: name.toUpperCase() }), 'invalid-input');
});

groups('are not found under another client', async ({ app }) => {
  const { id: group_id } = await addGroup(app, [], []);
  const foreign = app.as(GLOBEX).groups;

  await rejectsWith(foreign.get({ id: 2, group_id }), 'not-found');
  await rejectsWith(foreign.update({ id: 2, group_id, name: 'x' }), 'not-found');
  await rejectsWith(foreign.remove({ id: 2, group_id }), 'not-found');
});

groups('end with one of the outcomes if they are changed at the same time', async ({ app }) => {
  const members = [await addMember(app, []), await addMember(app, [])];
  const group = await addGroup(app, [], []);
  const states = [
    { members: members.slice(0, 1), apps: [SALES] },
    { members, apps: [CHURN] },
  ];
  const { update } = app.as(ACME).groups;
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => update({ id: 1, group_id: group.id, ...states[n % 2] })),
  );

  const after = await app.as(ACME).groups.get({ id: 1, group_id: group.id });
  assert.equal(after.apps, after.members.length === 1 ? [SALES] : [CHURN]);
});

groups.run();
