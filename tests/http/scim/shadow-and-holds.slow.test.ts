import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../../src/lib/clock.ts';
import { connectDirectory, createDirectoryToken, type Directory } from '../../support/directory.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { rowsOf } from '../../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const shadow = appSuite('what a directory would change');

const summaryOf = async (app: TestApp, id: number) => {
  const { changes, group_changes, due, held, problems } = await app.as(ROOT).directory.get({ id });
  return { changes, group_changes, due, held, problems };
};

const isActive = async (app: TestApp, id: number, email: string): Promise<boolean | undefined> => {
  const memberships = await app.as(ROOT).memberships.list({ email });
  return memberships.find(({ client }) => client === id)?.is_active;
};

shadow('is only shown at first; applied, it takes effect in the background, once', async ({ app }) => {
  const directory = await connectDirectory(app, { client: 1, mode: 'show' });
  const before = await app.as(ROOT).memberships.list({ email: ADA });
  const people = [];
  for (const name of ['one', 'two', 'three']) {
    people.push(await directory.createUser({ userName: directory.address(name) }));
  }
  const stranger = await directory.createUser({ userName: 'stranger@nowhere.test' });
  await directory.createUser({ userName: ADA, active: false });
  await directory.createUser({ userName: GRACE });
  const members = [...people, stranger].map(({ id }) => ({ value: id }));
  const { id: team } = await directory.createGroup({ displayName: 'Team', members });

  const shown = { changes: { join: 3, invite: 1, suspend: 1, adopt: 1 }, group_changes: { create: 1 } };
  assert.equal(await summaryOf(app, 1), { ...shown, due: 0, held: 0, problems: 0 });
  assert.equal(await app.as(ROOT).memberships.list({ email: ADA }), before);
  assert.equal(await rowsOf(app, 'users', { email: directory.address('one') }), []);
  assert.is((await directory.read(`/Groups/${team}`)).members.length, 4);
  const [suspended] = await app.as(ROOT).directory.listPeople({ id: 1, change: 'suspend' });
  assert.equal([suspended?.email, suspended?.change], [ADA, 'suspend']);

  const { due } = await app.as(ACME).directory.update({ id: 1, mode: 'apply', ends: 1 });
  assert.is(due, 7);
  await app.directoryWorker.drain();

  assert.equal(await summaryOf(app, 1), { changes: {}, group_changes: {}, due: 0, held: 0, problems: 0 });
  assert.is(await isActive(app, 1, directory.address('two')), true);
  assert.is(await isActive(app, 1, ADA), false);
  const [group] = await rowsOf(app, 'groups', { name: 'Team' });
  const { members: joined } = await app.as(ROOT).groups.get({ id: 1, group_id: group?.id ?? 0 });
  assert.equal(joined.length, 3);
  assert.is((await rowsOf(app, 'invitation_groups', { group_id: group?.id ?? 0 })).length, 1);
});

shadow('keeps members whom the directory deletes while changes are only shown', async ({ app }) => {
  const directory = await connectDirectory(app);
  const { client } = directory;
  const [kept, back] = [directory.address('kept'), directory.address('back')];
  const one = await directory.createUser({ userName: kept });
  const two = await directory.createUser({ userName: back });
  await app.as(ROOT).directory.update({ id: client, mode: 'show' });

  for (const { id } of [one, two]) assert.is((await directory.request('DELETE', `/Users/${id}`)).status, 204);
  assert.is((await directory.list('/Users')).totalResults, 0);
  assert.equal((await summaryOf(app, client)).changes, { remove: 2 });
  assert.is(await isActive(app, client, kept), true);
  // The same person as before.
  await directory.createUser({ userName: back });
  assert.equal((await summaryOf(app, client)).changes, { remove: 1 });

  await rejectsWith(app.as(ROOT).directory.update({ id: client, mode: 'apply' }), 'precondition-failed');
  await app.as(ROOT).directory.update({ id: client, mode: 'apply', ends: 1 });
  await app.directoryWorker.drain();
  assert.equal([await isActive(app, client, kept), await isActive(app, client, back)], [undefined, true]);
});

shadow('names what could not be applied, and goes on with the others', async ({ app }) => {
  const directory = await connectDirectory(app, { mode: 'show' });
  const taken = directory.address('taken');
  await app.as(ROOT).users.create({ email: taken, client: 1 });
  const { id } = (await rowsOf(app, 'users', { email: taken }))[0] ?? { id: 0 };
  const now = app.clock.now();
  const change = {
    user_id: id,
    old_email: directory.address('reserved'),
    new_email: taken,
    requested_by: id,
  };
  const until = { requested_at: now, changed_at: now, undo_until: new Date(now.getTime() + DAY_MS) };
  await app
    .db()
    .insertInto('email_changes')
    .values({ ...change, ...until })
    .execute();
  for (const name of ['reserved', 'free']) await directory.createUser({ userName: directory.address(name) });

  await app.as(ROOT).directory.update({ id: directory.client, mode: 'apply' });
  await app.directoryWorker.drain();

  assert.equal(await summaryOf(app, directory.client), {
    ...{ changes: { join: 1 }, group_changes: {}, due: 0, held: 0, problems: 1 },
  });
  const [problem] = await app.as(ROOT).directory.listPeople({ id: directory.client, change: 'join' });
  assert.match(problem?.problem ?? '', 'reserved');
});

const holds = appSuite('ends of memberships that a directory wants');

/** A client of so many people, of whom the directory provisions all. */
const withPeople = async (app: TestApp, count: number) => {
  const directory = await connectDirectory(app);
  const people: { id: string; email: string }[] = [];
  for (let n = 1; n <= count; n++) {
    const email = directory.address(`person${n}`);
    const { id } = await directory.createUser({ userName: email });
    people.push({ id, email });
  }
  return { directory, people };
};

/** Approves what is held now, if it is so many. */
const approve = async (app: TestApp, id: number, held: number) => {
  const { held_until } = await app.as(ROOT).directory.get({ id });
  return app.as(ROOT).directory.approve({ id, held, held_until: held_until ?? app.clock.now() });
};

const suspend = (directory: Directory, { id }: { id: string }) =>
  directory.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });

holds(
  'are held beyond ten and a fifth of all within a day, until an admin approves them',
  async ({ app }) => {
    const { directory, people } = await withPeople(app, 12);
    const { client } = directory;
    await app.as(ROOT).roles.setClientAdmin({ id: client, email: people[11]?.email ?? '', is_admin: true });
    for (const person of people.slice(0, 10)) assert.is((await suspend(directory, person)).status, 200);
    const [eleventh] = people.slice(10);
    assert.ok(eleventh);

    const held = await suspend(directory, eleventh);

    assert.is(held.status, 429);
    assert.is(held.headers['retry-after'], '3600');
    assert.match(held.body.detail, 'Held for approval');
    assert.is(await isActive(app, client, eleventh.email), true);
    assert.is((await directory.read(`/Users/${eleventh.id}`)).active, true);
    assert.is((await directory.request('DELETE', `/Users/${eleventh.id}`)).status, 429);
    const [row] = await app.as(ROOT).directory.listHeld({ id: client });
    assert.is(row?.email, eleventh.email);
    assert.is((await rowsOf(app, 'outbox_mails', { kind: 'directory-held' })).length, 1);
    const entries = await app.as(ROOT).audit.list({ action: 'directory.hold' });
    assert.is(entries.length, 1);

    await rejectsWith(approve(app, client, 2), 'precondition-failed');
    await approve(app, client, 1);
    assert.is((await suspend(directory, eleventh)).status, 200);
    assert.is(await isActive(app, client, eleventh.email), false);
    assert.is((await summaryOf(app, client)).held, 0);
  },
);

holds('are counted for a day, and an approval holds for a day', async ({ app }) => {
  const { directory, people } = await withPeople(app, 13);
  const { client } = directory;
  for (const person of people.slice(0, 10)) await suspend(directory, person);
  const [approved, later] = people.slice(10);
  assert.ok(approved && later);
  assert.is((await suspend(directory, approved)).status, 429);
  await approve(app, client, 1);

  app.clock.advance(DAY_MS + HOUR_MS);

  for (const person of [approved, later]) assert.is((await suspend(directory, person)).status, 200);
});

holds('of the last admin are always held', async ({ app }) => {
  const { directory, people } = await withPeople(app, 2);
  const { client } = directory;
  for (const { email } of people)
    await app.as(ROOT).roles.setClientAdmin({ id: client, email, is_admin: true });
  const [one, last] = people;
  assert.ok(one && last);

  assert.is((await suspend(directory, one)).status, 200);
  const held = await suspend(directory, last);

  assert.is(held.status, 429);
  assert.match(held.body.detail, 'last admin');
});

holds('are held by bulk requests too, each by itself', async ({ app }) => {
  const { directory, people } = await withPeople(app, 12);

  const { status, body } = await directory.request('POST', '/Bulk', {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:BulkRequest'],
    Operations: people.map(({ id }) => ({ method: 'DELETE', path: `/Users/${id}` })),
  });

  assert.is(status, 200);
  const statuses = body.Operations.map((each: { status: string }) => each.status);
  assert.equal(statuses, [...Array.from({ length: 10 }, () => '204'), '429', '429']);
});

const callers = appSuite('callers of a directory');

const PATHS = [
  ...(['GET /Users', 'POST /Users', 'GET /Groups', 'POST /Groups', 'POST /Bulk'] as const),
  ...(['GET /ServiceProviderConfig', 'GET /Schemas', 'POST /Users/.search', 'GET /Nothing'] as const),
  ...(['GET /Users/x', 'PUT /Users/x', 'PATCH /Users/x', 'DELETE /Users/x'] as const),
  ...(['GET /Groups/x', 'PUT /Groups/x', 'PATCH /Groups/x', 'DELETE /Groups/x'] as const),
];

callers('are only service accounts of the client with the scope scim, at each path', async ({ app }) => {
  const directory = await connectDirectory(app);
  const root = app.as(ROOT);
  const foreign = await createDirectoryToken(app, 2);
  const account = { client: directory.client, roles: ['client-admin'] };
  const wide = await root.serviceAccounts.create({ ...account, name: 'Wide' });
  const narrow = await root.serviceAccounts.create({ ...account, name: 'Narrow', scopes: ['users:write'] });
  const ending = await root.serviceAccounts.create({ ...account, name: 'Ending', scopes: ['scim'] });
  const issueTo = async (id: number, expires_at?: Date) =>
    (await root.serviceAccounts.createToken({ id, name: 'x', ...(expires_at && { expires_at }) })).token;
  const expired = await issueTo(ending.id, new Date(app.clock.now().getTime() + HOUR_MS));
  const tokens = {
    none: [null, 401],
    unknown: ['stw_unknown', 401],
    expired: [expired, 401],
    person: [await app.tokenOf(ROOT), 403],
    'service account without scopes': [await issueTo(wide.id), 403],
    'service account with another scope': [await issueTo(narrow.id), 403],
    'another client': [foreign, 404],
  } as const;
  app.clock.advance(2 * HOUR_MS);

  const wrong: string[] = [];
  for (const [who, [token, expected]] of Object.entries(tokens))
    for (const line of PATHS) {
      const [method = 'GET', path = ''] = line.split(' ');
      const headers = { authorization: token === null ? '' : `Bearer ${token}` };
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const { status } = await directory.request(method as 'GET', path, body, headers);
      if (status !== expected) wrong.push(`${who}, ${line}: ${status}`);
    }

  assert.equal(wrong, []);
});

callers('cannot do anything else with the scope scim', async ({ app }) => {
  const directory = await connectDirectory(app);

  const response = await app.send('GET /jb/users/', {
    headers: { authorization: `Bearer ${directory.token}` },
  });

  assert.is(response.statusCode, 403);
});

callers('are logged with their results, of which the last are kept', async ({ app }) => {
  const directory = await connectDirectory(app);
  await directory.request('GET', '/Users?filter=userName eq "a"');
  await directory.request('POST', '/Users', { userName: '' });

  const [newest, ...others] = await app.as(ROOT).directory.requests({ id: directory.client });

  assert.equal([newest?.method, newest?.path, newest?.status], ['POST', '/Users', 400]);
  assert.match(newest?.error ?? '', 'userName is required');
  assert.equal(
    others.map(({ path, status }) => [path, status]),
    [['/Users?filter=userName eq "a"', 200]],
  );
});

callers('read nothing of another client that uses the same names', async ({ app }) => {
  const [one, other] = [await connectDirectory(app), await connectDirectory(app)];
  const { id } = await one.createUser({ userName: one.address('same'), externalId: 'same' });
  const group = await one.createGroup({ displayName: 'Same' });

  for (const filter of ['externalId eq "same"', `userName eq "${one.address('same')}"`, `id eq "${id}"`])
    assert.is((await other.list('/Users', { filter })).totalResults, 0, filter);
  for (const path of [`/Users/${id}`, `/Groups/${group.id}`])
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const)
      assert.is((await other.request(method, path, method === 'GET' ? undefined : {})).status, 404, path);
  const joined = await other.request('POST', '/Groups', { displayName: 'Theirs', members: [{ value: id }] });
  assert.equal([joined.status, joined.body.scimType], [400, 'invalidValue']);
});

shadow.run();
holds.run();
callers.run();
