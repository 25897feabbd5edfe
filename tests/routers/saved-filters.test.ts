import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const filters = appSuite('saved filters');

filters('is created with a hash of the user, and has a description', async ({ app }) => {
  const made = await app.as(ADA).savedFilters.create({ stack_id: 'b1b82f57', hash: 'a-1', name: 'North' });

  assert.equal(made, {
    user: ADA,
    stack: 'Trends for Sales App',
    hash: 'a-1',
    name: 'North',
    created: app.clock.now(),
    modified: app.clock.now(),
  });
  assert.equal(await app.as(ADA).savedFilters.get({ hash: 'a-1' }), made);
});

filters('may have the hash of a filter of another user', async ({ app }) => {
  const input = { stack_id: 'a0a91e46', hash: 'own' };
  await app.as(ADA).savedFilters.create({ ...input, name: 'Ada’s' });

  assert.is((await app.as(GRACE).savedFilters.create({ ...input, name: 'Grace’s' })).user, GRACE);
  assert.is((await app.as(ADA).savedFilters.get({ hash: 'own' })).name, 'Ada’s');
});

filters('refuses a hash that the user already has', async ({ app }) => {
  const input = { stack_id: 'a0a91e46', hash: 'twice', name: 'x' };
  const attempts = await Promise.allSettled([1, 2, 3, 4].map(() => app.as(ADA).savedFilters.create(input)));
  const again = await rejectsWith(app.as(ADA).savedFilters.create(input), 'invalid-input');

  assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.ok(again.fields?.hash);
});

filters('requires a stack of an app that the user can open', async ({ app }) => {
  for (const stack_id of ['d3d64b79', '00000000', 'no stack']) {
    const attempt = app.as(ADA).savedFilters.create({ stack_id, hash: 's', name: 'x' });
    assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.stack_id, stack_id);
  }
  assert.ok(await app.as(EDSGER).savedFilters.create({ stack_id: 'd3d64b79', hash: 's', name: 'x' }));
});

filters('is listed with all others, and by stack', async ({ app }) => {
  const mine = app.as(EDSGER).savedFilters;
  await mine.create({ stack_id: 'd3d64b79', hash: 'l1', name: 'x' });
  const hashes = (rows: { hash: string }[]) => rows.map((row) => row.hash);

  assert.equal(hashes(await mine.list({})), ['s', 'l1']);
  assert.equal(hashes(await mine.listByStack({ stack_id: 'd3d64b79' })), ['s', 'l1']);
  assert.equal(await app.as(GRACE).savedFilters.listByStack({ stack_id: 'b1b82f57' }), []);
  await rejectsWith(mine.listByStack({ stack_id: 'a0a91e46' }), 'not-found');
});

filters('can be replaced, also with another hash and stack', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  const made = await mine.create({ stack_id: 'a0a91e46', hash: 'm1', name: 'One' });
  await mine.create({ stack_id: 'a0a91e46', hash: 'm2', name: 'Two' });
  app.clock.advance(MINUTE_MS);
  const moved = await mine.replace({
    hash: 'm1',
    filter: { stack_id: 'b1b82f57', hash: 'm3', name: 'Three' },
  });

  assert.equal([moved.hash, moved.stack, moved.created], ['m3', 'Trends for Sales App', made.created]);
  assert.equal(moved.modified, app.clock.now());
  await rejectsWith(mine.get({ hash: 'm1' }), 'not-found');
  const clash = mine.replace({ hash: 'm3', filter: { stack_id: 'a0a91e46', hash: 'm2', name: 'x' } });
  assert.ok((await rejectsWith(clash, 'invalid-input')).fields?.hash);
});

filters('has the hash of the path, is renamed by that of the body, and deleted once', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'path', name: 'x' });
  const send = (line: string, payload?: object) =>
    app.send(`${line.replace(' ', ' /hashr/saved_global_filters/')}/`, {
      as: ADA,
      ...(payload && { payload }),
    });

  assert.equal(Object.keys((await send('PUT path', { name: 'y' })).json().errors), ['stack_id', 'hash']);
  const filter = { stack_id: 'a0a91e46', hash: 'body', name: 'y' };
  assert.is((await send('PUT path', filter)).statusCode, 204);
  assert.is((await send('GET body')).json().name, 'y');
  assert.is((await send('DELETE body')).statusCode, 204);
  assert.is((await send('DELETE body')).statusCode, 404);
});

filters('can be moved by one of several concurrent requests; others fail', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  await mine.create({ stack_id: 'a0a91e46', hash: 'race', name: 'x' });
  const outcomes = await Promise.allSettled(
    ['one', 'two', 'three'].map((name) =>
      mine.replace({ hash: 'race', filter: { stack_id: 'a0a91e46', hash: 'won', name } }),
    ),
  );
  const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.name] : []));

  assert.equal(won, [(await mine.get({ hash: 'won' })).name]);
});

filters('cannot be replaced after the user has lost the app, even with the same stack', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  await mine.create({ stack_id: 'a0a91e46', hash: 'lost', name: 'x' });
  await app.as(ACME).users.update({ email: GRACE, apps: [] });

  const same = mine.replace({ hash: 'lost', filter: { stack_id: 'a0a91e46', hash: 'lost', name: 'y' } });
  const { fields } = await rejectsWith(same, 'invalid-input');

  assert.equal(fields, { stack_id: ['There is no stack a0a91e46 of an app that you can open.'] });
  const lost = await rejectsWith(mine.setState({ hash: 'lost', state: {} }), 'invalid-input');
  assert.equal(lost.fields, fields);
  await rejectsWith(mine.setSharing({ hash: 'lost', client: true, groups: [] }), 'invalid-input');
  assert.is((await mine.getState({ hash: 'lost' })).state, null);
  assert.is((await mine.get({ hash: 'lost' })).name, 'x');
  await mine.remove({ hash: 'lost' });
  await app.as(ACME).users.update({ email: GRACE, apps: ['zylTKNVx'] });
});

filters('is limited to 1,000 per user, also with concurrent requests', async ({ app }) => {
  const mine = app.as(ROOT).savedFilters;
  const filter = { stack_id: 'a0a91e46', name: 'x' };
  const id = await userId(app, ROOT);
  const now = app.clock.now();
  const row = { ...filter, user_id: id, created: now, modified: now };
  await addRows(
    app,
    'saved_filters',
    Array.from({ length: 998 }, (_, n) => ({ ...row, hash: `bulk${n}` })),
  );

  const attempts = Array.from({ length: 6 }, (_, n) => mine.create({ ...filter, hash: `more${n}` }));
  const outcomes = await Promise.allSettled(attempts);
  const full = await rejectsWith(mine.create({ ...filter, hash: 'over' }), 'invalid-input');

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  assert.equal(full.fields, { hash: ['You already have 1000 saved filters. Delete one first.'] });
  assert.is((await mine.replace({ hash: 'bulk1', filter: { ...filter, hash: 'moved' } })).hash, 'moved');
  await mine.remove({ hash: 'bulk2' });
  assert.ok(await mine.create({ ...filter, hash: 'room' }));
});

const OVERVIEW = 'a0a91e46';

filters('has a state that is null until the app sets it, and is kept as sent', async ({ app }) => {
  const mine = app.as(ADA).savedFilters;
  const made = await mine.create({ stack_id: OVERVIEW, hash: 'state', name: 'x' });
  assert.equal(await mine.getState({ hash: 'state' }), { state: null, version: '', description: '' });

  const text =
    '{"state":{"z":1,"__proto__":{"a":12345678901234567890},"2":"\\u0000"},"version":"3","description":"d"}';
  const sent = await app.send('PUT /hashr/saved_global_filters/state/state/', {
    as: ADA,
    payload: text,
    headers: { 'content-type': 'application/json' },
  });
  const read = await app.send('GET /hashr/saved_global_filters/state/state/', { as: ADA });

  assert.equal([sent.statusCode, read.body], [200, sent.body]);
  assert.equal(JSON.parse(read.body), JSON.parse(text));
  assert.match(read.body, '"z":1,"__proto__":{"a":12345678901234567890}');
  assert.equal(Object.keys(await mine.get({ hash: 'state' })), Object.keys(made));
  await rejectsWith(app.as(GRACE).savedFilters.getState({ hash: 'state' }), 'not-found');
  await rejectsWith(app.as(GRACE).savedFilters.setState({ hash: 'state', state: {} }), 'not-found');
  const large = { state: { x: 'x'.repeat(65_536) }, version: 'x'.repeat(65), description: 'x'.repeat(501) };
  const { fields } = await rejectsWith(mine.setState({ hash: 'state', ...large }), 'invalid-input');
  assert.equal(Object.keys(fields ?? {}), ['state', 'version', 'description']);
});

filters('of the hash `shared` can be kept, but not made', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  const filter = { stack_id: OVERVIEW, hash: 'shared', name: 'x' };
  const at = app.clock.now();
  assert.ok((await rejectsWith(mine.create(filter), 'invalid-input')).fields?.hash);
  await mine.create({ ...filter, hash: 'other' });
  assert.ok((await rejectsWith(mine.replace({ hash: 'other', filter }), 'invalid-input')).fields?.hash);

  const row = { ...filter, user_id: await userId(app, GRACE), created: at, modified: at };
  await addRows(app, 'saved_filters', row);

  assert.ok((await mine.list({})).some(({ hash }) => hash === 'shared'));
  assert.is((await mine.replace({ hash: 'shared', filter: { ...filter, name: 'y' } })).name, 'y');
  assert.equal((await app.send('GET /hashr/saved_global_filters/shared/', { as: GRACE })).json(), []);
  await mine.remove({ hash: 'shared' });
});

/** A filter with a state. Returns its id. */
const make = async (app: TestApp, owner: string, hash: string, stack_id = OVERVIEW): Promise<number> => {
  const { create, setState } = app.as(owner).savedFilters;
  await create({ stack_id, hash, name: hash });
  await setState({ hash, state: { of: hash }, version: '1', description: 'd' });
  return (await rowOf(app, 'saved_filters', { hash, user_id: await userId(app, owner) })).id;
};

/** The hashes of the filters that others share with a person. */
const sharedWith = async (app: TestApp, email: string): Promise<string[]> =>
  (await app.as(email).savedFilters.listShared({})).map(({ hash }) => hash);

const groupOf = async (app: TestApp, name: string, members: string[]): Promise<number> =>
  (await app.as(ACME).groups.create({ id: 1, name, members })).id;

filters('is shared only with all who have its app', async ({ app }) => {
  const [owner, reader, stranger] = [await addMember(app), await addMember(app), await addMember(app, [])];
  const id = await make(app, owner, 'for-all');
  const sharing = { client: true, groups: [] };
  assert.equal(await app.as(owner).savedFilters.setSharing({ hash: 'for-all', ...sharing }), sharing);

  assert.equal(await app.as(reader).savedFilters.listShared({ stack_id: OVERVIEW }), [
    {
      ...{ id, stack_id: OVERVIEW, hash: 'for-all', name: 'for-all', description: 'd' },
      ...{ state: { of: 'for-all' }, version: '1', user: owner, full_name: '', is_default: false },
    },
  ]);
  assert.equal(await app.as(reader).savedFilters.listShared({ stack_id: 'b1b82f57' }), []);
  for (const other of [owner, stranger, EDSGER, GLOBEX]) assert.equal(await sharedWith(app, other), []);
  await rejectsWith(app.as(reader).savedFilters.getSharing({ hash: 'for-all' }), 'not-found');
  const { details, client_ids } = await rowOf(app, 'audit_entries', { action: 'saved-filter.share' });
  assert.equal([details, client_ids], [{ id, ...sharing }, [1]]);

  await app.as(ACME).memberships.update({ id: 1, email: reader, is_active: false });
  assert.equal(await sharedWith(app, reader), []);
  await app.as(owner).savedFilters.remove({ hash: 'for-all' });
});

filters('is shared with groups to which the owner belongs, or whose people they manage', async ({ app }) => {
  const [owner, reader, other] = [await addMember(app), await addMember(app), await addMember(app)];
  const team = await groupOf(app, 'Team', [owner, reader]);
  const others = await groupOf(app, 'Others', [other]);
  const { id: foreign } = await app.as(GLOBEX).groups.create({ id: 2, name: 'Foreign', members: [EDSGER] });
  await make(app, owner, 'team');
  const share = (email: string, groups: number[], hash = 'team') =>
    app.as(email).savedFilters.setSharing({ hash, client: false, groups });

  await share(owner, [team, team]);
  assert.equal([await sharedWith(app, reader), await sharedWith(app, other)], [['team'], []]);
  const { fields } = await rejectsWith(share(owner, [team, others, foreign, 999]), 'invalid-input');
  assert.is(fields?.groups?.length, 3);
  await rejectsWith(
    share(
      owner,
      Array.from({ length: 51 }, (_, n) => n + 1),
    ),
    'invalid-input',
  );
  await make(app, ACME, 'managed');
  await share(ACME, [others], 'managed');
  await rejectsWith(share(ACME, [foreign], 'managed'), 'invalid-input');
  assert.equal(await sharedWith(app, other), ['managed']);

  await app.as(ACME).groups.edit({ id: 1, group_id: team, removed_members: [reader] });
  assert.equal(await sharedWith(app, reader), []);
  await app.as(ACME).groups.remove({ id: 1, group_id: team });
  assert.equal(await app.as(owner).savedFilters.getSharing({ hash: 'team' }), { client: false, groups: [] });
  await app.as(ACME).savedFilters.remove({ hash: 'managed' });
});

const LOSSES: Record<string, (app: TestApp, email: string) => Promise<unknown>> = {
  'is deactivated': (app, email) => app.as(ACME).users.deactivate({ email }),
  'is suspended': (app, email) => app.as(ACME).memberships.update({ id: 1, email, is_active: false }),
  'was removed from the client': (app, email) => app.as(ACME).memberships.remove({ id: 1, email }),
  'has lost the app': (app, email) => app.as(ACME).users.update({ email, apps: [] }),
};

for (const [loss, lose] of Object.entries(LOSSES))
  filters(`is not shared by a person who ${loss}`, async ({ app }) => {
    const [owner, reader] = [await addMember(app), await addMember(app)];
    const filter = await make(app, owner, 'lost');
    await app.as(owner).savedFilters.setSharing({ hash: 'lost', client: true, groups: [] });
    await app.as(reader).savedFilters.setDefault({ stack_id: OVERVIEW, filter });
    assert.equal(await sharedWith(app, reader), ['lost']);

    await lose(app, owner);

    assert.equal(await sharedWith(app, reader), []);
    assert.is((await app.as(reader).savedFilters.getDefault({ stack_id: OVERVIEW })).filter, null);
    const again = app.as(reader).savedFilters.setDefault({ stack_id: OVERVIEW, filter });
    assert.ok((await rejectsWith(again, 'invalid-input')).fields?.filter);
  });

filters('is the default of a person, or else of their first group that has one', async ({ app }) => {
  const [owner, reader] = [await addMember(app), await addMember(app)];
  const [first, second] = [await groupOf(app, 'First', [reader]), await groupOf(app, 'Second', [reader])];
  const [a, b] = [await make(app, owner, 'a'), await make(app, owner, 'b')];
  const own = await make(app, reader, 'own');
  for (const hash of ['a', 'b'])
    await app.as(owner).savedFilters.setSharing({ hash, client: true, groups: [] });
  const choose = (email: string, filter: number | null, group?: number) =>
    app.as(email).savedFilters.setDefault({ stack_id: OVERVIEW, filter, ...(group && { group }) });
  const chosen = async () => {
    const { filter, group } = await app.as(reader).savedFilters.getDefault({ stack_id: OVERVIEW });
    const shared = await app.as(reader).savedFilters.listShared({});
    const marked = shared.filter(({ is_default }) => is_default).map(({ hash }) => hash);
    assert.equal(marked, filter && filter.hash !== 'own' ? [filter.hash] : []);
    return [filter?.hash, filter?.state, group];
  };

  await choose(ACME, b, second);
  assert.equal(await chosen(), ['b', { of: 'b' }, second]);
  await choose(ACME, a, first);
  assert.equal(await chosen(), ['a', { of: 'a' }, first]);
  await choose(reader, own);
  assert.equal(await chosen(), ['own', { of: 'own' }, null]);
  await choose(reader, null);
  await app.as(owner).savedFilters.setSharing({ hash: 'a', client: false, groups: [] });
  assert.equal(await chosen(), ['b', { of: 'b' }, second]);
  await app.as(owner).savedFilters.remove({ hash: 'b' });
  assert.equal(await chosen(), [undefined, undefined, null]);

  for (const filter of [a, 999]) await rejectsWith(choose(reader, filter), 'invalid-input');
  await rejectsWith(choose(ACME, a, first), 'invalid-input');
  await rejectsWith(choose(reader, own, first), 'forbidden');
  await rejectsWith(choose(EDSGER, null), 'not-found');
  await rejectsWith(choose(GLOBEX, null, first), 'not-found');
});

filters('is no longer shared with people of an app, or a default, once it moves', async ({ app }) => {
  const [owner, reader] = [await addMember(app, [SALES, FLEET], ROOT), await addMember(app)];
  const filter = await make(app, owner, 'moves');
  const group = await groupOf(app, 'Movers', [owner, reader]);
  await app.as(owner).savedFilters.setSharing({ hash: 'moves', client: true, groups: [group] });
  await app.as(reader).savedFilters.setDefault({ stack_id: OVERVIEW, filter });
  const move = (stack_id: string) =>
    app.as(owner).savedFilters.replace({ hash: 'moves', filter: { stack_id, hash: 'moves', name: 'x' } });

  await move('b1b82f57');
  assert.equal(await rowsOf(app, 'saved_filter_defaults', { saved_filter_id: filter }), []);
  assert.equal(await sharedWith(app, reader), ['moves']);
  await move('d3d64b79');
  assert.equal(await sharedWith(app, EDSGER), []);
  assert.equal(await app.as(owner).savedFilters.getSharing({ hash: 'moves' }), { client: false, groups: [] });
});

filters('of other clients stays hidden from a credential that is confined to a client', async ({ app }) => {
  const [owner, reader] = [
    await addMember(app, [SALES, FLEET], ROOT),
    await addMember(app, [SALES, FLEET], ROOT),
  ];
  await make(app, owner, 'sales');
  await make(app, owner, 'fleet', 'd3d64b79');
  for (const hash of ['sales', 'fleet'])
    await app.as(owner).savedFilters.setSharing({ hash, client: true, groups: [] });
  assert.equal(await sharedWith(app, reader), ['sales', 'fleet']);

  const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
  const { id } = await app.as(ACME).sso.create({ id: 1, ...provider });
  for (const email of [owner, reader]) await app.confine(email, id);

  assert.equal(await sharedWith(app, reader), ['sales']);
  const { getDefault } = app.as(reader).savedFilters;
  await rejectsWith(getDefault({ stack_id: 'd3d64b79' }), 'not-found');
  await rejectsWith(app.as(owner).savedFilters.setState({ hash: 'fleet', state: {} }), 'not-found');
});

filters.run();
