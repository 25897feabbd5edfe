import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import {
  assertChanged,
  assertHas,
  assertRefused,
  type Body,
  connectDirectory,
  type Directory,
  ENTERPRISE,
  GROUP,
  inEachSettingOf,
  LIST_RESPONSE,
  memberIds,
  USER,
} from '../../support/directory.ts';
import { appSuite, ROOT, type TestApp } from '../../support/test-app.ts';

/**
 * What Microsoft Entra ID sends: the sample requests of "Develop and plan provisioning for a SCIM endpoint in Microsoft Entra ID" and of
 * "Known issues and resolutions with SCIM 2.0 protocol compliance", Microsoft's Postman collection, its tests for the app gallery, and
 * requests that implementers have reported. Each case has a directory of its own.
 */
const requests = appSuite('requests of Microsoft Entra ID');

const inEachSetting = inEachSettingOf(requests);

const newUser = (directory: Directory, name: string) => ({
  schemas: [USER, ENTERPRISE],
  externalId: `external-${name}`,
  userName: directory.address(name),
  active: true,
  emails: [{ primary: true, type: 'work', value: directory.address(`${name}.work`) }],
  meta: { resourceType: 'User' },
  name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
  roles: [],
});

const addUser = async (directory: Directory, name: string, more: Body = {}) => {
  const user = { ...newUser(directory, name), ...more };
  const { id } = await directory.createUser(user);
  return { user, id, path: `/Users/${id}` };
};

/** Several users; returns their ids, sorted. */
const addUsers = async (directory: Directory, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push((await addUser(directory, `user-${index}`)).id);
  return ids.sort();
};

const addGroup = async (directory: Directory, displayName: string, members: string[] = []) => {
  const { id } = await directory.createGroup({ displayName, members: members.map((value) => ({ value })) });
  return `/Groups/${id}`;
};

/** Changes a resource, and reads it afterwards. */
const change = async (directory: Directory, path: string, ...operations: Body[]) => {
  const answer = await directory.patch(path, ...operations);
  assertChanged(answer);
  const read = await directory.read(path);
  if (answer.body) assert.equal(answer.body, read);
  return read;
};

const found = async (directory: Directory, path: string, filter: string): Promise<string[]> =>
  (await directory.list(path, { filter })).Resources.map(({ id }: { id: string }) => id);

const membershipOf = async (app: TestApp, { client }: Directory, email: string) => {
  const memberships = await app.as(ROOT).memberships.list({ email });
  return memberships.find((membership) => membership.client === client);
};

requests('Test Connection: a filter for a random user finds an empty list', async ({ app }) => {
  const directory = await connectDirectory(app);
  await addUser(directory, 'known');

  for (const attribute of ['userName', 'externalId', 'emails[type eq "work"].value', 'id'])
    assert.equal(
      await directory.list('/Users', { filter: `${attribute} eq "${randomUUID()}"` }),
      { schemas: [LIST_RESPONSE], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
      attribute,
    );
});

requests('Create User, Get User, and Get User by query', async ({ app }) => {
  const directory = await connectDirectory(app);
  const user = newUser(directory, 'test_user');

  const created = await directory.request('POST', '/Users', user);

  const expected = { ...user, schemas: [USER], meta: { resourceType: 'User' }, roles: undefined };
  assert.is(created.status, 201);
  assertHas(created.body, expected);
  assert.match(created.body.meta.created, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.equal(await directory.read(`/Users/${created.body.id}`), created.body);
  const { totalResults, Resources } = await directory.list('/Users', {
    filter: `userName eq "${user.userName}"`,
  });
  assert.is(totalResults, 1);
  assert.equal(Resources, [created.body]);
});

requests('Create User, whose name is no address, takes the address from emails', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, path } = await addUser(directory, 'emailed', { userName: 'Test_User_1' });

  assert.is((await directory.read(path)).userName, 'Test_User_1');
  assert.equal(await found(directory, '/Users', 'userName eq "Test_User_1"'), [path.slice('/Users/'.length)]);
  assert.is((await membershipOf(app, directory, user.emails[0]?.value ?? ''))?.is_active, true);
});

requests('Get User: an unknown id is 404', async ({ app }) => {
  const directory = await connectDirectory(app);

  for (const id of ['5171a35d82074e068ce2', randomUUID(), '0', '99999999999999999999'])
    assertRefused(await directory.request('GET', `/Users/${id}`), 404);
});

requests('Get User by query: zero results', async ({ app }) => {
  const directory = await connectDirectory(app);

  assert.equal(await found(directory, '/Users', 'userName eq "non-existent user"'), []);
});

requests('Update User [Multi-valued properties]', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'multi');
  const value = directory.address('updated');

  const { status, body } = await directory.patch(
    path,
    { op: 'Replace', path: 'emails[type eq "work"].value', value },
    { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
  );

  assert.is(status, 200);
  assert.equal(body.emails, [{ value, type: 'work', primary: true }]);
  assertHas(body, { name: { familyName: 'updatedFamilyName', givenName: 'givenName' } });
  assert.equal(await directory.read(path), body);
});

requests('Update User [Single-valued properties]: a new userName keeps the address', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, path } = await addUser(directory, 'single');
  const value = directory.address('renamed');

  const { status, body } = await directory.patch(path, { op: 'Replace', path: 'userName', value });

  assert.is(status, 200);
  assert.is(body.userName, value);
  assert.equal(body.emails, user.emails);
});

requests(
  'Update User and Update Group: a name of its own in another case, and one of another',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { user, path } = await addUser(directory, 'mine');
    const { user: another } = await addUser(directory, 'another');
    const group = await addGroup(directory, 'Mine');
    await addGroup(directory, 'Another');
    const value = user.userName.toUpperCase();

    assert.is((await change(directory, path, { op: 'Replace', path: 'userName', value })).userName, value);
    assert.is(
      (await change(directory, group, { op: 'Replace', path: 'displayName', value: 'MINE' })).displayName,
      'MINE',
    );
    for (const [target, operation] of [
      [path, { path: 'userName', value: another.userName }],
      [path, { path: 'emails[type eq "work"].value', value: another.emails[0]?.value ?? '' }],
      [group, { path: 'displayName', value: 'ANOTHER' }],
    ] as const)
      assertRefused(await directory.patch(target, { op: 'Replace', ...operation }), 409, 'uniqueness');
    assert.equal(
      [(await directory.read(path)).emails, (await directory.read(group)).displayName],
      [user.emails, 'MINE'],
    );
  },
);

requests('names with quotes, signs and letters of other scripts are found again', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await addUser(directory, "zoë.o'brien+test", {
    userName: directory.address("zoe.o'brien+test"),
    emails: undefined,
    displayName: 'Zoë "Z" O’Brien, Łódź & 東京',
  });

  for (const filter of [
    `userName eq "${directory.address("zoe.o'brien+test")}"`,
    'displayName eq "ZOË \\"Z\\" O’Brien, Łódź & 東京"',
    'externalId eq "external-zoë.o\'brien+test"',
  ])
    assert.equal(await found(directory, '/Users', filter), [id], filter);
});

requests('a filter has a backslash as JSON writes it', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await addUser(directory, 'backslash', { displayName: 'ACME\\zoe' });

  assert.equal(await found(directory, '/Users', 'displayName eq "ACME\\\\zoe"'), [id]);
});

requests('a user who is created disabled joins when it is enabled', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, path } = await addUser(directory, 'starter', { active: false });
  const email = user.emails[0]?.value ?? '';
  const isActive = async () => {
    const known = await app.as(ROOT).users.list({ client: directory.client });
    return (
      known.some((each) => each.email === email) && (await membershipOf(app, directory, email))?.is_active
    );
  };

  assert.is((await directory.read(path)).active, false);
  assert.not(await isActive());
  assert.is(
    (await change(directory, path, { op: 'Replace', path: 'title', value: 'Starter' })).active,
    false,
  );
  assert.not(await isActive());
  assert.is((await change(directory, path, { op: 'Replace', path: 'active', value: 'True' })).active, true);
  assert.is(await isActive(), true);
});

requests('Disable User suspends the membership, not the account; Delete User ends it', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, id, path } = await addUser(directory, 'leaver');
  const email = user.emails[0]?.value ?? '';
  const isActive = async () => (await membershipOf(app, directory, email))?.is_active;

  assert.is(await isActive(), true);
  assert.is((await change(directory, path, { op: 'Replace', path: 'active', value: false })).active, false);
  assert.is(await isActive(), false);
  assert.is((await app.as(ROOT).users.get({ email })).is_active, true);
  assert.equal(await found(directory, '/Users', `userName eq "${user.userName}"`), [id]);

  assert.is((await change(directory, path, { op: 'Replace', path: 'active', value: true })).active, true);
  assert.is(await isActive(), true);

  assert.is((await directory.request('DELETE', path)).status, 204);
  assert.is(await membershipOf(app, directory, email), undefined);
});

requests(
  'a soft delete and a hard delete: 404, and then the person can be created again',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { user, id, path } = await addUser(directory, 'returner');
    const email = user.emails[0]?.value ?? '';

    await change(directory, path, { op: 'Replace', path: 'active', value: 'False' });
    assert.is((await directory.request('DELETE', path)).status, 204);
    assertRefused(await directory.request('GET', path), 404);
    assertRefused(await directory.patch(path, { op: 'Replace', path: 'active', value: 'True' }), 404);
    assertRefused(await directory.request('DELETE', path), 404);
    assert.equal(await found(directory, '/Users', `userName eq "${user.userName}"`), []);
    assert.equal(await found(directory, '/Users', `externalId eq "${user.externalId}"`), []);

    const again = await directory.request('POST', '/Users', user);

    assert.is(again.status, 201);
    assert.is(again.body.active, true);
    assert.not.equal(again.body.id, id);
    assertRefused(await directory.request('GET', path), 404);
    assert.is((await membershipOf(app, directory, email))?.is_active, true);
    assert.is((await app.as(ROOT).users.get({ email })).is_active, true);
  },
);

requests('Known issues: "False" and "True" in any case are booleans', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'booleans');

  for (const [value, active] of [
    ['False', false],
    ['True', true],
    ['false', false],
    ['true', true],
  ] as const) {
    assert.is(
      (await change(directory, path, { op: 'Replace', path: 'active', value })).active,
      active,
      value,
    );
    const withoutPath = await change(directory, path, { op: 'Replace', value: { active: value } });
    assert.is(withoutPath.active, active, value);
  }
  const { id } = await directory.createUser({ userName: directory.address('new'), active: 'False' });
  assert.is((await directory.read(`/Users/${id}`)).active, false);
});

requests('Known issues: operations in capitals and in lower case', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'capitals');

  for (const [add, replace, remove] of [
    ['Add', 'Replace', 'Remove'],
    ['add', 'replace', 'remove'],
    ['ADD', 'REPLACE', 'REMOVE'],
  ] as const) {
    const added = await change(directory, path, { op: add, path: 'nickName', value: 'Bea' });
    const replaced = await change(directory, path, { op: replace, path: 'nickName', value: 'Beatrice' });
    const removed = await change(directory, path, { op: remove, path: 'nickName' });

    assert.equal([added.nickName, replaced.nickName], ['Bea', 'Beatrice'], add);
    assert.not('nickName' in removed, remove);
  }
});

requests('Known issues: several attributes with paths, or in one value without a path', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'several');
  const email = (name: string) => directory.address(name);

  const withPaths = await change(
    directory,
    path,
    { op: 'Replace', path: 'displayName', value: 'Several' },
    { op: 'Replace', path: 'emails[type eq "work"].value', value: email('several.1') },
    { op: 'Replace', path: 'name.givenName', value: 'Given' },
    { op: 'Replace', path: 'name.familyName', value: 'Family' },
    { op: 'Replace', path: 'externalId', value: '4711' },
    { op: 'Replace', path: `${ENTERPRISE}:employeeNumber`, value: '4711' },
  );
  assertHas(withPaths, {
    displayName: 'Several',
    emails: [{ type: 'work', value: email('several.1') }],
    name: { givenName: 'Given', familyName: 'Family' },
    externalId: '4711',
    [ENTERPRISE]: { employeeNumber: '4711' },
  });

  const withoutPath = await change(
    directory,
    path,
    { op: 'replace', path: 'emails[type eq "work"].value', value: email('several.2') },
    {
      op: 'replace',
      value: {
        displayName: 'Several again',
        'name.givenName': 'Given again',
        'name.familyName': 'Family again',
        [`${ENTERPRISE}:employeeNumber`]: '4712',
      },
    },
  );
  assertHas(withoutPath, {
    displayName: 'Several again',
    emails: [{ type: 'work', value: email('several.2') }],
    name: { givenName: 'Given again', familyName: 'Family again' },
    externalId: '4711',
    [ENTERPRISE]: { employeeNumber: '4712' },
  });
  assert.equal(
    Object.keys(withoutPath).filter((name) => /[.[]|:employeeNumber/.test(name) && name !== ENTERPRISE),
    [],
  );
});

requests('a sub-attribute of an element that is missing creates one element', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'missing', {
    userName: directory.address('missing'),
    emails: undefined,
    phoneNumbers: [{ type: 'work', value: '1' }],
  });
  const value = directory.address('missing.work');

  const read = await change(
    directory,
    path,
    { op: 'Add', path: 'emails[type eq "work"].value', value },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '2' },
    { op: 'Replace', path: 'phoneNumbers[type eq "fax"].value', value: '3' },
    { op: 'Add', path: 'addresses[type eq "work"].formatted', value: 'Room 7' },
    { op: 'Add', path: 'addresses[type eq "work"].locality', value: 'Lisbon' },
    { op: 'Add', path: 'addresses[type eq "work"].country', value: 'US' },
  );

  assertHas(read, {
    emails: [{ type: 'work', value }],
    phoneNumbers: [
      { type: 'work', value: '1' },
      { type: 'mobile', value: '2' },
      { type: 'fax', value: '3' },
    ],
    addresses: [{ type: 'work', formatted: 'Room 7', locality: 'Lisbon', country: 'US' }],
  });
  assert.equal([read.emails.length, read.phoneNumbers.length, read.addresses.length], [1, 3, 1]);
});

requests('emails of several types: the primary mark moves, and only one has it', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'marks');
  const [work, home, other] = ['work.new', 'home.new', 'other.new'].map(directory.address);

  const read = await change(
    directory,
    path,
    { op: 'replace', path: 'emails[type eq "work"].value', value: work },
    { op: 'add', path: 'emails[type eq "home"].value', value: home },
    { op: 'add', path: 'emails[type eq "other"].value', value: other },
    { op: 'replace', path: 'emails[type eq "work"].display', value: 'Work' },
    { op: 'replace', path: 'emails[type eq "home"].display', value: 'Home' },
    { op: 'add', path: 'emails[type eq "work"].primary', value: false },
    { op: 'replace', path: 'emails[type eq "home"].primary', value: true },
  );

  assertHas(read, {
    emails: [
      { type: 'work', value: work, display: 'Work' },
      { type: 'home', value: home, display: 'Home', primary: true },
      { type: 'other', value: other },
    ],
  });
  assert.is(read.emails.length, 3);
  const again = await change(directory, path, {
    op: 'add',
    path: 'emails[type eq "other"].primary',
    value: true,
  });
  for (const [{ emails }, value] of [
    [read, home],
    [again, other],
  ] as const)
    assert.equal(
      emails.filter((email: { primary?: boolean }) => email.primary).map((email: Body) => email.value),
      [value],
    );
});

requests('a list is replaced as a whole, and a value that is named is removed', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, path } = await addUser(directory, 'lists', {
    phoneNumbers: [
      { type: 'work', value: '1' },
      { type: 'mobile', value: '2' },
    ],
  });
  const value = directory.address('updated');

  const replaced = await change(directory, path, {
    op: 'replace',
    path: 'emails',
    value: [{ type: 'work', value, primary: true }],
  });
  assert.equal(replaced.emails, [{ type: 'work', value, primary: true }]);

  const removed = await change(
    directory,
    path,
    { op: 'Remove', path: 'emails[type eq "work"].value', value: directory.address('another') },
    { op: 'Remove', path: 'phoneNumbers[type eq "work"]' },
  );
  assert.not(JSON.stringify(removed.emails ?? []).includes('@'));
  assert.equal(removed.phoneNumbers, [{ type: 'mobile', value: '2' }]);
  assert.is(removed.userName, user.userName);
});

requests('without a path: objects change the attributes that they name, and no others', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'objects', {
    [ENTERPRISE]: { department: 'Retail', costCenter: '4711' },
  });

  const read = await change(directory, path, {
    op: 'replace',
    value: { name: { familyName: 'Changed' }, [ENTERPRISE]: { department: 'Sales' } },
  });

  assertHas(read, {
    name: { familyName: 'Changed', givenName: 'givenName' },
    [ENTERPRISE]: { department: 'Sales', costCenter: '4711' },
  });
});

requests('attributes of the enterprise extension as paths; the manager as a text', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'extended');
  const { id: manager } = await addUser(directory, 'manager');

  const added = await change(
    directory,
    path,
    { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Retail' },
    { op: 'Add', path: `${ENTERPRISE}:manager`, value: manager },
  );
  assert.is(added[ENTERPRISE].department, 'Retail');
  assert.is(added[ENTERPRISE].manager.value, manager);
  assert.ok(added.schemas.includes(ENTERPRISE));

  const replaced = await change(
    directory,
    path,
    { op: 'Replace', path: `${ENTERPRISE}:department`, value: 'Sales' },
    { op: 'Replace', path: `${ENTERPRISE}:manager`, value: 'another-manager' },
  );
  assert.is(replaced[ENTERPRISE].department, 'Sales');
  assert.is(replaced[ENTERPRISE].manager.value, 'another-manager');

  const removed = await change(directory, path, { op: 'Remove', path: `${ENTERPRISE}:manager` });
  assert.not('manager' in removed[ENTERPRISE]);
  assert.is(removed[ENTERPRISE].department, 'Sales');
});

requests('paths that name the schema of users', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'qualified');

  const read = await change(
    directory,
    path,
    { op: 'Replace', path: `${USER}:displayName`, value: 'Qualified' },
    { op: 'Replace', path: `${USER}:name.givenName`, value: 'Qwen' },
    { op: 'Add', path: `${USER}:phoneNumbers[type eq "mobile"].value`, value: '2' },
  );

  assertHas(read, {
    displayName: 'Qualified',
    name: { givenName: 'Qwen' },
    phoneNumbers: [{ type: 'mobile', value: '2' }],
  });
  assert.equal(await found(directory, '/Users', `${USER}:displayName eq "Qualified"`), [read.id]);
});

requests('SingleAppRoleAssignment: a role by roles[primary eq "True"]', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'role', { roles: undefined });
  const operation = { path: 'roles[primary eq "True"].value' };

  const added = await change(directory, path, { op: 'Add', ...operation, value: 'Admin' });
  const replaced = await change(directory, path, { op: 'Replace', ...operation, value: 'Reader' });

  assertHas(added, { roles: [{ primary: true, value: 'Admin' }] });
  assertHas(replaced, { roles: [{ primary: true, value: 'Reader' }] });
  assert.is(replaced.roles.length, 1);
  const { id } = await directory.createUser({
    userName: directory.address('role.text'),
    roles: [{ primary: 'True', type: 'WindowsAzureActiveDirectoryRole', value: 'Admin' }],
  });
  assert.is((await directory.read(`/Users/${id}`)).roles[0].primary, true);
});

requests('AppRoleAssignmentsComplex: roles are added as texts of JSON', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'complex');
  const values = ['DocumentMgmt-Admin', 'Admin'].map((value) => JSON.stringify({ id: randomUUID(), value }));

  const read = await change(directory, path, {
    op: 'Add',
    path: 'roles',
    value: values.map((value) => ({ value })),
  });

  assertHas(read, { roles: values.map((value) => ({ value })) });
  assert.is(read.roles.length, 2);
});

requests('Provision a user: attributes without a value are null, also unknown ones', async ({ app }) => {
  const directory = await connectDirectory(app);
  const user = {
    schemas: [USER, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0User'],
    externalId: 'joyce',
    userName: directory.address('joyce'),
    active: true,
    addresses: null,
    displayName: 'Joyce Young',
    emails: [{ type: 'work', value: directory.address('joyce.work'), primary: true }],
    meta: { resourceType: 'User' },
    name: { familyName: 'Young', givenName: 'Joyce' },
    phoneNumbers: null,
    preferredLanguage: null,
    title: null,
    department: null,
    manager: null,
  };

  const { status, body } = await directory.request('POST', '/Users', user);

  assert.is(status, 201, JSON.stringify(body));
  assertHas(body, { externalId: 'joyce', displayName: 'Joyce Young', emails: user.emails, name: user.name });
  for (const name of ['addresses', 'phoneNumbers', 'preferredLanguage', 'title', 'department', 'manager'])
    assert.not(name in body, name);
});

requests('Query the value of a reference attribute: id and manager, id and members', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id: manager } = await addUser(directory, 'manager');
  const { id } = await addUser(directory, 'managed', { [ENTERPRISE]: { manager: { value: manager } } });
  const group = (await addGroup(directory, 'Referenced', [id])).slice('/Groups/'.length);

  for (const name of [`${ENTERPRISE}:manager`, `${ENTERPRISE}:manager.value`]) {
    assert.equal(await found(directory, '/Users', `id eq "${id}" and ${name} eq "${manager}"`), [id], name);
    assert.equal(await found(directory, '/Users', `${name} eq "${id}" and id eq "${id}"`), [], name);
  }
  for (const name of ['members', 'members.value']) {
    const query = { filter: `id eq "${group}" and ${name} eq "${id}"`, excludedAttributes: 'members' };
    const { totalResults, Resources } = await directory.list('/Groups', query);
    assert.equal([totalResults, Resources[0]?.id], [1, group], name);
    assert.not('members' in Resources[0], name);
    assert.equal(await found(directory, '/Groups', `id eq "${group}" and ${name} eq "${manager}"`), [], name);
  }
  assert.equal(await found(directory, '/Groups', `members[value eq "${id}"]`), [group]);
});

requests('Request to update a user: the manager as a list, without its schema', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id: manager } = await addUser(directory, 'manager');
  const { id, path } = await addUser(directory, 'managed');
  const $ref = `http://localhost:8000/scim/v2/${directory.client}/Users/${manager}`;

  const read = await change(directory, path, {
    op: 'Add',
    path: 'manager',
    value: [{ $ref, value: manager }],
  });

  assert.is(read[ENTERPRISE]?.manager?.value, manager);
  assert.equal(await found(directory, '/Users', `id eq "${id}" and manager eq "${manager}"`), [id]);
});

requests(
  'filters of the tutorial and of the Postman collection have values without quotes',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { id } = await addUser(directory, 'obrian', { externalId: 'joyce', userName: 'OBrian' });

    for (const filter of [
      'externalId eq joyce',
      'userName sw O',
      `name.FamilyName eq familyName and (emails.Value co ${directory.domain} or emails.Value co example.org)`,
      'meta.Created gt 2015-10-10T14:38:21.8617979-07:00',
    ])
      assert.equal(await found(directory, '/Users', filter), [id], filter);
  },
);

requests('filters of the Postman collection, with quotes and in any case', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { id } = await addUser(directory, 'obrian', { userName: 'OBrian', displayName: 'Shown' });
  const { id: other } = await addUser(directory, 'emp', {
    name: { familyName: 'Employee', givenName: 'Dana' },
  });

  for (const [filter, ids] of [
    ['DisplayName eq "Shown"', [id]],
    ['userName sw "O"', [id]],
    [`name.FamilyName eq "Employee" and (emails.Value co "${directory.domain}" or userName eq "x")`, [other]],
    ['meta.Created gt "2015-10-10T14:38:21.8617979-07:00"', [id, other].sort()],
    ['meta.created gt "2999-10-10T14:38:21Z"', []],
    ['USERNAME EQ "obrian" AND ACTIVE EQ true', [id]],
  ] as const)
    assert.equal((await found(directory, '/Users', filter)).sort(), ids, filter);
});

requests('a slash at the end of a path, and the flag that a tenant has in its URL', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, id } = await addUser(directory, 'slash');
  const filter = `filter=userName+eq+%22${encodeURIComponent(user.userName)}%22`;

  for (const path of [
    `/Users/?${filter}`,
    `/Users?aadOptscim062020&${filter}`,
    `/Users?${filter}&aadOptscim062020`,
  ]) {
    const { totalResults, Resources } = await directory.read(path);

    assert.equal([totalResults, Resources[0]?.id], [1, id], path);
  }
});

requests('Get User Attributes: only these, and those that are always returned', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, id } = await addUser(directory, 'attributes');

  const { totalResults, Resources } = await directory.list('/Users', { attributes: 'userName,emails' });

  assert.is(totalResults, 1);
  assertHas(Resources[0], { id, userName: user.userName, emails: user.emails });
  assert.equal(Object.keys(Resources[0]).sort(), ['emails', 'id', 'schemas', 'userName']);
});

requests('Postman: the names of attributes are in any case', async ({ app }) => {
  const directory = await connectDirectory(app);
  const email = directory.address('bob');

  const { status, body } = await directory.request('POST', '/Users', {
    schemas: [ENTERPRISE, USER],
    UserName: 'UserName1',
    Active: true,
    DisplayName: 'Shown too',
    name: { formatted: 'Anna Rey', FamilyName: 'Rey', GivenName: 'Anna' },
    emails: [
      { Primary: true, type: 'work', value: email },
      { Primary: false, type: 'home', value: directory.address('bob.home') },
    ],
    [ENTERPRISE]: { Department: 'bob', Manager: { Value: 'manager-1' } },
  });

  assert.is(status, 201, JSON.stringify(body));
  assertHas(body, {
    userName: 'UserName1',
    active: true,
    displayName: 'Shown too',
    name: { familyName: 'Rey', givenName: 'Anna' },
    emails: [{ primary: true, type: 'work', value: email }],
    [ENTERPRISE]: { department: 'bob', manager: { value: 'manager-1' } },
  });
});

requests('Postman: no userName and junk are 400, also in a replacement', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { user, path } = await addUser(directory, 'obrian');
  const { userName, ...nameless } = user;

  assertRefused(await directory.request('POST', '/Users', nameless), 400, 'invalidValue');
  assertRefused(
    await directory.request('POST', '/Users', '{ "acve": tre, "emails": [ {'),
    400,
    'invalidSyntax',
  );
  assertRefused(
    await directory.request('PUT', path, { ...nameless, userame: userName }),
    400,
    'invalidValue',
  );
  assert.is((await directory.list('/Users')).totalResults, 1);
  assert.is((await directory.read(path)).userName, userName);
});

requests(
  'Postman: a replacement ignores attributes with a wrong name, and drops the others',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const { user, path } = await addUser(directory, 'obrian', {
      addresses: [{ type: 'work', country: 'Bermuda' }],
    });

    const misspelled = await directory.request('PUT', path, {
      ...user,
      addresses: undefined,
      adreses: [{ type: 'work', country: 'Germany' }],
    });
    const replaced = await directory.request('PUT', path, {
      ...user,
      active: false,
      addresses: [{ type: 'work', country: 'Germany' }],
    });

    assert.is(misspelled.status, 200);
    assert.not('addresses' in misspelled.body);
    assert.not(JSON.stringify(misspelled.body).includes('Germany'));
    assert.is(replaced.status, 200);
    assertHas(replaced.body, { active: false, addresses: [{ type: 'work', country: 'Germany' }] });
  },
);

requests('Postman: /ResourceTypes, /ServiceProviderConfig and empty lists', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { Resources } = await directory.read('/ResourceTypes');

  assert.equal(
    Resources.map(({ endpoint, schema }: Record<string, string>) => [endpoint, schema]),
    [
      ['/Users', USER],
      ['/Groups', GROUP],
    ],
  );
  assert.is((await directory.read('/ServiceProviderConfig')).patch.supported, true);
  for (const path of ['/Users', '/Groups']) assert.equal((await directory.list(path)).Resources, [], path);
});

requests(
  'Create Group with the schema of Active Directory and without members, Get Group',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const externalId = 'external group';

    const { status, body } = await directory.request('POST', '/Groups', {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId,
      displayName: 'displayName',
      meta: { resourceType: 'Group' },
    });
    const read = await directory.read(`/Groups/${body.id}?excludedAttributes=members`);

    assert.is(status, 201, JSON.stringify(body));
    assertHas(body, { externalId, displayName: 'displayName', meta: { resourceType: 'Group' } });
    assert.equal(memberIds(body), []);
    assertHas(read, { id: body.id, externalId, displayName: 'displayName' });
    assert.not('members' in read);
  },
);

requests('Get Group by displayName, Update Group [Non-member attributes], Delete Group', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [member = ''] = await addUsers(directory, 1);
  const path = await addGroup(directory, 'displayName', [member]);
  const named = (name: string) =>
    directory.list('/Groups', { excludedAttributes: 'members', filter: `displayName eq "${name}"` });

  const { totalResults, Resources } = await named('displayName');
  assert.equal([totalResults, Resources[0].displayName], [1, 'displayName']);
  assert.not('members' in Resources[0]);

  const value = 'updatedDisplayName';
  const read = await change(
    directory,
    path,
    { op: 'Replace', path: 'displayName', value },
    { op: 'Add', path: 'externalId', value: 'external-updated' },
  );
  assert.equal([read.displayName, read.externalId, memberIds(read)], [value, 'external-updated', [member]]);
  assert.is((await named('displayName')).totalResults, 0);
  assert.is((await named(value)).totalResults, 1);

  assert.is((await directory.request('DELETE', path)).status, 204);
  assertRefused(await directory.request('GET', path), 404);
});

requests('long names: 100 characters of a group', async ({ app }) => {
  const directory = await connectDirectory(app);
  const displayName = 'All people of the branch office-'.repeat(8).slice(0, 100);
  const { id } = await addUser(directory, 'long', { displayName });

  const { status, body } = await directory.request('POST', '/Groups', { schemas: [GROUP], displayName });

  assert.is(displayName.length, 100);
  assert.is(status, 201, JSON.stringify(body));
  assert.is(body.displayName, displayName);
  assert.equal(await found(directory, '/Groups', `displayName eq "${displayName}"`), [body.id]);
  assert.is((await directory.read(`/Users/${id}`)).displayName, displayName);
});

requests('Update Group [Add Members] and [Remove Members] with a list of values', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [ada = '', bob = '', eve = ''] = await addUsers(directory, 3);
  const path = await addGroup(directory, 'members');
  const members = (op: string, ...ids: string[]) =>
    change(directory, path, { op, path: 'members', value: ids.map((value) => ({ $ref: null, value })) });

  assert.equal(memberIds(await members('Add', ada)), [ada]);
  assert.equal(memberIds(await members('Add', bob, eve)), [ada, bob, eve]);
  assert.equal(memberIds(await members('Add', bob)), [ada, bob, eve]);
  assert.equal(memberIds(await members('Remove', bob)), [ada, eve]);
  assert.equal(memberIds(await members('Remove', bob)), [ada, eve]);
  assert.equal(memberIds(await members('Remove', ada, eve)), []);
});

requests('members are added in pages, and in several operations of a request', async ({ app }) => {
  const directory = await connectDirectory(app);
  const ids = await addUsers(directory, 25);
  const path = await addGroup(directory, 'pages');
  const operation = (op: string, page: string[]) => ({
    op,
    path: 'members',
    value: page.map((value) => ({ value })),
  });

  await change(directory, path, operation('Add', ids.slice(0, 10)));
  await change(directory, path, operation('Add', ids.slice(10, 20)));
  const all = await change(directory, path, ...ids.slice(20).map((id) => operation('Add', [id])));
  assert.equal(memberIds(all), ids);

  const some = await change(
    directory,
    path,
    operation('Remove', ids.slice(0, 2)),
    ...ids.slice(2, 4).map((id) => ({ op: 'remove', path: `members[value eq "${id}"]` })),
    operation('Add', ids.slice(0, 1)),
  );
  assert.equal(memberIds(some), [ids[0], ...ids.slice(4)].sort());
});

requests(
  'Postman: members with further attributes, a replacement, and the removal of all',
  async ({ app }) => {
    const directory = await connectDirectory(app);
    const [ada = '', bob = ''] = await addUsers(directory, 2);
    const path = await addGroup(directory, 'Group1DisplayName');

    const added = await change(directory, path, {
      name: 'addMember',
      op: 'add',
      path: 'members',
      value: [{ displayName: 'new User', value: bob }],
    });
    assert.equal(memberIds(added), [bob]);

    const replaced = await directory.request('PUT', path, {
      schemas: [GROUP],
      id: path.slice('/Groups/'.length),
      displayName: 'putName',
      members: [
        { value: ada, display: 'VP' },
        { value: bob, display: 'SeniorVP' },
      ],
    });
    assert.is(replaced.status, 200);
    assert.equal([replaced.body.displayName, memberIds(replaced.body)], ['putName', [ada, bob]]);

    assert.equal(memberIds(await change(directory, path, { op: 'remove', path: 'members' })), []);
  },
);

inEachSetting('the groups of a user follow the members of groups', async (directory) => {
  const [ada = '', bob = '', eve = ''] = await addUsers(directory, 3);
  const path = await addGroup(directory, 'Engineers', [ada, bob, eve]);
  const id = path.slice('/Groups/'.length);
  const groupsOf = async (user: string) => {
    const { groups = [] } = await directory.read(`/Users/${user}`);
    return groups.map(({ value, display }: Record<string, string>) => [value, display]);
  };

  assert.equal(await groupsOf(ada), [[id, 'Engineers']]);
  await change(directory, path, { op: 'Remove', path: 'members', value: [{ value: ada }] });
  assert.equal(await groupsOf(ada), []);

  assert.is((await directory.request('DELETE', `/Users/${bob}`)).status, 204);
  assert.equal(memberIds(await directory.read(path)), [eve]);
  assert.equal(await groupsOf(eve), [[id, 'Engineers']]);

  assert.is((await directory.request('DELETE', path)).status, 204);
  assert.equal(await groupsOf(eve), []);
});

type SchemaAttribute = {
  name: string;
  type: string;
  multiValued?: boolean;
  subAttributes?: (SchemaAttribute & { canonicalValues?: string[] })[];
};

/** The paths that Entra finds in the attributes of a schema, by the rules of its Schema_Discoverability_Test. */
const pathsOf = ({ name, type, multiValued, subAttributes = [] }: SchemaAttribute): string[] => {
  if (name === 'members' || name === 'manager') return [name];
  if (type !== 'complex') return type === 'reference' ? [] : [name];
  const parts = subAttributes.map((part) => part.name).filter((part) => part !== 'primary');
  if (!multiValued) return parts.map((part) => `${name}.${part}`);
  const types = subAttributes.find((part) => part.name === 'type')?.canonicalValues ?? [];
  return types.length
    ? types.flatMap((value) => parts.map((part) => `${name}[type eq "${value}"].${part}`))
    : parts.map((part) => `${name}[primary eq "True"].${part}`);
};

requests('Schema_Discoverability_Test: /Schemas has what Entra maps by default', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { schemas, totalResults, Resources } = await directory.read('/Schemas');
  const pathsIn = (id: string): string[] =>
    (Resources.find((schema: { id: string }) => schema.id === id)?.attributes ?? []).flatMap(pathsOf);
  const lacking = (id: string, paths: string[]) => paths.filter((path) => !pathsIn(id).includes(path));
  const work = (list: string, ...parts: string[]) => parts.map((part) => `${list}[type eq "work"].${part}`);

  assert.equal(schemas, [LIST_RESPONSE]);
  assert.is(totalResults, Resources.length);
  assert.not(JSON.stringify(Resources).includes(':null'));
  assert.equal(
    [
      ...lacking(USER, [
        ...['userName', 'active', 'displayName', 'title', 'preferredLanguage', 'externalId'],
        ...['name.givenName', 'name.familyName', 'name.formatted'],
        ...work('emails', 'value'),
        ...work('addresses', 'formatted', 'streetAddress', 'locality', 'region', 'postalCode', 'country'),
        ...['work', 'mobile', 'fax'].map((type) => `phoneNumbers[type eq "${type}"].value`),
        'roles[primary eq "True"].value',
      ]),
      ...lacking(ENTERPRISE, ['employeeNumber', 'department', 'manager']),
      ...lacking(GROUP, ['displayName', 'externalId', 'members']),
    ],
    [],
  );
});

requests('Discover schema: each schema by its id, and its properties in camel case', async ({ app }) => {
  const directory = await connectDirectory(app);

  for (const id of [USER, GROUP, ENTERPRISE]) {
    const { attributes, ...schema } = await directory.read(`/Schemas/${id}`);
    const mutabilities = attributes.map(({ mutability }: Record<string, string>) => mutability);

    assert.is(schema.id, id);
    assert.ok(mutabilities.includes('readWrite'), id);
    const known = ['readWrite', 'readOnly', 'immutable', 'writeOnly'];
    assert.ok(
      mutabilities.every((mutability: string) => known.includes(mutability)),
      id,
    );
  }
  assertRefused(await directory.request('GET', '/Schemas/urn:ietf:params:scim:schemas:core:2.0:Other'), 404);
});

requests('SCIM_Null_Update_Test: empty texts and null remove optional attributes', async ({ app }) => {
  const directory = await connectDirectory(app);
  const filled = { displayName: 'Filled', title: 'Filled', nickName: 'Filled' };
  const { user, path } = await addUser(directory, 'null', {
    ...filled,
    phoneNumbers: [{ type: 'mobile', value: '1' }],
    addresses: [{ type: 'work', formatted: 'Filled' }],
    [ENTERPRISE]: { department: 'Filled' },
  });
  const names = [
    ...Object.keys(filled),
    'name.givenName',
    'emails[type eq "work"].value',
    'phoneNumbers[type eq "mobile"].value',
    'addresses[type eq "work"].formatted',
    `${ENTERPRISE}:department`,
  ];

  for (const value of ['', null]) {
    const read = await change(
      directory,
      path,
      ...names.map((name) => ({ op: 'replace', path: name, value })),
    );

    const left = [
      ...[read.displayName, read.title, read.nickName, read.name?.givenName],
      ...[read.emails?.[0]?.value, read.phoneNumbers?.[0]?.value, read.addresses?.[0]?.formatted],
      read[ENTERPRISE]?.department,
    ];
    assert.equal(left.filter(Boolean), [], String(value));
    assert.equal([read.userName, read.name.familyName, read.active], [user.userName, 'familyName', true]);
  }
  const { path: other } = await addUser(directory, 'other', filled);
  const read = await change(directory, other, { op: 'replace', value: { title: null, nickName: '' } });
  assert.equal([read.displayName, read.title, read.nickName].filter(Boolean), ['Filled']);
});

requests('empty values and removals of what a user does not have change nothing', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { path } = await addUser(directory, 'lacking', { phoneNumbers: [{ type: 'work', value: '1' }] });
  const before = await directory.read(path);

  for (const name of [
    'nickName',
    'name.middleName',
    'phoneNumbers[type eq "fax"].value',
    'addresses[type eq "work"].country',
    `${ENTERPRISE}:department`,
    `${ENTERPRISE}:manager`,
  ])
    for (const operation of [
      { op: 'Replace', value: '' },
      { op: 'Replace', value: null },
      { op: 'Remove' },
    ]) {
      const after = await change(directory, path, { ...operation, path: name });

      assert.equal({ ...after, meta: before.meta }, before, name);
    }
});

requests('SCIM_Update_Manager_Test: set, change, and remove with an empty value', async ({ app }) => {
  const directory = await connectDirectory(app);
  const [first = '', second = '', third = ''] = await addUsers(directory, 3);
  const path = `/Users/${third}`;
  const manager = async (op: string, value: string) =>
    (await change(directory, path, { op, path: `${ENTERPRISE}:manager`, value }))[ENTERPRISE]?.manager
      ?.value ?? '';

  assert.is(await manager('Add', first), first);
  assert.is(await manager('Replace', second), second);
  assert.is(await manager('Replace', ''), '');
});

requests('SCIM_User_Pagination_Test and SCIM_Group_Pagination_Test', async ({ app }) => {
  const directory = await connectDirectory(app);
  await addUsers(directory, 11);
  for (let index = 0; index < 11; index += 1) await addGroup(directory, `Group ${index}`);

  for (const path of ['/Users', '/Groups']) {
    const seen: string[] = [];
    for (const [startIndex, length] of [
      [1, 5],
      [6, 5],
      [11, 1],
      [16, 0],
    ] as const) {
      const page = await directory.list(path, { startIndex: String(startIndex), count: '5' });

      assert.equal([page.totalResults, page.startIndex, page.itemsPerPage], [11, startIndex, length], path);
      assert.is(page.Resources.length, length, path);
      seen.push(...page.Resources.map(({ id }: { id: string }) => id));
    }
    assert.is(new Set(seen).size, 11, path);
  }
});

requests.run();
