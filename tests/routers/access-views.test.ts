import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../src/db/kysely.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { openedView, setApp, usedView } from '../support/access-views.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { addMember } from '../support/members.ts';
import { failureOf, rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, setRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const views = appSuite('access views');

/** The fields that an invalid input names. */
const faultsOf = async (call: Promise<unknown>) =>
  Object.keys((await rejectsWith(call, 'invalid-input')).fields ?? {});

views('creates a view with defaults, which its managers read', async ({ app }) => {
  const made = await app.as(ACME).accessViews.create({ app: 'sales', user: ADA });

  const { id, key, ...rest } = made;
  assert.type(id, 'number');
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(rest, {
    label: '',
    app: 'sales',
    user: ADA,
    is_active: true,
    allowed_uses_cnt: 1,
    usages_cnt: 0,
    expires_at: null,
    data_permissions: {},
    selections: {},
    stack_slug: null,
    flags: {},
    autorotate: false,
    allowed_networks: '',
    show_header: true,
    show_footer: true,
    language_code: '',
    created: app.clock.now(),
    modified: app.clock.now(),
    url: `${app.config.baseUrl}/v/${key}/`,
  });
  for (const who of [ACME, ROOT]) {
    assert.equal(await app.as(who).accessViews.get({ key }), made);
    assert.equal(await app.as(who).accessViews.uses({ key }), []);
  }
});

views('keeps a label, trimmed, and records how it changes', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key, label } = await admin.create({ app: 'churn', label: '  Board meeting ' });

  assert.is(label, 'Board meeting');
  assert.is((await admin.update({ key, label: 'Board, March' })).label, 'Board, March');
  assert.equal(await faultsOf(admin.update({ key, label: 'x'.repeat(101) })), ['label']);
  const [entry] = await app.as(ACME).audit.list({ target: 'churn', limit: 1 });
  assert.equal(entry?.details.label, { from: 'Board meeting', to: 'Board, March' });
});

views('get a new key on demand, which ends what the former one had opened', async ({ app }) => {
  const { viewId, secret } = await openedView(app, { user: ADA });
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.get({ key: String(viewId) });
  const sessions = () =>
    app
      .db()
      .selectFrom('embed_sessions')
      .where('digest', '=', tokenDigest(secret))
      .select('digest')
      .execute();
  assert.is((await sessions()).length, 1);

  const rotated = await admin.rotateKey({ key });

  assert.is(rotated.id, viewId);
  assert.match(rotated.key, /^[0-9a-f]{32}$/);
  assert.is(rotated.url, `${app.config.baseUrl}/v/${rotated.key}/`);
  await rejectsWith(admin.get({ key }), 'not-found');
  assert.equal(await sessions(), []);
  const [entry] = await app.as(ACME).audit.list({ target: 'sales', limit: 1 });
  assert.equal([entry?.action, entry?.details.access_view], ['access-view.rotate-key', viewId]);
  assert.not.match(JSON.stringify(entry), new RegExp(`${key}|${rotated.key}`));
  await rejectsWith(app.as(GLOBEX).accessViews.rotateKey({ key: rotated.key }), 'not-found');
  await rejectsWith(app.as(STAFF).accessViews.rotateKey({ key: String(viewId) }), 'forbidden');
});

views('lists its uses by page, and when it was last used', async ({ app }) => {
  const { viewId, key } = await usedView(app, { user: ADA });
  const used_at = new Date(app.clock.now().getTime() + MINUTE_MS);
  const [first] = await app
    .db()
    .selectFrom('access_view_uses')
    .selectAll()
    .where('raw_key', '=', key)
    .execute();
  assert.ok(first);
  const { id: _id, data_permissions: _none, selections: _other, ...use } = first;
  await addRows(app, 'access_view_uses', { ...use, selections: {}, used_at });
  const { uses, screen } = app.as(ACME).accessViews;

  const [last] = await uses({ key, limit: 1 });
  assert.equal(last?.timestamp, used_at);
  const rest = await uses({ key, limit: 1, cursor: last?.id });
  assert.equal(fieldOf(rest, 'timestamp'), [app.clock.now()]);
  assert.equal(await uses({ key, limit: 1, cursor: rest[0]?.id }), []);
  const row = (await screen({ app: 'sales' })).find(({ id }) => id === viewId);
  assert.equal([row?.last_used, row?.person_name], [used_at, 'Ada Lovelace']);
});

views('takes the app and the user under either name, and null as the user', async ({ app }) => {
  const admin = app.as(ACME).accessViews;

  const named = await admin.create({ app_slug: 'sales', user_email: GRACE.toUpperCase() });
  assert.equal([named.app, named.user], ['sales', GRACE]);
  assert.is((await admin.create({ app: 'churn', user: null })).user, null);
  assert.is((await admin.create({ app: 'churn', app_slug: 'churn', user: '' })).user, null);
  for (const [field, input] of [
    ['app_slug', { app: 'churn', app_slug: 'sales' }],
    ['user_email', { app: 'churn', user: ADA, user_email: GRACE }],
    ['app', {}],
  ] as const)
    assert.equal(await faultsOf(admin.create(input)), [field]);
});

views('says on the screen whether its person is active in the client', async ({ app }) => {
  const email = await addMember(app, [SALES, FLEET], ROOT);
  const { id } = await app.as(ACME).accessViews.create({ app: 'sales', user: email });
  const anyone = await app.as(ACME).accessViews.create({ app: 'sales' });
  const isActive = async (viewId = id) =>
    (await app.as(ACME).accessViews.screen({ app: 'sales' })).find((view) => view.id === viewId)
      ?.is_person_active;
  const setMember = (is_active: boolean) => app.as(ROOT).memberships.update({ id: 1, email, is_active });

  assert.equal([await isActive(), await isActive(anyone.id)], [true, true]);
  await setMember(false);
  assert.is(await isActive(), false);
  await setMember(true);
  assert.is(await isActive(), true);
  await app.as(ROOT).users.deactivate({ email });
  assert.is(await isActive(), false);

  await rejectsWith(app.as(GLOBEX).accessViews.screen({ app: 'sales' }), 'not-found');
  assert.not.ok('is_person_active' in (await app.as(ACME).accessViews.get({ key: String(id) })));
});

views('requires the administration of the app, not only access to it', async ({ app }) => {
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: true });
  const { key } = await app.as(GLOBEX).accessViews.create({ app: 'fleet' });

  await rejectsWith(app.as(EDSGER).accessViews.create({ app: 'fleet' }), 'forbidden');
  await rejectsWith(app.as(EDSGER).accessViews.get({ key }), 'not-found');
  await rejectsWith(app.as(EDSGER).accessViews.list({ app: 'fleet' }), 'forbidden');
  const unknown = await rejectsWith(app.as(ACME).accessViews.create({ app: 'fleet' }), 'invalid-input');
  assert.equal(unknown.fields?.app, ['No app that you manage has the slug fleet.']);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: EDSGER, is_admin: false });
});

views('requires a user whom the caller may see and who can open the app', async ({ app }) => {
  const create = (user: string, slug = 'sales') => app.as(ACME).accessViews.create({ app: slug, user });
  const messageOf = async (promise: Promise<unknown>) =>
    (await rejectsWith(promise, 'invalid-input')).fields?.user?.[0];

  assert.is(await messageOf(create('unknown@acme.test')), await messageOf(create(GLOBEX)));
  assert.is(await messageOf(create(GLOBEX)), 'There is no user with this address that you manage.');
  assert.is(await messageOf(create(IDLE)), 'This user is deactivated.');
  assert.is(await messageOf(create(GRACE, 'churn')), 'This user cannot open the app.');
});

for (const role of ['is_staff', 'is_superuser'] as const)
  views(`hides views of users with ${role} from client admins`, async ({ app }) => {
    const admin = app.as(ACME).accessViews;
    const { key } = await admin.create({ app: 'sales', user: GRACE });
    await app.as(ROOT).roles.update({ email: GRACE, [role]: true });
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: true });
    assert.equal(await faultsOf(admin.create({ app: 'sales', user: GRACE })), ['user']);
    const bySuperuser = await app.as(ROOT).accessViews.create({ app: 'sales', user: GRACE });

    for (const caller of [admin, app.as(STAFF).accessViews])
      for (const call of ['get', 'uses', 'update', 'deactivate'] as const)
        await rejectsWith(caller[call]({ key }), 'not-found');
    assert.equal(await admin.list({ user: GRACE }), []);
    assert.not.ok(fieldOf(await admin.list({}), 'key').includes(key));
    await rejectsWith(app.as(ACME).tickets.revoke({ access_view: key }), 'not-found');
    assert.is((await app.as(ROOT).accessViews.get({ key })).is_active, true);

    await app.as(ROOT).roles.update({ email: GRACE, [role]: false });
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: false });
    assert.is((await admin.get({ key })).user, GRACE);
    await rejectsWith(admin.get({ key: bySuperuser.key }), 'not-found');
    await admin.deactivate({ key });
  });

views('reports every invalid field', async ({ app }) => {
  const large = { text: 'x'.repeat(65_536) };
  const { create } = app.as(ACME).accessViews;
  const attempt = create({
    app: 'sales',
    allowed_uses_cnt: -1,
    allowed_networks: '10.0.0.0/8, 10.0.0.1/8 nonsense',
    language_code: 'deu',
    data_permissions: large,
    selections: large,
    flags: { bad: 'a\0b' },
    stack_slug: 'x'.repeat(65),
  });

  const { fields = {} } = await rejectsWith(attempt, 'invalid-input');
  assert.is(
    Object.keys(fields).sort().join(' '),
    'allowed_networks allowed_uses_cnt data_permissions flags language_code selections stack_slug',
  );
  assert.is(fields.allowed_networks?.length, 2);
  for (const stack_slug of ['churn', 'nothing'])
    assert.equal(await faultsOf(create({ app: 'sales', stack_slug })), ['stack_slug']);
});

views('keeps 64 KiB of data permissions as sent, and none as an empty object', async ({ app }) => {
  const data_permissions = { __proto__: null, list: ['x'.repeat(65_000)], 'ü\0': [null, 1.5, { a: {} }] };
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', data_permissions });

  assert.equal(JSON.parse(JSON.stringify((await admin.get({ key })).data_permissions)), {
    list: data_permissions.list,
    'ü\0': data_permissions['ü\0'],
  });
  const stored = async () => (await rowOf(app, 'access_views', { key })).data_permissions;
  assert.ok(await stored());
  for (const none of [{}, null]) {
    await admin.update({ key, data_permissions: { a: 1 } });
    assert.equal((await admin.update({ key, data_permissions: none })).data_permissions, {});
    assert.is(await stored(), null);
  }
});

views('are listed newest first, by page, and filtered', async ({ app }) => {
  const admin = app.as(GLOBEX).accessViews;
  const keys: string[] = [];
  for (const flags of [{ n: 1 }, { n: 2, color: 'red' }, { n: 2, color: 'blue' }, { n: '2', 'a.b': true }])
    keys.unshift((await admin.create({ app: 'fleet', user: EDSGER, flags })).key);
  keys.unshift((await admin.create({ app: 'fleet', flags: { n: null } })).key);
  const list = async (input: Parameters<typeof admin.list>[0]) =>
    (await admin.list({ app: 'fleet', ...input }))
      .map(({ key }) => keys.indexOf(key))
      .filter((at) => at >= 0);

  assert.equal(await list({}), [0, 1, 2, 3, 4]);
  assert.equal(await list({ limit: 2 }), [0, 1]);
  assert.equal(await list({ limit: 2, cursor: String(keys[1]) }), [2, 3]);
  assert.equal(await list({ page: 2, page_size: 3 }), [3, 4]);
  assert.equal(await list({ user: EDSGER }), [1, 2, 3, 4]);
  assert.equal(await list({ user: 'unknown@globex.test' }), []);
  assert.equal(await list({ flags: { n: '2' } }), [1, 2, 3]);
  assert.equal(await list({ flags: { n: '2', color: 'red' } }), [3]);
  assert.equal(await list({ flags: { 'a.b': 'true' } }), [1]);
  assert.equal(await list({ flags: { n: 'null' } }), []);
  await rejectsWith(admin.list({ app: 'sales' }), 'not-found');
  await rejectsWith(admin.list({ limit: 1, cursor: 'f'.repeat(32) }), 'invalid-input');
});

views.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

views('a view can be deactivated, but not changed, if it was created by embed', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { url } = await admin.embed({ app: 'sales', email: ADA });
  const key = url.slice(-33, -1);

  for (const changes of [{ allowed_uses_cnt: 0 }, { expires_at: null }, { is_active: true }])
    await rejectsWith(admin.update({ key, ...changes }), 'not-found');
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  for (const columns of [{ allowed_uses: 0 }, { expires_at: null }]) {
    const { message } = await failureOf(setRows(app, 'access_views', { key }, columns));
    assert.match(message, /access_views_one_time_check/);
  }
});

views('a view changes what is given, and keeps the app and the user', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const made = await admin.create({ app: 'sales', user: ADA, stack_slug: 'trends', flags: { color: 'red' } });
  app.clock.advance(MINUTE_MS);
  const { key } = made;

  assert.equal(await admin.update({ key }), made);
  const changes = {
    allowed_uses_cnt: 0,
    expires_at: new Date('2030-01-01T00:00:00Z'),
    allowed_networks: ' 10.1.0.0/16\n2001:DB8::/32,, 192.0.2.1 ',
    language_code: 'de',
  };
  assert.equal(await admin.update({ key, ...changes, app: 'sales', user: ADA }), {
    ...made,
    ...changes,
    allowed_networks: '10.1.0.0/16,2001:db8::/32,192.0.2.1/32',
    modified: app.clock.now(),
  });
  for (const [field, changed] of [
    ['app', { app: 'churn' }],
    ['user', { user: GRACE }],
    ['user', { user: null }],
  ] as const)
    assert.equal(await faultsOf(admin.update({ key, ...changed })), [field]);
});

views('a view does not allow fewer uses than there were', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', allowed_uses_cnt: 5 });
  await setRows(app, 'access_views', { key }, { uses: 3 });

  assert.equal(await faultsOf(admin.update({ key, allowed_uses_cnt: 2 })), ['allowed_uses_cnt']);
  for (const allowed_uses_cnt of [3, 0])
    assert.is((await admin.update({ key, allowed_uses_cnt })).allowed_uses_cnt, allowed_uses_cnt);
});

views('a view accepts a stack that the app has dropped, if the view has it', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'churn', stack_slug: 'churn' });
  const offer = (is_offered: boolean) => setRows(app, 'stacks', { id: 'c2c73a68' }, { is_offered });
  await offer(false);

  assert.is((await admin.update({ key, stack_slug: 'churn', show_header: false })).show_header, false);
  await rejectsWith(admin.create({ app: 'churn', stack_slug: 'churn' }), 'invalid-input');
  assert.is((await admin.update({ key, stack_slug: '' })).stack_slug, null);
  await rejectsWith(admin.update({ key, stack_slug: 'churn' }), 'invalid-input');
  await offer(true);
});

views('a view is deactivated, which is recorded once, and activated again', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'churn', user: ADA, data_permissions: { region: 'north' } });

  await admin.deactivate({ key });
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  assert.is((await admin.update({ key, is_active: true, data_permissions: null })).is_active, true);

  const entries = (await app.as(ACME).audit.list({ target: 'churn', limit: 3 })).reverse();
  assert.equal(
    fieldsOf(entries, 'action', 'actor'),
    ['create', 'deactivate', 'update'].map((verb) => [`access-view.${verb}`, ACME]),
  );
  assert.equal(fieldOf(entries[0]?.people ?? [], 'email'), [ADA]);
  assert.equal(entries[2]?.details.is_active, { from: false, to: true });
  assert.equal(entries[2]?.details.data_permissions, { from: null, to: null });
  assert.not.match(JSON.stringify(entries), new RegExp(`${key}|north`));
});

views('a view of a person who has left stays off, and names no role that they get', async ({ app }) => {
  const user = await addMember(app);
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', user });
  await app.as(ACME).memberships.remove({ id: 1, email: user });

  const { fields } = await rejectsWith(admin.update({ key, is_active: true }), 'invalid-input');
  assert.match(fields?.is_active?.[0] ?? '', /no longer belongs/);
  const read = async () => [
    await admin.get({ key }),
    (await admin.screen({ app: 'sales' })).find((row) => row.user === user)?.is_person_active,
  ];
  const before = await read();
  await app.as(ROOT).roles.update({ email: user, is_staff: true });
  assert.equal(await read(), before);
});

views('a view of a person who has left is refused without a wait for their row', async ({ app }) => {
  const user = await addMember(app);
  const { key } = await app.as(ACME).accessViews.create({ app: 'sales', user });
  await app.as(ACME).memberships.remove({ id: 1, email: user });
  await setRows(app, 'access_views', { key }, { is_active: true });

  await app.orm.em.fork().transactional(async (tx) => {
    await sql`select from users where email = ${user} for update`.execute(kysely(tx));
    const { viewOpening } = app.openServices();
    const outcome = await viewOpening.open({ key, userAgent: 'test', visitor: null, isConfirmed: true });
    assert.is('refusal' in outcome && outcome.refusal, 'not-granted');
  });
});

views('a view is found by its id too, which a use does not change', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const made = await admin.create({ app: 'sales', autorotate: true, allowed_uses_cnt: 0 });
  const key = String(made.id);
  await app.send(`GET !/v/${made.key}/`, { headers: { accept: 'text/html' } });

  await rejectsWith(admin.get({ key: made.key }), 'not-found');
  assert.is((await admin.get({ key })).usages_cnt, 1);
  assert.is((await admin.uses({ key })).length, 1);
  assert.is((await admin.update({ key, show_header: false })).show_header, false);
  await admin.deactivate({ key });
  assert.is((await admin.get({ key })).is_active, false);
  const [next] = await admin.list({ limit: 1, cursor: key });
  assert.ok(next && next.id < made.id);
});

views('screens of a person name what gives each app: the grant, groups, role or nothing', async ({ app }) => {
  const [email, other] = [await addMember(app, []), await addMember(app, [])];
  const expires_at = new Date('2099-01-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email, expires_at, reason: 'Closing' });
  const addGroup = (name: string, members: string[], app_id: string) =>
    app.as(ACME).groups.create({ id: 1, name, members, apps: [app_id] });
  const team = await addGroup('Zebras', [email], CHURN);
  const ants = await addGroup('Ants', [], SALES);

  const { apps, groups } = await app.as(ACME).access.ofPerson({ email });

  const [sales, churn] = [SALES, CHURN].map((id) => apps.find((one) => one.id === id));
  assert.equal(
    [sales?.grant?.granted_by, sales?.grant?.expires_at, sales?.grant?.reason, sales?.groups],
    [ACME, expires_at, 'Closing', []],
  );
  assert.equal([churn?.grant, churn?.groups, churn?.role], [null, [team.id], null]);
  const added = { is_member: true, added_at: app.clock.now(), added_by: ACME };
  const notAdded = { is_member: false, added_at: null, added_by: null };
  assert.equal(groups, [
    { id: ants.id, client: 1, name: 'Ants', apps: [SALES], ...notAdded },
    { id: team.id, client: 1, name: 'Zebras', apps: [CHURN], ...added },
  ]);
  assert.ok((await app.as(ACME).access.ofPerson({ email: ACME })).apps.every(({ role }) => role));
  const lacked = (await app.as(ACME).access.ofPerson({ email: other })).apps;
  assert.equal(fieldOf(lacked, 'id').toSorted(), [SALES, CHURN].toSorted());
  for (const { grant, groups, role } of lacked) assert.equal([grant, groups, role], [null, [], null]);
});

views('screens of a shared person show nothing of other clients', async ({ app }) => {
  const email = await addMember(app, [SALES, FLEET], ROOT);
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Drivers', members: [email], apps: [FLEET] });

  const ofAcme = await app.as(ACME).access.ofPerson({ email });

  assert.ok([...ofAcme.apps, ...ofAcme.groups].every(({ client }) => client === 1));
  const ofStaff = await app.as(STAFF).access.ofPerson({ email });
  assert.equal([...new Set(ofStaff.apps.map(({ client }) => client))], [1, 2]);
  await rejectsWith(app.as(ACME).access.ofPerson({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(ADA).access.ofPerson({ email: ADA }), 'forbidden');
});

views('screens of the matrix show groups, and when grants end', async ({ app }) => {
  const email = await addMember(app, []);
  const expires_at = new Date('2099-01-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email, expires_at });
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Grid', members: [email], apps: [CHURN] });

  const { users, groups } = await app.as(ACME).access.grid({ id: 1, search: email });

  assert.ok(groups.some((group) => group.id === id && group.name === 'Grid'));
  const ends = [{ app: SALES, expires_at }];
  assert.equal(fieldsOf(users, 'email', 'apps', 'apps_by_group', 'groups', 'ends'), [
    [email, [SALES, CHURN], [CHURN], [id], ends],
  ]);
  await rejectsWith(app.as(GLOBEX).access.grid({ id: 1 }), 'not-found');
});

views.run();
