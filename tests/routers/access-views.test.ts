import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';

const views = appSuite('accessViews');

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

views('is hidden from other clients and members, by its id and its key', async ({ app }) => {
  const made = await app.as(ACME).accessViews.create({ app: 'sales' });
  const { key } = made;

  const foreign = app.as(GLOBEX).accessViews;
  for (const key of [made.key, String(made.id)])
    for (const call of [
      () => foreign.get({ key }),
      () => foreign.uses({ key }),
      () => foreign.update({ key, is_active: false }),
      () => foreign.deactivate({ key }),
    ])
      await rejectsWith(call(), 'not-found');
  await rejectsWith(foreign.list({ limit: 1, cursor: String(made.id) }), 'invalid-input');
  const isListed = (await foreign.list({})).some(({ id }) => id === made.id);
  assert.is(isListed, false);
  for (const who of [ADA, EDSGER]) {
    const member = app.as(who).accessViews;
    for (const call of [
      () => member.list({}),
      () => member.get({ key }),
      () => member.uses({ key }),
      () => member.create({ app: 'sales' }),
      () => member.update({ key }),
      () => member.deactivate({ key }),
    ])
      await rejectsWith(call(), 'forbidden');
  }
  await rejectsWith(app.as(null).accessViews.get({ key }), 'unauthenticated');
  assert.is((await app.as(ROOT).accessViews.get({ key })).is_active, true);
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

views.run();
