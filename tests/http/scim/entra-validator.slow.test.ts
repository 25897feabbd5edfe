import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import {
  assertChanged,
  assertHas,
  assertRefused,
  type Body,
  type Directory,
  ENTERPRISE,
  GROUP,
  inEachSettingOf,
  LIST_RESPONSE,
  memberIds,
  USER,
} from '../../support/directory.ts';
import { appSuite } from '../../support/test-app.ts';

/**
 * The cases of the SCIM Validator of Microsoft Entra ID, by their names, with requests as it sends them: its required tests, and those that
 * it marks as a preview. Like the validator, each case starts with resources of its own.
 */
const validator = appSuite('the SCIM Validator of Microsoft Entra ID');

const inEachSetting = inEachSettingOf(validator);

/** All attributes that the validator fills. Texts are of no format, and one boolean is a text. */
const newUser = (directory: Directory, name: string) => ({
  schemas: [USER, ENTERPRISE],
  externalId: randomUUID(),
  userName: directory.address(name),
  active: true,
  displayName: 'displayName 1',
  title: 'title 1',
  emails: [{ type: 'work', value: directory.address(`${name}.work`), primary: true }],
  preferredLanguage: 'pt-PT',
  name: {
    givenName: 'Grete',
    familyName: 'Hermann',
    formatted: 'Formatted',
    middleName: 'Maria',
    honorificPrefix: 'Dr.',
    honorificSuffix: 'Jr.',
  },
  addresses: [
    {
      type: 'work',
      formatted: 'formatted 1',
      streetAddress: '1 First Street',
      locality: 'locality 1',
      region: 'region 1',
      postalCode: 'AB1 2CD',
      primary: true,
      country: 'Portugal',
    },
  ],
  phoneNumbers: [
    { type: 'work', value: '555-0100', primary: true },
    { type: 'mobile', value: '555-0101' },
    { type: 'fax', value: '555-0102' },
  ],
  [ENTERPRISE]: {
    employeeNumber: 'employeeNumber 1',
    department: 'department 1',
    costCenter: 'costCenter 1',
    organization: 'organization 1',
    division: 'division 1',
    manager: { value: 'value 1' },
  },
  roles: [{ primary: 'True', display: 'display 1', value: 'value 2', type: 'type 1' }],
  userType: 'userType 1',
  nickName: 'nickName 1',
  locale: 'locale 1',
  timezone: 'Europe/Lisbon',
  profileUrl: 'profileUrl 1',
});

/** As the service returns the user: the validator fails if a boolean is a text. */
const returned = (user: ReturnType<typeof newUser>): Body => ({
  ...user,
  roles: user.roles.map((role) => ({ ...role, primary: true })),
});

const newGroup = (displayName: string) => ({ schemas: [GROUP], displayName, externalId: randomUUID() });

const quoted = (attribute: string, value: string) => ({ filter: `${attribute} eq "${value}"` });

const addUser = async (directory: Directory, name: string) => {
  const user = newUser(directory, name);
  return { user, id: (await directory.createUser(user)).id };
};

const addGroup = async (directory: Directory, displayName: string, members: string[] = []) => {
  const group = newGroup(displayName);
  const { id } = await directory.createGroup(group);
  const value = members.map((member) => ({ value: member }));
  if (members.length)
    assertChanged(await directory.patch(`/Groups/${id}`, { op: 'replace', path: 'members', value }));
  return { group, id, path: `/Groups/${id}` };
};

/** Changes a user, and reads it by its id and by its name, as the validator does after each change. */
const changeUser = async (directory: Directory, id: string, userName: string, ...operations: Body[]) => {
  assertChanged(await directory.patch(`/Users/${id}`, ...operations));
  const read = await directory.read(`/Users/${id}`);
  const { Resources } = await directory.list('/Users', quoted('userName', userName));
  assert.equal(Resources, [read]);
  return read;
};

inEachSetting('POST /Users - Create a new User', async (directory) => {
  const user = newUser(directory, 'grete');

  const { status, headers, body } = await directory.request('POST', '/Users', user);

  assert.is(status, 201);
  assert.ok(typeof body.id === 'string' && body.id !== '', body.id);
  assert.is(body.meta.resourceType, 'User');
  assert.match(String(headers.location), `/scim/v2/${directory.client}/Users/${body.id}`);
  assert.is(headers.location, body.meta.location);
  assertHas(body, returned(user));
  assertHas(await directory.read(`/Users/${body.id}`), returned(user));
});

inEachSetting('POST /Users - Create a duplicate User', async (directory) => {
  const { user } = await addUser(directory, 'grete');
  const others = newUser(directory, 'another');

  assertRefused(await directory.request('POST', '/Users', user), 409, 'uniqueness');
  assertRefused(
    await directory.request('POST', '/Users', { ...others, userName: user.userName }),
    409,
    'uniqueness',
  );
  assert.is((await directory.list('/Users')).totalResults, 1);
});

inEachSetting('GET /Users - Filter for an existing user', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');
  await addUser(directory, 'hilda');
  const [email] = user.emails;

  for (const filter of [
    quoted('userName', user.userName),
    quoted('externalId', user.externalId),
    quoted('emails[type eq "work"].value', email?.value ?? ''),
  ]) {
    const { totalResults, startIndex, itemsPerPage, Resources } = await directory.list('/Users', filter);

    assert.equal([totalResults, startIndex, itemsPerPage], [1, 1, 1], filter.filter);
    assert.is(Resources[0].id, id, filter.filter);
    assertHas(Resources[0], returned(user));
  }
});

inEachSetting('GET /Users - Filter for a non-existing user', async (directory) => {
  await addUser(directory, 'grete');

  const { totalResults, Resources } = await directory.list('/Users', quoted('userName', randomUUID()));

  assert.equal([totalResults, Resources], [0, []]);
});

inEachSetting('GET /Users - Filter for an existing user with a different case', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');

  const found = await directory.list('/Users', quoted('userName', user.userName.toUpperCase()));

  assert.is(found.totalResults, 1);
  assert.is(found.Resources[0].id, id);
  assert.is(found.Resources[0].userName, user.userName);
});

inEachSetting('PATCH /Users/Id - Patch User - Replace Attributes, by type', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');
  const email = directory.address('grete.new');

  const read = await changeUser(
    directory,
    id,
    user.userName,
    { op: 'replace', path: 'emails[type eq "work"].value', value: email },
    { op: 'replace', path: 'phoneNumbers[type eq "work"].value', value: '555-0110' },
    { op: 'replace', path: 'phoneNumbers[type eq "mobile"].value', value: '555-0111' },
    { op: 'replace', path: 'phoneNumbers[type eq "fax"].value', value: '555-0112' },
    { op: 'replace', path: 'addresses[type eq "work"].streetAddress', value: '2 Second Street' },
    { op: 'replace', path: 'addresses[type eq "work"].locality', value: 'value 3' },
    { op: 'replace', path: 'roles[primary eq "True"].display', value: 'value 4' },
    { op: 'replace', path: 'roles[primary eq "True"].value', value: 'value 5' },
    {
      op: 'replace',
      value: {
        externalId: 'external 2',
        displayName: 'displayName 2',
        title: 'title 2',
        'name.formatted': 'Formatted again',
        'name.familyName': 'Noether',
        'name.givenName': 'Emmy',
        active: true,
        [`${ENTERPRISE}:department`]: 'group 1',
        [`${ENTERPRISE}:employeeNumber`]: 'group 2',
      },
    },
  );

  const [role] = user.roles;
  const [address] = user.addresses;
  assertHas(read, {
    externalId: 'external 2',
    displayName: 'displayName 2',
    title: 'title 2',
    name: { ...user.name, formatted: 'Formatted again', familyName: 'Noether', givenName: 'Emmy' },
    emails: [{ type: 'work', value: email, primary: true }],
    phoneNumbers: [
      { type: 'work', value: '555-0110', primary: true },
      { type: 'mobile', value: '555-0111' },
      { type: 'fax', value: '555-0112' },
    ],
    addresses: [{ ...address, streetAddress: '2 Second Street', locality: 'value 3' }],
    roles: [{ ...role, primary: true, display: 'value 4', value: 'value 5' }],
    [ENTERPRISE]: { ...user[ENTERPRISE], department: 'group 1', employeeNumber: 'group 2' },
    nickName: user.nickName,
  });
  for (const attribute of ['emails', 'addresses', 'roles']) assert.is(read[attribute].length, 1, attribute);
  assert.is(read.phoneNumbers.length, 3);
});

inEachSetting('PATCH /Users/Id - Patch User - Replace Attributes, by the primary mark', async (directory) => {
  const userName = directory.address('olga');
  const { id } = await directory.createUser({
    userName,
    emails: [{ primary: 'true', value: directory.address('olga.primary') }],
    phoneNumbers: [{ primary: 'true', value: '555-0130' }],
    addresses: [{ primary: 'true', formatted: 'formatted 2', locality: 'locality 2', country: 'Norway' }],
  });
  const email = directory.address('olga.new');

  const read = await changeUser(
    directory,
    id,
    userName,
    { op: 'replace', path: 'emails[primary eq true].value', value: email },
    { op: 'replace', path: 'phoneNumbers[primary eq true].value', value: '555-0131' },
    { op: 'replace', path: 'addresses[primary eq true].formatted', value: 'value 6' },
    { op: 'replace', path: 'addresses[primary eq true].country', value: 'Iceland' },
    { op: 'replace', value: { nickName: 'nickName 2', timezone: 'Atlantic/Reykjavik', active: true } },
  );

  assertHas(read, { nickName: 'nickName 2', timezone: 'Atlantic/Reykjavik', active: true });
  assertHas(read, {
    emails: [{ primary: true, value: email }],
    phoneNumbers: [{ primary: true, value: '555-0131' }],
    addresses: [{ primary: true, formatted: 'value 6', locality: 'locality 2', country: 'Iceland' }],
  });
  assert.equal([read.emails.length, read.phoneNumbers.length, read.addresses.length], [1, 1, 1]);
});

/** One operation for each attribute, and what the user has afterwards. */
const verboseRequest = (directory: Directory, op: 'add' | 'replace') => {
  const email = directory.address('emmy.new');
  const single = {
    active: true,
    displayName: 'displayName 3',
    title: 'title 3',
    preferredLanguage: 'is-IS',
    userType: 'userType 2',
    nickName: 'nickName 2',
    locale: 'locale 2',
    timezone: 'Atlantic/Reykjavik',
    profileUrl: 'profileUrl 2',
    externalId: 'external 3',
  };
  const name = {
    givenName: 'Emmy',
    familyName: 'Noether',
    formatted: 'Formatted again',
    middleName: 'Amalie',
    honorificPrefix: 'Prof.',
    honorificSuffix: 'Sr.',
  };
  const address = {
    formatted: 'formatted 3',
    streetAddress: '3 Third Street',
    locality: 'locality 3',
    region: 'region 2',
    postalCode: 'EF3 4GH',
    country: 'Iceland',
  };
  const role = { display: 'display 2', value: 'value 7', type: 'type 2' };
  const enterprise = {
    employeeNumber: 'employeeNumber 2',
    department: 'department 2',
    costCenter: 'costCenter 2',
    organization: 'organization 2',
    division: 'division 2',
  };
  const under = (prefix: string, values: Record<string, Body[string]>): [string, Body[string]][] =>
    Object.entries(values).map(([attribute, value]) => [`${prefix}${attribute}`, value]);
  const values = [
    ...under('', single),
    ...under('name.', name),
    ...under('emails[type eq "work"].', { value: email, primary: true }),
    ...under('addresses[type eq "work"].', { ...address, primary: true }),
    ...under('phoneNumbers[type eq "work"].', { value: '555-0120', primary: true }),
    ...under('phoneNumbers[type eq "mobile"].', { value: '555-0121' }),
    ...under('phoneNumbers[type eq "fax"].', { value: '555-0122' }),
    ...under('roles[primary eq "True"].', role),
    ...under(`${ENTERPRISE}:`, enterprise),
  ];
  return {
    operations: values.map(([path, value]): Body => ({ op, path, value })),
    expected: {
      ...single,
      name,
      emails: [{ type: 'work', value: email, primary: true }],
      addresses: [{ type: 'work', primary: true, ...address }],
      phoneNumbers: [
        { type: 'work', value: '555-0120', primary: true },
        { type: 'mobile', value: '555-0121' },
        { type: 'fax', value: '555-0122' },
      ],
      roles: [{ primary: true, ...role }],
      [ENTERPRISE]: enterprise,
    },
    /** How many elements each list has. */
    lengths: { emails: 1, addresses: 1, phoneNumbers: 3, roles: 1 },
  };
};

const lengthsOf = (user: Record<string, unknown[]>, lists: object) =>
  Object.fromEntries(Object.keys(lists).map((list) => [list, user[list]?.length]));

inEachSetting('PATCH /Users/Id - Patch User - Replace Attributes Verbose Request', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');
  const { operations, expected, lengths } = verboseRequest(directory, 'replace');

  const read = await changeUser(directory, id, user.userName, ...operations);

  assertHas(read, expected);
  assert.equal(lengthsOf(read, lengths), lengths);
  assert.is(read[ENTERPRISE].manager.value, user[ENTERPRISE].manager.value);
});

inEachSetting('PATCH /Users/Id - Patch User - Add Attributes Verbose Request', async (directory) => {
  const userName = directory.address('emmy');
  const { id } = await directory.createUser({ userName });
  const { operations, expected, lengths } = verboseRequest(directory, 'add');

  const read = await changeUser(directory, id, userName, ...operations);

  assertHas(read, expected);
  assert.equal(lengthsOf(read, lengths), lengths);
});

inEachSetting('PATCH /Users/Id - Patch User - Add Attributes', async (directory) => {
  const userName = directory.address('emmy');
  const email = directory.address('emmy.work');
  const { id } = await directory.createUser({ userName });

  const read = await changeUser(
    directory,
    id,
    userName,
    { op: 'add', path: 'emails[type eq "work"].value', value: email },
    {
      op: 'add',
      value: {
        active: true,
        'name.givenName': 'Foo',
        'name.familyName': 'Bar',
        'phoneNumbers[type eq "mobile"].value': '555-0121',
        [`${ENTERPRISE}:department`]: 'department 2',
      },
    },
  );

  assertHas(read, {
    userName,
    active: true,
    name: { givenName: 'Foo', familyName: 'Bar' },
    emails: [{ type: 'work', value: email }],
    phoneNumbers: [{ type: 'mobile', value: '555-0121' }],
    [ENTERPRISE]: { department: 'department 2' },
  });
});

inEachSetting('PATCH /Users/Id - Update User userName', async (directory) => {
  const { user, id } = await addUser(directory, 'sofia');
  const userName = directory.address('sofia.new');

  const read = await changeUser(directory, id, userName, { op: 'replace', value: { userName } });

  assert.is(read.userName, userName);
  assert.is((await directory.list('/Users', quoted('userName', user.userName))).totalResults, 0);
});

inEachSetting('PATCH /Users/Id - Patch User - Disable User', async (directory) => {
  const { user, id } = await addUser(directory, 'maria');

  const read = await changeUser(directory, id, user.userName, {
    op: 'replace',
    path: 'active',
    value: false,
  });

  assert.is(read.active, false);
  assertHas(read, { ...returned(user), active: false });
});

const managerOf = (user: { [ENTERPRISE]?: { manager?: { value?: string } } }) =>
  user[ENTERPRISE]?.manager?.value;

const MANAGER = `${ENTERPRISE}:manager`;

inEachSetting('PATCH /Users/Id - Patch User - Add Manager', async (directory) => {
  for (const [name, value] of [
    ['object', { value: 'manager 8' }],
    ['text', 'manager 8'],
  ] as const) {
    const userName = directory.address(name);
    const { id } = await directory.createUser({ userName });

    const read = await changeUser(directory, id, userName, { op: 'add', path: MANAGER, value });

    assert.is(managerOf(read), 'manager 8', name);
    assert.not(MANAGER in read, name);
  }
});

inEachSetting('PATCH /Users/Id - Patch User - Replace Manager', async (directory) => {
  for (const [name, value] of [
    ['object', { value: 'manager 9' }],
    ['text', 'manager 9'],
  ] as const) {
    const { user, id } = await addUser(directory, name);

    const read = await changeUser(directory, id, user.userName, { op: 'replace', path: MANAGER, value });

    assert.is(managerOf(read), 'manager 9', name);
    assert.is(read[ENTERPRISE].department, user[ENTERPRISE].department, name);
  }
});

inEachSetting('PATCH /Users/Id - Patch User - Remove Manager', async (directory) => {
  for (const [name, operation] of [
    ['object', { op: 'replace', value: { value: '' } }],
    ['text', { op: 'replace', value: '' }],
    ['remove', { op: 'remove' }],
  ] as const) {
    const { user, id } = await addUser(directory, name);

    const read = await changeUser(directory, id, user.userName, { ...operation, path: MANAGER });

    assert.not(managerOf(read), name);
    assert.is(read[ENTERPRISE].department, user[ENTERPRISE].department, name);
  }
});

inEachSetting('DELETE /Users/Id - Delete a User', async (directory) => {
  const { user, id } = await addUser(directory, 'maria');

  const { status, body } = await directory.request('DELETE', `/Users/${id}`);

  assert.equal([status, body], [204, undefined]);
  assertRefused(await directory.request('GET', `/Users/${id}`), 404);
  assert.is((await directory.list('/Users', quoted('userName', user.userName))).totalResults, 0);
});

inEachSetting('preview: Patch User - Multiple Ops on different attributes', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');
  const externalId = 'external 4';

  const read = await changeUser(
    directory,
    id,
    user.userName,
    { op: 'remove', path: 'nickName' },
    { op: 'add', path: 'externalId', value: externalId },
    { op: 'replace', path: 'displayName', value: 'displayName 2' },
  );

  assert.equal([read.externalId, read.displayName], [externalId, 'displayName 2']);
  assert.not('nickName' in read);
  assert.is(read.title, user.title);
});

inEachSetting('preview: Patch User - Multiple Ops on same attribute', async (directory) => {
  const { user, id } = await addUser(directory, 'grete');

  const read = await changeUser(
    directory,
    id,
    user.userName,
    { op: 'remove', path: 'externalId' },
    { op: 'add', path: 'externalId', value: 'the first' },
    { op: 'replace', path: 'externalId', value: 'the last' },
  );

  assert.is(read.externalId, 'the last');
});

inEachSetting('preview: Delete a non-existent User, and the same User twice', async (directory) => {
  const { id } = await addUser(directory, 'maria');

  assertRefused(await directory.request('DELETE', `/Users/${randomUUID()}`), 404);
  assert.is((await directory.request('DELETE', `/Users/${id}`)).status, 204);
  assertRefused(await directory.request('DELETE', `/Users/${id}`), 404);
});

inEachSetting('GET /Groups/Id - Get group by id excluding members', async (directory) => {
  const { id: member } = await addUser(directory, 'edda');
  const { group, id, path } = await addGroup(directory, 'Engineers', [member]);

  const read = await directory.read(`${path}?excludedAttributes=members`);

  assert.is(read.id, id);
  assertHas(read, group);
  assert.not('members' in read);
});

inEachSetting('GET /Groups - Filter for existing group excluding members', async (directory) => {
  const { id: member } = await addUser(directory, 'edda');
  const { group, id } = await addGroup(directory, 'Engineers', [member]);
  await addGroup(directory, 'OPERATORS');

  const { totalResults, Resources } = await directory.list('/Groups', {
    ...quoted('displayName', 'Engineers'),
    excludedAttributes: 'members',
  });

  assert.is(totalResults, 1);
  assert.is(Resources[0].id, id);
  assertHas(Resources[0], group);
  assert.not('members' in Resources[0]);
});

inEachSetting('GET /Groups - Filter for an existing group', async (directory) => {
  const { id: member } = await addUser(directory, 'edda');
  const { group, id } = await addGroup(directory, 'Engineers', [member]);
  await addGroup(directory, 'OPERATORS');

  for (const filter of [quoted('displayName', 'Engineers'), quoted('externalId', group.externalId)]) {
    const { totalResults, Resources } = await directory.list('/Groups', filter);

    assert.is(totalResults, 1, filter.filter);
    assert.is(Resources[0].id, id, filter.filter);
    assertHas(Resources[0], group);
    assert.equal(memberIds(Resources[0]), [member], filter.filter);
  }
});

inEachSetting('GET /Groups - Filter for a non-existing group', async (directory) => {
  await addGroup(directory, 'Engineers');

  const { totalResults, Resources } = await directory.list('/Groups', quoted('displayName', randomUUID()));

  assert.equal([totalResults, Resources], [0, []]);
});

inEachSetting('GET /Groups - Filter for an existing group with a different case', async (directory) => {
  const { id } = await addGroup(directory, 'OPERATORS');

  const { totalResults, Resources } = await directory.list('/Groups', quoted('displayName', 'operators'));

  assert.is(totalResults, 1);
  assert.equal([Resources[0].id, Resources[0].displayName], [id, 'OPERATORS']);
});

inEachSetting('POST /Groups - Create a new Group', async (directory) => {
  const group = newGroup('Analysts');

  const { status, headers, body } = await directory.request('POST', '/Groups', group);

  assert.is(status, 201);
  assert.ok(typeof body.id === 'string' && body.id !== '', body.id);
  assert.is(body.meta.resourceType, 'Group');
  assert.match(String(headers.location), `/scim/v2/${directory.client}/Groups/${body.id}`);
  assert.is(headers.location, body.meta.location);
  assertHas(body, group);
  assert.equal(memberIds(body), []);
  assertHas(await directory.read(`/Groups/${body.id}`), group);
});

inEachSetting('POST /Groups - Create a duplicate Group', async (directory) => {
  const { group } = await addGroup(directory, 'Analysts');

  assertRefused(await directory.request('POST', '/Groups', group), 409, 'uniqueness');
  assertRefused(await directory.request('POST', '/Groups', newGroup('Analysts')), 409, 'uniqueness');
  assert.is((await directory.list('/Groups')).totalResults, 1);
});

inEachSetting('PATCH /Groups/Id - Patch Group - Replace Attributes', async (directory) => {
  const { path } = await addGroup(directory, 'Auditors');
  const externalId = 'external 5';

  assertChanged(await directory.patch(path, { op: 'replace', value: { externalId } }));

  assertHas(await directory.read(path), { externalId, displayName: 'Auditors' });
});

inEachSetting('PATCH /Groups/Id - Update Group displayName', async (directory) => {
  const { group, path } = await addGroup(directory, 'Designers');

  assertChanged(await directory.patch(path, { op: 'replace', value: { displayName: 'Architects' } }));

  assertHas(await directory.read(path), { ...group, displayName: 'Architects' });
  assert.is((await directory.list('/Groups', quoted('displayName', 'Designers'))).totalResults, 0);
  assert.is((await directory.list('/Groups', quoted('displayName', 'Architects'))).totalResults, 1);
});

inEachSetting('PATCH /Groups/Id - Patch Group - Add Member', async (directory) => {
  const { id: member } = await addUser(directory, 'member_ruth');
  const { group, path } = await addGroup(directory, 'Partners');

  assertChanged(await directory.patch(path, { op: 'replace', path: 'members', value: [{ value: member }] }));

  const read = await directory.read(path);
  assert.equal(memberIds(read), [member]);
  assertHas(read, group);
});

inEachSetting('PATCH /Groups/Id - Patch Group - Remove Member', async (directory) => {
  const { id: cleo } = await addUser(directory, 'member_cleo');
  const { id: dora } = await addUser(directory, 'member_dora');
  const { path } = await addGroup(directory, 'Trainers', [cleo, dora]);
  assert.equal(memberIds(await directory.read(path)), [dora, cleo].sort());

  assertChanged(await directory.patch(path, { op: 'remove', path: `members[value eq "${cleo}"]` }));

  assert.equal(memberIds(await directory.read(path)), [dora]);
});

inEachSetting('preview: Patch Group - Multiple Ops on same attribute', async (directory) => {
  const { id: edda } = await addUser(directory, 'member_edda');
  const { id: dora } = await addUser(directory, 'member_dora');
  const { path } = await addGroup(directory, 'Writers', [dora]);

  assertChanged(
    await directory.patch(
      path,
      { op: 'add', path: 'members', value: [{ value: edda }] },
      { op: 'remove', path: `members[value eq "${edda}"]` },
    ),
  );

  assert.equal(memberIds(await directory.read(path)), [dora]);
});

inEachSetting('DELETE /Groups/Id - Delete a Group', async (directory) => {
  const { id: member } = await addUser(directory, 'edda');
  const { path } = await addGroup(directory, 'Engineers', [member]);

  const { status, body } = await directory.request('DELETE', path);

  assert.equal([status, body], [204, undefined]);
  assertRefused(await directory.request('GET', path), 404);
  assert.equal(await directory.list('/Groups'), {
    schemas: [LIST_RESPONSE],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  });
  assert.is((await directory.read(`/Users/${member}`)).active, true);
});

inEachSetting('preview: Delete a non-existent Group, and the same Group twice', async (directory) => {
  const { path } = await addGroup(directory, 'Engineers');

  assertRefused(await directory.request('DELETE', `/Groups/${randomUUID()}`), 404);
  assert.is((await directory.request('DELETE', path)).status, 204);
  assertRefused(await directory.request('DELETE', path), 404);
});

validator.run();
