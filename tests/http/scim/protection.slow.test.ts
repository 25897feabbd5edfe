import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { connectDirectory, type Directory, PATCH_OP } from '../../support/directory.ts';
import { invitationLink } from '../../support/members.ts';
import { rowOf, rowsOf, valuesOf } from '../../support/rows.ts';
import { ADA, appSuite, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const protection = appSuite('protection from directories');

const isActive = async (app: TestApp, id: number, email: string): Promise<boolean | undefined> => {
  const memberships = await app.as(ROOT).memberships.list({ email });
  return memberships.find(({ client }) => client === id)?.is_active;
};

const refused = async (answer: ReturnType<Directory['request']>, scimType: string): Promise<void> => {
  const { status, body } = await answer;
  assert.equal([status, body.scimType], [400, scimType], JSON.stringify(body));
};

/** What the directory is held for, approved as an admin sees it. */
const approve = async (app: TestApp, id: number) => {
  const { held, held_until } = await app.as(ROOT).directory.get({ id });
  await app.as(ROOT).directory.approve({ id, held, held_until: held_until ?? app.clock.now() });
};

protection('refuses texts that PostgreSQL cannot read, wherever they are', async ({ app }) => {
  const directory = await connectDirectory(app);
  const userName = directory.address('nul');
  const { id } = await directory.createUser({ userName });

  for (const text of ['a\u0000b', '\ud800'])
    for (const body of [
      { userName, 'urn:x:y': { a: text } },
      { userName, 'urn:x:y': { [text]: 1 } },
      { userName, title: text },
    ])
      await refused(directory.request('PUT', `/Users/${id}`, body), 'invalidValue');
  await refused(
    directory.request('POST', '/Groups', { displayName: 'x', members: [{ value: 'a\u0000b' }] }),
    'invalidValue',
  );
});

protection('refuses a PATCH that changes thousands of attributes by few operations', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await directory.createUser({ userName: directory.address('many') });
  const value = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`urn:x${n}:a`, 'x']));

  await refused(directory.patch(`/Users/${id}`, { op: 'replace', value }), 'invalidSyntax');
});

protection(
  'refuses a filter on an attribute with one value, and names in values that are no text',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { id } = await directory.createUser({
      userName: directory.address('one'),
      name: { givenName: 'x' },
    });

    const path = 'name[givenName eq "x"].familyName';
    await refused(directory.patch(`/Users/${id}`, { op: 'replace', path, value: 'y' }), 'invalidPath');
    for (const key of ['__proto__.polluted', 'constructor.prototype.polluted', 'name.__proto__.polluted'])
      await directory.patch(`/Users/${id}`, { op: 'replace', value: { [key]: 'yes' } });
    await directory.patch(`/Users/${id}`, {
      op: 'replace',
      path: 'name',
      value: { '__proto__.polluted': 'yes' },
    });
    assert.not('polluted' in {});
  },
);

protection('one row that cannot be applied does not hold up those of other clients', async ({ app }) => {
  const [broken, other] = [
    await connectDirectory(app, { mode: 'show' }),
    await connectDirectory(app, { mode: 'show' }),
  ];
  const { id } = await broken.createUser({ userName: broken.address('broken') });
  await other.createUser({ userName: other.address('fine') });
  // What no request can write.
  await app
    .db()
    .updateTable('directory_people')
    .set({ first_name: 'x'.repeat(150), email: 'no address' })
    .where('id', '=', id)
    .execute();

  for (const { client } of [broken, other])
    await app.as(ROOT).directory.update({ id: client, mode: 'apply' });
  await app.directoryWorker.drain();

  assert.is(await isActive(app, other.client, other.address('fine')), true);
  assert.is((await app.as(ROOT).directory.get({ id: broken.client })).due, 0);
});

protection(
  'revokes the invitation of an address that the directory has corrected, and invites the right one',
  async ({ app }) => {
    const directory = await connectDirectory(app, { verified: false });
    const { id } = await directory.createUser({ userName: GRACE });
    const [wrong] = await rowsOf(app, 'invitations', { client_id: directory.client });

    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: 'right@good.test' });

    const invitations = await rowsOf(app, 'invitations', { client_id: directory.client });
    assert.equal(
      invitations.map(({ email, status }) => [email, status]),
      [
        [GRACE, 'revoked'],
        ['right@good.test', 'pending'],
      ],
    );
    const accepting = app.as(GRACE).invitations.accept(invitationLink(app, wrong?.key ?? ''));
    assert.is(
      await accepting.then(
        () => 'accepted',
        () => 'refused',
      ),
      'refused',
    );
  },
);

protection('has one user for a member, also while a change of the address waits', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [present, wanted] = [directory.address('present'), directory.address('wanted')];
  const { id } = await directory.createUser({ userName: present });
  await directory.patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: wanted });

  const { status, body } = await directory.request('POST', '/Users', { userName: present });

  assert.equal([status, body.scimType], [409, 'uniqueness']);
});

protection('changes no names or addresses of superusers, staff and client admins', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [root, admin] = [directory.address('root'), directory.address('admin')];
  for (const email of [root, admin])
    await app.as(ROOT).users.create({ email, first_name: 'Own', client: directory.client });
  await app.as(ROOT).roles.update({ email: root, is_superuser: true });
  await app.as(ROOT).roles.setClientAdmin({ id: directory.client, email: admin, is_admin: true });

  for (const email of [root, admin]) {
    const { id } = await directory.createUser({
      userName: email,
      name: { givenName: 'Evil', familyName: 'X' },
    });
    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: `new-${email}` });
    assert.is((await app.as(ROOT).users.get({ email })).first_name, 'Own');
  }
  for (const new_email of [`new-${root}`, `new-${admin}`])
    assert.equal(await rowsOf(app, 'email_changes', { new_email }), []);
});

protection('limits how many changes of the address of a person a directory mails', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await directory.createUser({ userName: directory.address('first') });

  const statuses = [];
  for (let n = 1; n <= 6; n++) {
    const value = directory.address(`try${n}`);
    statuses.push((await directory.patch(`/Users/${id}`, { op: 'replace', path: 'userName', value })).status);
  }

  assert.equal(statuses, [200, 200, 200, 200, 200, 429]);
});

protection(
  'approves the end of a membership of the person whom the admin saw, and of no other',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { client } = directory;
    const last = directory.address('last');
    await directory.createUser({ userName: last });
    await app.as(ROOT).roles.setClientAdmin({ id: client, email: last, is_admin: true });
    const { id } = await directory.createUser({ userName: directory.address('harmless') });

    // A replacement of another user, and a new user, name the last admin.
    for (const [method, path] of [
      ['PUT', `/Users/${id}`],
      ['POST', '/Users'],
    ] as const) {
      const { status } = await directory.request(method, path, { userName: last, active: false });
      assert.is(status, 409, method);
    }
    const [{ id: own } = { id: '' }] = await rowsOf(app, 'directory_people', { email: last });
    assert.is(
      (await directory.patch(`/Users/${own}`, { op: 'replace', path: 'active', value: false })).status,
      429,
    );
    const [held] = await app.as(ROOT).directory.listHeld({ id: client });
    assert.equal([held?.email, held?.is_last_admin], [last, true]);
    await approve(app, client);
    assert.is(
      (await directory.patch(`/Users/${own}`, { op: 'replace', path: 'active', value: false })).status,
      200,
    );
  },
);

protection(
  'holds a new user for a member whom it makes inactive, once, and lets an admin approve it',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { client } = directory;
    const email = directory.address('only-admin');
    await app.as(ROOT).users.create({ email, client });
    await app.as(ROOT).roles.setClientAdmin({ id: client, email, is_admin: true });

    for (let n = 0; n < 3; n++)
      assert.is((await directory.request('POST', '/Users', { userName: email, active: false })).status, 429);

    assert.is((await rowsOf(app, 'outbox_mails', { kind: 'directory-held', client_id: client })).length, 1);
    assert.is((await app.as(ROOT).directory.get({ id: client })).held, 1);
    await approve(app, client);
    assert.is((await directory.request('POST', '/Users', { userName: email, active: false })).status, 201);
    assert.is(await isActive(app, client, email), false);
  },
);

protection(
  'holds the end of the last admin although the end of one of many was approved',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { client } = directory;
    const people = [];
    for (let n = 1; n <= 12; n++)
      people.push(await directory.createUser({ userName: directory.address(`p${n}`) }));
    const end = ({ id }: { id: string }) => directory.request('DELETE', `/Users/${id}`);
    for (const person of people.slice(0, 10)) await end(person);
    const [eleventh] = people.slice(10);
    assert.is((await end(eleventh)).status, 429);
    await approve(app, client);
    await app.as(ROOT).roles.setClientAdmin({ id: client, email: directory.address('p11'), is_admin: true });

    assert.is((await end(eleventh)).status, 429);
  },
);

protection(
  'counts those who were members a day ago, not whom the directory has just created',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const create = (n: number) => directory.createUser({ userName: directory.address(`member${n}`) });
    const old = [];
    for (let n = 0; n < 15; n++) old.push(await create(n));
    app.clock.advance(2 * DAY_MS);
    for (let n = 15; n < 80; n++) await create(n);

    const statuses = [];
    for (const { id } of old) statuses.push((await directory.request('DELETE', `/Users/${id}`)).status);

    assert.equal(statuses.filter((status) => status === 204).length, 10);
  },
);

protection(
  'keeps a group that admins have made when the directory deletes it, without its people',
  async ({ app }) => {
    const directory = await connectDirectory(app, { client: 1 });
    const { id: own } = await app
      .as(ROOT)
      .groups.create({ id: 1, name: 'Handmade', members: [GRACE], apps: [] });
    const { id: user } = await directory.createUser({ userName: ADA });
    const { id } = await directory.createGroup({ displayName: 'Handmade', members: [{ value: user }] });

    assert.is((await directory.request('DELETE', `/Groups/${id}`)).status, 204);

    assert.equal((await app.as(ROOT).groups.get({ id: 1, group_id: own })).members, [GRACE]);
    assert.is((await directory.request('GET', `/Groups/${id}`)).status, 404);
  },
);

protection('brings everybody into a group that was stated while changes were only shown', async ({ app }) => {
  const directory = await connectDirectory(app);
  const ids = [];
  for (const name of ['a', 'b', 'c'])
    ids.push((await directory.createUser({ userName: directory.address(name) })).id);
  const { id } = await directory.createGroup({ displayName: 'Late' });
  const setMode = (mode: 'show' | 'apply') => app.as(ROOT).directory.update({ id: directory.client, mode });
  const add = (value: string) =>
    directory.patch(`/Groups/${id}`, { op: 'add', path: 'members', value: [{ value }] });
  await setMode('show');
  for (const value of ids.slice(0, 2)) await add(value);
  await setMode('apply');

  await add(ids[2]);

  const { group_id } = await rowOf(app, 'directory_groups', { id });
  assert.is((await rowsOf(app, 'group_members', { group_id: group_id ?? 0 })).length, 3);
});

protection(
  'brings a person into their groups whom an admin has added by hand instead of the invitation',
  async ({ app }) => {
    const directory = await connectDirectory(app, { verified: false });
    const { id } = await directory.createUser({ userName: 'by-hand@nowhere.test' });
    const group = await directory.createGroup({ displayName: 'Team', members: [{ value: id }] });
    await app.as(ROOT).users.create({ email: 'by-hand@nowhere.test', client: directory.client });

    await directory.patch(`/Users/${id}`, { op: 'replace', path: 'title', value: 'x' });

    const { group_id } = await rowOf(app, 'directory_groups', { id: group.id });
    assert.is((await rowsOf(app, 'group_members', { group_id: group_id ?? 0 })).length, 1);
    assert.equal(await valuesOf(app, 'invitations', 'status', { client_id: directory.client }), ['revoked']);
  },
);

protection('follows the primary address that a PATCH names, not the last one', async ({ app }) => {
  const directory = await connectDirectory(app);
  const emails = ['work', 'home'].map((type) => ({
    type,
    value: directory.address(type),
    primary: type === 'home',
  }));
  const { id } = await directory.createUser({ userName: 'primary', emails });

  const { body } = await directory.patch(`/Users/${id}`, {
    ...{ op: 'replace', path: 'emails[type eq "work"].primary', value: true },
  });

  assert.equal(
    body.emails.map(({ type, primary }: { type: string; primary: boolean }) => [type, primary]),
    [
      ['work', true],
      ['home', false],
    ],
  );
  assert.equal(await valuesOf(app, 'directory_people', 'email', { id }), [directory.address('work')]);
});

protection('keeps an extension that a PATCH without a path sends, as other requests do', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await directory.createUser({ userName: directory.address('custom') });

  const { status, body } = await directory.request('PATCH', `/Users/${id}`, {
    schemas: [PATCH_OP],
    Operations: [{ op: 'add', value: { 'urn:custom:2.0:User': { tag: 'x' } } }],
  });

  assert.equal([status, body['urn:custom:2.0:User']], [200, { tag: 'x' }]);
});

protection('logs no parameters that may be secrets', async ({ app }) => {
  const directory = await connectDirectory(app);
  await directory.request('GET', '/Users?count=1&access_token=secret');

  const [request] = await app.as(ROOT).directory.requests({ id: directory.client });

  assert.is(request?.path, '/Users?count=1');
});

protection.run();
