import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { kysely } from '../../src/db/kysely.ts';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { setApp } from '../support/access-views.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';
import { CHURN, FLEET, SALES } from '../support/usage.ts';

const views = appSuite('access views');

views('creates a view with defaults, which its managers read', async ({ app }) => {
  const made = await app.as(ACME).accessViews.create({ app: 'sales', user: ADA });

  const { id, key, ...rest } = made;
  assert.type(id, 'number');
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.equal(rest, {
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
  for (const who of [ACME, ROOT]) assert.equal(await app.as(who).accessViews.get({ key }), made);
  for (const who of [ACME, ROOT]) assert.equal(await app.as(who).accessViews.uses({ key }), []);
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
    assert.equal(Object.keys((await rejectsWith(admin.create(input), 'invalid-input')).fields ?? {}), [
      field,
    ]);
});

views('says on the screen whether its person is active in the client', async ({ app }) => {
  const email = 'linked@acme.test';
  await app.as(ROOT).users.create({ email, apps: ['zylTKNVx', 'Hb7cW2ke'], send_email: false });
  const { id } = await app.as(ACME).accessViews.create({ app: 'sales', user: email });
  const anyone = await app.as(ACME).accessViews.create({ app: 'sales' });
  const isActive = async (viewId = id) =>
    (await app.as(ACME).accessViews.screen({ app: 'sales' })).find((view) => view.id === viewId)
      ?.is_person_active;
  assert.is(await isActive(), true);

  await app.as(ROOT).memberships.update({ id: 1, email, is_active: false });
  assert.is(await isActive(), false);
  await app.as(ROOT).memberships.update({ id: 1, email, is_active: true });
  assert.is(await isActive(), true);
  await app.as(ROOT).users.deactivate({ email });
  assert.is(await isActive(), false);

  assert.is(await isActive(anyone.id), true);
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

views('refuses views of superusers and staff, except by superusers', async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });

  const refused = await rejectsWith(
    app.as(ACME).accessViews.create({ app: 'sales', user: GRACE }),
    'invalid-input',
  );
  assert.match(String(refused.fields?.user), /Only superusers/);
  assert.is((await app.as(ROOT).accessViews.create({ app: 'sales', user: GRACE })).user, GRACE);
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: false });
});

for (const role of ['is_staff', 'is_superuser'] as const)
  views(`hides views of users with ${role} from client admins`, async ({ app }) => {
    const admin = app.as(ACME).accessViews;
    const { key } = await admin.create({ app: 'sales', user: GRACE });
    await app.as(ROOT).roles.update({ email: GRACE, [role]: true });
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: true });
    const bySuperuser = await app.as(ROOT).accessViews.create({ app: 'sales', user: GRACE });

    for (const views of [admin, app.as(STAFF).accessViews]) {
      for (const call of [
        () => views.get({ key }),
        () => views.uses({ key }),
        () => views.update({ key, allowed_uses_cnt: 0 }),
        () => views.deactivate({ key }),
      ])
        await rejectsWith(call(), 'not-found');
    }
    assert.equal(await admin.list({ user: GRACE }), []);
    const response = await app.send('GET /access_views/', { as: ACME });
    assert.not.match(response.body, new RegExp(key));
    await rejectsWith(app.as(ACME).tickets.revoke({ access_view: key }), 'not-found');
    assert.is((await app.as(ROOT).accessViews.get({ key })).is_active, true);

    await app.as(ROOT).roles.update({ email: GRACE, [role]: false });
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: STAFF, is_admin: false });
    assert.is((await admin.get({ key })).user, GRACE);
    await rejectsWith(admin.get({ key: bySuperuser.key }), 'not-found');
    await admin.deactivate({ key });
  });

views('can be created while the app is in maintenance and its client closed', async ({ app }) => {
  await app.as(ACME).apps.update({ app_id: 'zylTKNVx', in_maintenance: true });
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: false });

  assert.is((await app.as(ACME).accessViews.create({ app: 'sales', user: ADA })).user, ADA);

  await app.as(ACME).apps.update({ app_id: 'zylTKNVx', in_maintenance: false });
  await app.as(ROOT).clients.updateGate({ id: 1, is_open: true });
});

views('reports every invalid field', async ({ app }) => {
  const large = { text: 'x'.repeat(65_536) };
  const attempt = app.as(ACME).accessViews.create({
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
  assert.equal(Object.keys(fields).sort(), [
    ...['allowed_networks', 'allowed_uses_cnt', 'data_permissions', 'flags', 'language_code', 'selections'],
    'stack_slug',
  ]);
  assert.is(fields.allowed_networks?.length, 2);
  for (const stack_slug of ['churn', 'nothing'])
    assert.ok(
      (await rejectsWith(app.as(ACME).accessViews.create({ app: 'sales', stack_slug }), 'invalid-input'))
        .fields?.stack_slug,
    );
});

views('keeps 64 KiB of data permissions as sent, and none as an empty object', async ({ app }) => {
  const data_permissions = { __proto__: null, list: ['x'.repeat(65_000)], 'ü\0': [null, 1.5, { a: {} }] };
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', data_permissions });

  assert.equal(JSON.parse(JSON.stringify((await admin.get({ key })).data_permissions)), {
    list: data_permissions.list,
    'ü\0': data_permissions['ü\0'],
  });
  const stored = async () =>
    (
      await app
        .db()
        .selectFrom('access_views')
        .select('data_permissions')
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
    ).data_permissions;
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
    const changed = app.db().updateTable('access_views').set(columns).where('key', '=', key).execute();
    const error = await changed.then(
      () => null,
      (reason: Error) => reason,
    );
    assert.match(String(error?.message), /access_views_one_time_check/);
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
    assert.equal(
      Object.keys((await rejectsWith(admin.update({ key, ...changed }), 'invalid-input')).fields ?? {}),
      [field],
    );
});

views('a view does not allow fewer uses than there were', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'sales', allowed_uses_cnt: 5 });
  await app.db().updateTable('access_views').set({ uses: 3 }).where('key', '=', key).execute();

  assert.ok(
    (await rejectsWith(admin.update({ key, allowed_uses_cnt: 2 }), 'invalid-input')).fields?.allowed_uses_cnt,
  );
  assert.is((await admin.update({ key, allowed_uses_cnt: 3 })).allowed_uses_cnt, 3);
  assert.is((await admin.update({ key, allowed_uses_cnt: 0 })).allowed_uses_cnt, 0);
});

views('a view accepts a stack that the app has dropped, if the view has it', async ({ app }) => {
  const admin = app.as(ACME).accessViews;
  const { key } = await admin.create({ app: 'churn', stack_slug: 'churn' });
  const offer = (is_offered: boolean) =>
    app.db().updateTable('stacks').set({ is_offered }).where('id', '=', 'c2c73a68').execute();
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
  assert.equal(fieldOf(entries[0]?.people, 'email'), [ADA]);
  assert.equal(entries[2]?.details.is_active, { from: false, to: true });
  assert.equal(entries[2]?.details.data_permissions, { from: null, to: null });
  assert.not.match(JSON.stringify(entries), new RegExp(`${key}|north`));
});

views(
  'a view of a person who has left stays off, and says nothing of the roles that they get',
  async ({ app }) => {
    const user = 'left-view@acme.test';
    const admin = app.as(ACME).accessViews;
    await app.as(ACME).users.create({ email: user, apps: [SALES] });
    const { key } = await admin.create({ app: 'sales', user });
    await app.as(ACME).memberships.remove({ id: 1, email: user });

    const { fields } = await rejectsWith(admin.update({ key, is_active: true }), 'invalid-input');
    assert.match(fields?.is_active?.[0] ?? '', /does not belong/);
    const read = async () => [
      await admin.get({ key }),
      (await admin.screen({ app: 'sales' })).find((row) => row.user === user)?.is_person_active,
    ];
    const before = await read();
    await app.as(ROOT).roles.update({ email: user, is_staff: true });

    assert.equal(await read(), before);
  },
);

views(
  'a view of a person who has left is refused without a wait for other changes of the person',
  async ({ app }) => {
    const user = 'locked-view@acme.test';
    const admin = app.as(ACME).accessViews;
    await app.as(ACME).users.create({ email: user, apps: [SALES] });
    const { key } = await admin.create({ app: 'sales', user });
    await app.as(ACME).memberships.remove({ id: 1, email: user });
    await app.db().updateTable('access_views').set({ is_active: true }).where('key', '=', key).execute();

    await app.orm.em.fork().transactional(async (tx) => {
      await sql`select from users where email = ${user} for update`.execute(kysely(tx));
      const outcome = await app
        .openServices()
        .viewOpening.open({ key, userAgent: 'test', visitor: null, isConfirmed: true });
      assert.is('refusal' in outcome && outcome.refusal, 'not-granted');
    });
  },
);

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

views(
  'screens of a person name the grant, the groups and the role that give each app of the clients',
  async ({ app }) => {
    const email = 'ways@acme.test';
    await app.as(ACME).users.create({ email, client: 1 });
    const expires_at = new Date('2099-01-31T12:00:00Z');
    await app.as(ACME).grants.create({ app_id: SALES, email, expires_at, reason: 'Closing' });
    const team = await app.as(ACME).groups.create({ id: 1, name: 'Zebras', members: [email], apps: [CHURN] });
    const other = await app.as(ACME).groups.create({ id: 1, name: 'Ants', apps: [SALES] });

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
      { id: other.id, client: 1, name: 'Ants', apps: [SALES], ...notAdded },
      { id: team.id, client: 1, name: 'Zebras', apps: [CHURN], ...added },
    ]);
    assert.ok((await app.as(ACME).access.ofPerson({ email: ACME })).apps.every(({ role }) => role));
  },
);

views('screens of a person list the apps that the person lacks', async ({ app }) => {
  const email = 'no-way@acme.test';
  await app.as(ACME).users.create({ email, client: 1 });

  const { apps } = await app.as(ACME).access.ofPerson({ email });

  assert.equal(apps.map(({ id }) => id).toSorted(), [SALES, CHURN].toSorted());
  assert.ok(apps.every(({ grant, groups, role }) => grant === null && groups.length === 0 && role === null));
});

views('screens of a shared person show nothing of other clients', async ({ app }) => {
  const email = 'ways-shared@acme.test';
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET] });
  await app.as(GLOBEX).groups.create({ id: 2, name: 'Drivers', members: [email], apps: [FLEET] });

  const ofAcme = await app.as(ACME).access.ofPerson({ email });

  assert.ok([...ofAcme.apps, ...ofAcme.groups].every(({ client }) => client === 1));
  const ofStaff = await app.as(STAFF).access.ofPerson({ email });
  assert.equal([...new Set(ofStaff.apps.map(({ client }) => client))], [1, 2]);
  await rejectsWith(app.as(ACME).access.ofPerson({ email: GLOBEX }), 'not-found');
  await rejectsWith(app.as(ADA).access.ofPerson({ email: ADA }), 'forbidden');
});

views('screens of the matrix show groups, and when grants end', async ({ app }) => {
  const email = 'in-grid@acme.test';
  await app.as(ACME).users.create({ email, client: 1 });
  const expires_at = new Date('2099-01-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email, expires_at });
  const { id } = await app.as(ACME).groups.create({ id: 1, name: 'Grid', members: [email], apps: [CHURN] });

  const { users, groups } = await app.as(ACME).access.grid({ id: 1, search: email });

  assert.ok(groups.some((group) => group.id === id && group.name === 'Grid'));
  assert.equal(
    users.map((user) => [user.email, user.apps, user.apps_by_group, user.groups, user.ends]),
    [[email, [SALES, CHURN], [CHURN], [id], [{ app: SALES, expires_at }]]],
  );
  await rejectsWith(app.as(GLOBEX).access.grid({ id: 1 }), 'not-found');
});

views.run();
