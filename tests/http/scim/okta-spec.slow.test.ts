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
  PATCH_OP,
  USER,
} from '../../support/directory.ts';
import { appSuite, ROOT } from '../../support/test-app.ts';

/**
 * Okta's published tests, by the names of their steps: "Okta SCIM 2.0 SPEC Test", "Okta SCIM 2.0 CRUD Test" with the requests that Okta
 * sends between its steps, and the requests of its SCIM 2.0 reference.
 */
const okta = appSuite('the SCIM tests of Okta');

const inEachSetting = inEachSettingOf(okta);

/** What the tests of Okta send. */
const HEADERS = {
  'accept-charset': 'utf-8',
  'content-type': 'application/scim+json; charset=utf-8',
  'user-agent': 'OKTA SCIM Integration',
};
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/scim+json; charset=utf-8' };

const newUser = (directory: Directory, name: string) => {
  const email = directory.address(name);
  return {
    schemas: [USER],
    userName: email,
    name: { givenName: 'Runscope123', familyName: 'Xample456' },
    emails: [{ primary: true, value: email, type: 'work' }],
    displayName: 'Runscope123 Xample456',
    active: true,
  };
};

const addUser = async (directory: Directory, name: string, more: Body = {}): Promise<string> =>
  (await directory.createUser({ ...newUser(directory, name), ...more })).id;

const get = (directory: Directory, path: string) => directory.request('GET', path, undefined, HEADERS);

const withUserName = (userName: string) =>
  `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}&startIndex=1&count=100`;

inEachSetting('SPEC: Test Users endpoint, with a page of users', async (directory) => {
  for (const name of ['ada', 'bob', 'eve']) await addUser(directory, name);

  for (const count of [1, 2]) {
    const { status, body } = await get(directory, `/Users?count=${count}&startIndex=1`);

    assert.is(status, 200);
    assert.equal(body.schemas, [LIST_RESPONSE]);
    assert.equal([body.totalResults, body.startIndex, body.itemsPerPage], [3, 1, count]);
    assert.is(body.Resources.length, count);
    for (const { id, userName, active, name, emails } of body.Resources) {
      assert.ok(id);
      assert.ok(emails[0].value);
      assert.is(userName, emails[0].value);
      assert.is(active, true);
      assert.equal(name, { givenName: 'Runscope123', familyName: 'Xample456' });
    }
  }
});

inEachSetting('SPEC: Get Users/{{id}}', async (directory) => {
  const id = await addUser(directory, 'ada');

  const { status, body } = await get(directory, `/Users/${id}`);

  assert.is(status, 200);
  assertHas(body, { ...newUser(directory, 'ada'), id });
});

inEachSetting(
  "SPEC: Test invalid User by username; Make sure random user doesn't exist",
  async (directory) => {
    await addUser(directory, 'ada');

    for (const userName of ['abcdefgh@okta.test', directory.address('Runscope123Xother456')]) {
      const { status, body } = await get(directory, withUserName(userName));

      assert.is(status, 200);
      assert.equal(body.schemas, [LIST_RESPONSE]);
      assert.equal([body.totalResults, body.Resources], [0, []], userName);
    }
  },
);

inEachSetting('SPEC: Test invalid User by ID; Check status 404', async (directory) => {
  await addUser(directory, 'ada');

  for (const id of ['010101001010101011001010101011', '00919288221112222'])
    assertRefused(await get(directory, `/Users/${id}`), 404);
});

inEachSetting(
  'SPEC: Create Okta user with realistic values; Verify that user was created',
  async (directory) => {
    const user = newUser(directory, 'Runscope123Xample456');

    const { status, body } = await directory.request('POST', '/Users', user, JSON_HEADERS);

    assert.is(status, 201);
    assert.ok(body.id);
    assert.ok(body.schemas.includes(USER));
    assertHas(body, user);
    const { status: found, body: read } = await get(directory, `/Users/${body.id}`);
    assert.is(found, 200);
    assert.equal(read, body);
  },
);

inEachSetting('SPEC: Expect failure when recreating user with same values', async (directory) => {
  const user = newUser(directory, 'Runscope123Xample456');
  await addUser(directory, 'Runscope123Xample456');

  assertRefused(await directory.request('POST', '/Users', user, JSON_HEADERS), 409, 'uniqueness');
  assert.is((await directory.list('/Users')).totalResults, 1);
});

inEachSetting('SPEC: Username Case Sensitivity Check', async (directory) => {
  const id = await addUser(directory, 'Runscope123Xample456');
  const userName = directory.address('Runscope123Xample456').toUpperCase();

  const { status, body } = await get(directory, withUserName(userName));
  const again = { ...newUser(directory, 'another'), userName };

  assert.is(status, 200);
  assert.equal([body.totalResults, body.Resources[0]?.id], [1, id]);
  assertRefused(await directory.request('POST', '/Users', again, JSON_HEADERS), 409, 'uniqueness');
});

inEachSetting('SPEC: Verify Groups endpoint', async (directory) => {
  const empty = await get(directory, '/Groups');
  await directory.createGroup({ displayName: 'Runscope123' });
  const { status, body } = await get(directory, '/Groups?count=100&startIndex=1');

  assert.equal([empty.status, empty.body.totalResults, empty.body.Resources], [200, 0, []]);
  assert.equal([status, body.totalResults, body.Resources.length], [200, 1, 1]);
  assert.equal(body.schemas, [LIST_RESPONSE]);
});

inEachSetting('SPEC: Check status 401', async (directory) => {
  const path = withUserName('RUNSCOPE123XAMPLE456@OKTA.TEST');

  for (const authorization of ['non-token', 'Bearer non-token', 'Bearer ', `Basic ${directory.token}`]) {
    const answer = await directory.request('GET', path, undefined, { ...HEADERS, authorization });

    assertRefused(answer, 401);
    assert.match(String(answer.headers['www-authenticate']), /Bearer/i, authorization);
  }
});

const setActive = (directory: Directory, id: string, active: boolean) =>
  directory.request('PATCH', `/Users/${id}`, {
    schemas: [PATCH_OP],
    Operations: [{ op: 'replace', value: { active } }],
  });

inEachSetting('CRUD: Verify if user is created in SCIM App; Verify firstname update', async (directory) => {
  const user = newUser(directory, 'crud');
  const id = await addUser(directory, 'crud');

  const { body } = await get(directory, withUserName(user.userName));
  const [found] = body.Resources;
  const { status } = await directory.request('PUT', `/Users/${id}`, {
    ...found,
    name: { ...found.name, givenName: 'Updated' },
  });

  assert.is(body.totalResults, 1);
  assertHas(found, { ...user, id });
  assert.is(status, 200);
  const read = await directory.read(`/Users/${id}`);
  assertHas(read, { ...user, id, name: { givenName: 'Updated', familyName: 'Xample456' } });
});

inEachSetting('CRUD: deactivated, reactivated, and deactivated again', async (directory) => {
  const user = newUser(directory, 'crud');
  const id = await addUser(directory, 'crud');

  for (const active of [false, true, false]) {
    const { status, body } = await setActive(directory, id, active);

    assert.is(status, 200);
    assert.is(body.active, active);
    assertHas(await directory.read(`/Users/${id}`), { ...user, id, active });
    const { totalResults, Resources } = (await get(directory, withUserName(user.userName))).body;
    assert.equal([totalResults, Resources[0]?.active], [1, active]);
  }
});

inEachSetting('reference: Determine if the User already exists, Create the User', async (directory) => {
  const user = { ...newUser(directory, 'test.user'), locale: 'en-US', externalId: '00u-external' };
  assert.equal((await get(directory, withUserName(user.userName))).body, {
    schemas: [LIST_RESPONSE],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  });

  const { status, body } = await directory.request('POST', '/Users', {
    ...user,
    groups: [],
    password: 'not-a-secret',
  });

  assert.is(status, 201);
  assertHas(body, { ...user, meta: { resourceType: 'User' } });
  assert.not(JSON.stringify(body).includes('not-a-secret'));
  assert.not('password' in (await directory.read(`/Users/${body.id}`)));
});

inEachSetting('reference: Retrieve Users, page by page in one order', async (directory) => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push(await addUser(directory, `user-${index}`));
  const pageAt = async (startIndex: number, count: number): Promise<string[]> => {
    const { body } = await get(directory, `/Users?startIndex=${startIndex}&count=${count}`);
    assert.equal(
      [body.totalResults, body.startIndex, body.itemsPerPage],
      [5, startIndex, body.Resources.length],
    );
    return body.Resources.map(({ id }: { id: string }) => id);
  };

  const all = await pageAt(1, 100);

  assert.equal([...all].sort(), ids.sort());
  assert.equal([...(await pageAt(1, 2)), ...(await pageAt(3, 2)), ...(await pageAt(5, 2))], all);
  assert.equal(await pageAt(1, 100), all);
});

inEachSetting('reference: Retrieve a specific User, Update a specific User (PUT)', async (directory) => {
  const id = await addUser(directory, 'test.user', { nickName: 'Testy', externalId: '00u-external' });
  const read = await directory.read(`/Users/${id}`);

  const { status, body } = await directory.request('PUT', `/Users/${id}`, {
    ...read,
    name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
    emails: [{ ...read.emails[0], display: read.emails[0].value }],
    nickName: undefined,
    phoneNumbers: [{ value: '123-456', type: 'work', primary: true }],
    groups: [],
    meta: { resourceType: 'User' },
  });

  assert.is(status, 200);
  assertHas(body, {
    id,
    name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
    userName: read.userName,
    externalId: '00u-external',
    phoneNumbers: [{ value: '123-456', type: 'work', primary: true }],
    active: true,
  });
  assert.not('nickName' in body);
  assert.equal(await directory.read(`/Users/${id}`), body);
});

inEachSetting('reference: Update a specific User (PUT) deactivates and reactivates', async (directory) => {
  const user = newUser(directory, 'test.user');
  const id = await addUser(directory, 'test.user');

  for (const active of [false, true]) {
    const { status, body } = await directory.request('PUT', `/Users/${id}`, { ...user, id, active });

    assert.equal([status, body.active], [200, active]);
    assert.is((await directory.read(`/Users/${id}`)).active, active);
  }
  assertRefused(await directory.request('PUT', '/Users/0d0f6a5e-0000-4000-8000-000000000000', user), 404);
});

inEachSetting('reference: a user without names, and with an empty middle name', async (directory) => {
  const { name, displayName, ...nameless } = newUser(directory, 'nameless');
  const { id } = await directory.createUser(nameless);

  const read = await directory.read(`/Users/${id}`);
  const { status, body } = await directory.request('PUT', `/Users/${id}`, {
    ...nameless,
    displayName,
    name: { ...name, middleName: '' },
  });

  assertHas(read, nameless);
  assert.not(read.name?.givenName);
  assert.is(status, 200);
  assertHas(body, { displayName, name });
  assert.not(body.name.middleName);
});

inEachSetting('reference: attributes of the enterprise extension', async (directory) => {
  const extension = {
    employeeNumber: '701984',
    department: 'Tour Operations',
    manager: { value: '26118915', displayName: 'Jane Doe' },
  };
  const id = await addUser(directory, 'enterprise', { schemas: [USER, ENTERPRISE], [ENTERPRISE]: extension });

  const read = await directory.read(`/Users/${id}`);

  assert.equal(read.schemas.toSorted(), [USER, ENTERPRISE].sort());
  assertHas(read, { [ENTERPRISE]: { ...extension, manager: { value: '26118915' } } });
});

inEachSetting('reference: Create Groups, Retrieve specific Groups', async (directory) => {
  const group = { schemas: [GROUP], displayName: 'Test SCIMv2', members: [] };

  const { status, body } = await directory.request('POST', '/Groups', group);

  assert.is(status, 201);
  assertHas(body, { schemas: [GROUP], displayName: 'Test SCIMv2', meta: { resourceType: 'Group' } });
  assert.equal(await directory.read(`/Groups/${body.id}`), body);
  assertRefused(await directory.request('POST', '/Groups', group), 409, 'uniqueness');
  assertRefused(await get(directory, '/Groups/0d0f6a5e-0000-4000-8000-000000000001'), 404);
});

const newGroup = async (directory: Directory, members: string[]) => {
  const { id } = await directory.createGroup({
    displayName: 'Test SCIMv2',
    members: members.map((value) => ({ value })),
  });
  return { id, path: `/Groups/${id}` };
};

/** Okta takes an answer without a body, but it needs the other details of the group in one with a body. */
const pushed = async (directory: Directory, path: string, ...operations: Body[]) => {
  const answer = await directory.patch(path, ...operations);
  assertChanged(answer);
  const read = await directory.read(path);
  if (answer.body) assertHas(answer.body, { id: read.id, displayName: read.displayName });
  return read;
};

inEachSetting('reference: Update a specific Group name (PATCH)', async (directory) => {
  const ada = await addUser(directory, 'ada');
  const { id, path } = await newGroup(directory, [ada]);

  const read = await pushed(directory, path, { op: 'replace', value: { id, displayName: 'Test SCIMv20' } });

  assert.equal([read.id, read.displayName, memberIds(read)], [id, 'Test SCIMv20', [ada]]);
  const same = await pushed(directory, path, { op: 'replace', value: { id, displayName: 'Test SCIMv20' } });
  assert.is(same.displayName, 'Test SCIMv20');
});

inEachSetting('reference: Update specific Group membership (PATCH)', async (directory) => {
  const ada = await addUser(directory, 'ada');
  const bob = await addUser(directory, 'bob');
  const { path } = await newGroup(directory, [ada]);

  const read = await pushed(
    directory,
    path,
    { op: 'remove', path: `members[value eq "${ada}"]` },
    { op: 'add', path: 'members', value: [{ value: bob, display: directory.address('bob') }] },
  );

  assert.equal(memberIds(read), [bob]);
});

inEachSetting('reference: a full push of the membership replaces all members', async (directory) => {
  const ada = await addUser(directory, 'ada');
  const bob = await addUser(directory, 'bob');
  const eve = await addUser(directory, 'eve');
  const { path } = await newGroup(directory, [ada]);
  const members = [bob, eve].map((value) => ({ value, display: 'test.user@okta.test' }));

  assert.equal(
    memberIds(await pushed(directory, path, { op: 'replace', path: 'members', value: members })),
    [bob, eve].sort(),
  );
  assert.equal(memberIds(await pushed(directory, path, { op: 'replace', path: 'members', value: [] })), []);
  assert.equal(
    memberIds(await pushed(directory, path, { op: 'replace', value: { members: [{ value: ada }] } })),
    [ada],
  );
});

inEachSetting('reference: Update a specific Group name and membership (PUT)', async (directory) => {
  const ada = await addUser(directory, 'ada');
  const bob = await addUser(directory, 'bob');
  const { id, path } = await newGroup(directory, [ada]);
  const group = { schemas: [GROUP], id, displayName: 'Test SCIMv20' };

  const { status, body } = await directory.request('PUT', path, {
    ...group,
    members: [{ value: bob, display: directory.address('bob') }],
  });
  const emptied = await directory.request('PUT', path, { ...group, members: [] });

  assert.is(status, 200);
  assert.equal([body.id, body.displayName, memberIds(body)], [id, 'Test SCIMv20', [bob]]);
  assert.equal([emptied.status, memberIds(emptied.body)], [200, []]);
  assert.equal(memberIds(await directory.read(path)), []);
});

inEachSetting('reference: Delete a specific Group', async (directory) => {
  const ada = await addUser(directory, 'ada');
  const { path } = await newGroup(directory, [ada]);

  const { status, body } = await directory.request('DELETE', path, undefined, HEADERS);

  assert.equal([status, body], [204, undefined]);
  assertRefused(await get(directory, path), 404);
  assert.is((await directory.read(`/Users/${ada}`)).active, true);
});

okta(
  'users change no membership in mode show; in mode apply they join, and are suspended',
  async ({ app }) => {
    for (const [mode, expected] of [
      ['show', []],
      ['apply', [true, false]],
    ] as const) {
      const directory = await connectDirectory(app, { mode });
      await addUser(directory, 'stays');
      const leaver = await addUser(directory, 'leaves');
      assert.is((await setActive(directory, leaver, false)).body.active, false);

      const users = await app.as(ROOT).users.list({ client: directory.client });
      const states: boolean[] = [];
      for (const { email } of users)
        for (const { client, is_active } of await app.as(ROOT).memberships.list({ email }))
          if (client === directory.client) states.push(is_active);

      assert.equal(states.sort().reverse(), expected, mode);
    }
  },
);

okta.run();
