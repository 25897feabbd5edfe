import * as assert from 'uvu/assert';
import { connectDirectory, type Directory, ENTERPRISE } from '../../support/directory.ts';
import { invitationLink } from '../../support/members.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { rowOf, rowsOf, valuesOf } from '../../support/rows.ts';
import { ADA, appSuite, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const directories = appSuite('memberships by a directory');

const membershipOf = async (app: TestApp, { client }: Directory, email: string) => {
  const found = await app.as(ROOT).memberships.list({ email });
  return found.find((each) => each.client === client);
};

const actionsAbout = async (app: TestApp, email: string): Promise<string[]> => {
  const entries = await app.as(ROOT).audit.list({ target: email });
  return entries.map(({ action }) => action).toReversed();
};

directories(
  'makes a new person of a verified domain a member, recorded as done by the directory',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const email = directory.address('new');

    await directory.createUser({ userName: email, name: { givenName: 'Nell', familyName: 'Newman' } });

    const user = await app.as(ROOT).users.get({ email });
    assert.equal([user.first_name, user.last_name, user.is_active], ['Nell', 'Newman', true]);
    assert.is((await membershipOf(app, directory, email))?.is_active, true);
    const [entry] = await app.as(ROOT).audit.list({ target: email });
    assert.equal([entry?.action, entry?.actor?.endsWith('@service-account.invalid')], ['user.create', true]);
  },
);

directories(
  'neither reads nor joins a person of another client without a verified domain: invites them',
  async ({ app }) => {
    const directory = await connectDirectory(app, { verified: false });

    const user = await directory.createUser({ userName: ADA, active: true });

    assert.is(await membershipOf(app, directory, ADA), undefined);
    assert.not('name' in user);
    assert.not.match(JSON.stringify(user), 'Lovelace');
    const [invitation] = await rowsOf(app, 'invitations', { client_id: directory.client });
    assert.equal([invitation?.email, invitation?.status], [ADA, 'pending']);
    const stranger = await directory.createUser({ userName: 'stranger@nowhere.test', active: true });
    assert.equal(Object.keys(stranger), Object.keys(user));
  },
);

directories(
  'makes an invited person one of the directory when they accept, in their groups',
  async ({ app }) => {
    const directory = await connectDirectory(app, { verified: false });
    const { id } = await directory.createUser({ userName: ADA });
    const { id: group } = await directory.createGroup({ displayName: 'Sales', members: [{ value: id }] });
    const [{ key } = { key: '' }] = await rowsOf(app, 'invitations', { client_id: directory.client });

    await app.as(ADA).invitations.accept(invitationLink(app, key));

    assert.is((await membershipOf(app, directory, ADA))?.is_active, true);
    const [{ group_id } = { group_id: 0 }] = await rowsOf(app, 'directory_groups', { id: group });
    const { members } = await app.as(ROOT).groups.get({ id: directory.client, group_id: group_id ?? 0 });
    assert.equal(members, [ADA]);
    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });
    assert.is((await membershipOf(app, directory, ADA))?.is_active, false);
    assert.is((await app.as(ROOT).users.get({ email: ADA })).is_active, true);
  },
);

directories(
  'joins an account of another client by a verified domain, and copies nothing',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const email = directory.address('known');
    await app.as(ROOT).users.create({ email, first_name: 'Known', client: 1, extra: { of: 'acme' } });

    await directory.createUser({ userName: email, name: { givenName: 'Other', familyName: 'Name' } });

    const membership = await membershipOf(app, directory, email);
    assert.equal([membership?.is_active, membership?.extra], [true, {}]);
    assert.is((await rowsOf(app, 'users', { email })).length, 1);
    // The account belongs to several clients now: its names are the person's own.
    assert.is((await app.as(ROOT).users.get({ email })).first_name, 'Known');
  },
);

directories(
  'revokes the invitation of a person whom the directory makes inactive or deletes',
  async ({ app }) => {
    const directory = await connectDirectory(app, { verified: false });
    const one = await directory.createUser({ userName: 'one@nowhere.test' });
    const two = await directory.createUser({ userName: 'two@nowhere.test' });

    await directory.patch(`/Users/${one.id}`, { op: 'replace', value: { active: false } });
    await directory.request('DELETE', `/Users/${two.id}`);

    const statuses = await valuesOf(app, 'invitations', 'status', { client_id: directory.client });
    assert.equal(statuses, ['revoked', 'revoked']);
    await directory.patch(`/Users/${one.id}`, { op: 'replace', value: { active: true } });
    const invitations = await rowsOf(app, 'invitations', { client_id: directory.client, status: 'pending' });
    assert.equal(
      invitations.map(({ email }) => email),
      ['one@nowhere.test'],
    );
  },
);

directories(
  'suspends and reactivates a membership, ends it with the grants, and makes it again',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const email = directory.address('moving');
    const { id } = await directory.createUser({ userName: email });
    const path = `/Users/${id}`;

    await directory.patch(path, { op: 'Replace', path: 'active', value: 'False' });
    assert.is((await membershipOf(app, directory, email))?.is_active, false);
    await directory.patch(path, { op: 'Replace', path: 'active', value: 'True' });
    assert.is((await membershipOf(app, directory, email))?.is_active, true);
    assert.is((await directory.request('DELETE', path)).status, 204);
    assert.is(await membershipOf(app, directory, email), undefined);
    assert.is((await directory.request('GET', path)).status, 404);
    await directory.createUser({ userName: email });

    assert.is((await membershipOf(app, directory, email))?.is_active, true);
    assert.is((await rowsOf(app, 'users', { email })).length, 1);
    assert.equal(await actionsAbout(app, email), [
      ...[
        'user.create',
        'membership.suspend',
        'membership.reactivate',
        'membership.remove',
        'membership.create',
      ],
    ]);
  },
);

directories('forgets a person whose membership an admin has ended', async ({ app }) => {
  const directory = await connectDirectory(app);
  const email = directory.address('removed');
  const { id } = await directory.createUser({ userName: email });

  await app.as(ROOT).memberships.remove({ id: directory.client, email });

  assert.is((await directory.request('GET', `/Users/${id}`)).status, 404);
});

directories(
  'adopts a member and a group of the same name, and leaves other members of the group alone',
  async ({ app }) => {
    const directory = await connectDirectory(app, { client: 1 });
    const root = app.as(ROOT);
    const { id: own } = await root.groups.create({
      id: 1,
      name: 'Editors',
      members: [GRACE, ADA],
      apps: [],
    });

    const ada = await directory.createUser({ userName: ADA });
    const editors = await directory.createGroup({ displayName: 'editors', members: [] });

    const membersNow = async () => (await root.groups.get({ id: 1, group_id: own })).members;
    assert.equal(await membersNow(), [GRACE]);
    assert.is((await root.groups.get({ id: 1, group_id: own })).name, 'editors');
    await directory.patch(`/Groups/${editors.id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: ada.id }],
    });
    assert.equal((await membersNow()).toSorted(), [ADA, GRACE].toSorted());
    await directory.patch(`/Groups/${editors.id}`, {
      op: 'remove',
      path: 'members',
      value: [{ value: ada.id }],
    });
    assert.equal(await membersNow(), [GRACE]);
  },
);

directories(
  'removes the group of the client with that of the directory, and the other way round',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const one = await directory.createGroup({ displayName: 'One' });
    const two = await directory.createGroup({ displayName: 'Two' });
    const groupsNow = async () => app.as(ROOT).groups.list({ id: directory.client });

    await directory.request('DELETE', `/Groups/${one.id}`);
    const [left] = await groupsNow();
    assert.is(left?.name, 'Two');
    await app.as(ROOT).groups.remove({ id: directory.client, group_id: left?.id ?? 0 });

    assert.is((await directory.request('GET', `/Groups/${two.id}`)).status, 404);
  },
);

directories(
  'gives attributes to extra of the membership as they are mapped, and keeps other keys',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { client } = directory;
    const email = directory.address('mapped');
    const { id } = await directory.createUser({
      userName: email,
      title: 'Analyst',
      [ENTERPRISE]: { department: 'North' },
    });
    await app.as(ROOT).memberships.update({ id: client, email, extra: { own: 1 } });
    const extraNow = async () => (await membershipOf(app, directory, email))?.extra;

    await app
      .as(ROOT)
      .directory.update({ id: client, attributes: { region: `${ENTERPRISE}:department`, title: 'title' } });
    await app.directoryWorker.drain();
    assert.equal(await extraNow(), { own: 1, region: 'North', title: 'Analyst' });
    await directory.patch(`/Users/${id}`, {
      op: 'replace',
      path: `${ENTERPRISE}:department`,
      value: 'South',
    });
    await directory.patch(`/Users/${id}`, { op: 'remove', path: 'title' });

    assert.equal(await extraNow(), { own: 1, region: 'South', title: null });
  },
);

directories('refuses to map an attribute that users do not have', async ({ app }) => {
  const update = app.as(ROOT).directory.update({ id: 1, attributes: { region: 'departmint' } });

  const { fields } = await rejectsWith(update, 'invalid-input');
  assert.equal(fields?.attributes, ['Users have no attribute departmint.']);
  // The service never gets it from a directory.
  const readOnly = app
    .as(ROOT)
    .directory.update({ id: 1, attributes: { boss: `${ENTERPRISE}:manager.displayName` } });
  await rejectsWith(readOnly, 'invalid-input');
});

directories('asks the new mailbox before the address of a member changes', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [before, after] = [directory.address('before'), directory.address('after')];
  const { id } = await directory.createUser({ userName: before });

  const { status, body } = await directory.patch(`/Users/${id}`, {
    op: 'replace',
    path: 'userName',
    value: after,
  });

  assert.equal([status, body.userName], [200, after]);
  assert.is((await app.as(ROOT).users.get({ email: before })).is_active, true);
  const { id: user } = await rowOf(app, 'users', { email: before });
  const [change] = await rowsOf(app, 'email_changes', { user_id: user });
  assert.equal([change?.new_email, change?.changed_at], [after, null]);
  assert.is((await rowsOf(app, 'outbox_mails', { kind: 'email-confirmation', recipient: after })).length, 1);
});

directories('keeps the address of an account that several clients share', async ({ app }) => {
  const directory = await connectDirectory(app);
  const email = directory.address('shared');
  await app.as(ROOT).users.create({ email, client: 1 });
  const { id } = await directory.createUser({ userName: email });

  const changed = await directory.patch(`/Users/${id}`, {
    ...{ op: 'replace', path: 'userName', value: directory.address('other') },
  });

  assert.is(changed.status, 200);
  const { id: user } = await rowOf(app, 'users', { email });
  assert.equal(await rowsOf(app, 'email_changes', { user_id: user }), []);
});

directories.run();
